"""The comparison with stock TFX adds up its times node by node and gives the ratio of each pair."""

import importlib.util
from pathlib import Path

import pytest

BENCH = Path(__file__).resolve().parents[2] / "bench" / "stock_tfx.py"


@pytest.fixture(scope="module")
def bench():
    spec = importlib.util.spec_from_file_location("stock_tfx", BENCH)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_table_pairs_each_stock_node_with_those_that_do_its_work(bench, capsys):
    stock = {"imports": 30.0, "CsvExampleGen": 40.0, "Evaluator": 20.0, "whole": 100.0}
    ours = {"loading": 10.0, "ExampleGen": 4.0, "LatestBlessedModel": 1.0, "Evaluator": 4.0, "whole": 25.0}
    bench.report({"stock": [stock, {**stock, "whole": 60.0}], "headrace": [ours, {**ours, "whole": 20.0}]})
    printed = capsys.readouterr().out
    assert "CsvExampleGen           40.0         4.0   10.0x" in printed
    assert "Evaluator               20.0         5.0    4.0x" in printed
    assert "ratio over 2 pairs: 3.00 to 4.00" in printed


def test_headraces_nodes_are_all_counted(bench):
    from pipeline.nodes import NODES

    counted = {name for names in bench.NODES.values() for name in names}
    off = {"Quantizer", "EdgeEvaluator", "InfraValidator", "Pusher"}
    assert counted - {"loading"} == {node.id for node in NODES} - off
