"""The main story: a table becomes a served, quantized model; what has not changed is not done again."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from pipeline.nodes import NODES

pytestmark = pytest.mark.tf
ROOT = Path(__file__).resolve().parents[2]


def test_every_node_runs_and_the_model_is_pushed(finished):
    record = finished.last()
    assert record["status"] == "succeeded"
    assert set(finished.statuses().values()) == {"ran"}
    assert (finished.runs / "serving" / "1" / "saved_model.pb").is_file()
    assert record["nodes"]["Pusher"]["summary"]["version"] == 1


def test_the_metrics_are_those_of_scikit_learn_on_the_pushed_models_answers(finished):
    from sklearn.metrics import accuracy_score, roc_auc_score

    from components import examples

    record = finished.last()
    uri = record["nodes"]["ExampleGen"]["outputs"]["examples"]["uri"]
    columns = examples.read_dense(uri, "eval")
    rows = [
        {
            name: value.decode() if isinstance(value, bytes) else value.item()
            for name, value in zip(columns, row, strict=True)
        }
        for row in zip(*columns.values(), strict=True)
    ]
    from pipeline.serving.predict import predict_rows

    labels = [row.pop("malignant") for row in rows]
    answers = np.array(predict_rows(str(finished.runs / "serving" / "1"), rows))[:, 0]
    metrics = record["nodes"]["Evaluator"]["summary"]["metrics"]
    assert metrics["overall"]["auc"] == pytest.approx(roc_auc_score(labels, answers), abs=1e-6)
    assert metrics["overall"]["accuracy"] == pytest.approx(accuracy_score(labels, answers > 0.5), abs=1e-6)
    for size in ("small", "medium", "large"):
        chosen = [i for i, row in enumerate(rows) if row["size"] == size]
        assert metrics[f"size={size}"]["example_count"] == len(chosen)
        assert metrics[f"size={size}"]["accuracy"] == pytest.approx(
            accuracy_score(np.array(labels)[chosen], answers[chosen] > 0.5), abs=1e-6
        )


def test_int8_keeps_its_promise_on_the_same_examples(finished):
    record = finished.last()
    models = {model["scheme"]: model for model in record["nodes"]["EdgeEvaluator"]["summary"]["models"]}
    rows = record["nodes"]["ExampleGen"]["summary"]["rows"]["eval"]
    assert {"float32", "dynamic_range", "float16", "int8"} == set(models)
    assert models["int8"]["metrics"]["overall"]["example_count"] == rows
    assert models["int8"]["passed"]


def test_a_second_run_is_taken_from_records_without_importing_tensorflow(finished):
    code = (
        "import sys; from pipeline.cli import main\n"
        "main(sys.argv[1:], standalone_mode=False)\n"
        "print([m for m in ('tensorflow', 'tfx', 'apache_beam', 'numpy') if m in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "run", finished.task, "--json"],
        cwd=finished.dir,
        env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr.strip().splitlines()[-1] == "[]"
    assert set(finished.statuses().values()) == {"cached"}


def test_a_change_of_the_threshold_judges_again_and_trains_nothing(copy_of_finished):
    assert copy_of_finished.run("--set", "evaluate.thresholds.auc={min: 0.8}") == 0
    ran = {name for name, status in copy_of_finished.statuses().items() if status == "ran"}
    assert ran == {"Evaluator", "EdgeEvaluator", "Pusher"} or ran == {"Evaluator", "EdgeEvaluator"}
    assert sorted(path.name for path in (copy_of_finished.runs / "serving").iterdir() if path.name.isdigit()) == ["1"]


def test_a_retrained_model_is_compared_with_the_blessed_one_and_pushed_as_the_next_version(copy_of_finished):
    assert copy_of_finished.run("--set", "train.epochs=41") == 0
    record = copy_of_finished.last()
    cached = {name for name, status in copy_of_finished.statuses().items() if status == "cached"}
    assert cached == {"ImportSchemaGen", "ExampleGen", "StatisticsGen", "ExampleValidator", "Transform"}
    evaluation = record["nodes"]["Evaluator"]["summary"]
    assert evaluation["baseline"]
    assert [check["passed"] for check in evaluation["checks"] if check["kind"] == "change"] == [True]
    assert record["nodes"]["Pusher"]["summary"]["version"] == 2
    assert copy_of_finished.run("--set", "train.epochs=41") == 0
    assert set(copy_of_finished.statuses().values()) == {"cached"}


def test_a_model_below_its_threshold_is_not_pushed_and_the_run_says_why(copy_of_finished, capsys):
    assert copy_of_finished.run("--set", "evaluate.thresholds.auc={min: 0.9999}") == 3
    record = copy_of_finished.last()
    assert record["error"]["code"] == "HR-EVAL-001"
    assert "0.9999" in json.dumps(record["error"])
    assert record["nodes"]["Pusher"]["status"] == "pending"
    assert "HR-EVAL-001" in capsys.readouterr().out
    assert copy_of_finished.run("--set", "evaluate.thresholds.auc={min: 0.9999}") == 3, (
        "a failed gate stays failed when cached"
    )


def test_a_value_that_the_schema_does_not_know_stops_the_run_before_training(copy_of_finished):
    table = copy_of_finished.dir / "tumours.csv"
    table.write_text(table.read_text().replace(",large,", ",huge,", 40))
    assert copy_of_finished.run() == 3
    record = copy_of_finished.last()
    assert record["error"]["code"] == "HR-DATA-201"
    assert "'huge'" in record["error"]["seen"][0]
    assert any("headrace schema approve tumours --add size=huge" in line for line in record["error"]["fix"])
    assert record["nodes"]["Transform"]["status"] == "pending"
    assert copy_of_finished.headrace("schema", "approve", copy_of_finished.task, "--add", "size=huge") == 0
    assert copy_of_finished.run("--to", "Transform") == 0


def test_from_runs_a_node_and_what_depends_on_it_again(copy_of_finished):
    assert copy_of_finished.run("--from", "quantizer") == 0
    statuses = copy_of_finished.statuses()
    assert {name for name, status in statuses.items() if status == "ran"} == {"Quantizer", "EdgeEvaluator", "Pusher"}


def test_to_stops_after_a_node(workspace):
    assert workspace.run("--to", "ExampleValidator") == 0
    statuses = workspace.statuses()
    assert {name for name, status in statuses.items() if status == "ran"} == {
        "ImportSchemaGen",
        "ExampleGen",
        "StatisticsGen",
        "ExampleValidator",
    }
    assert {statuses[node.id] for node in NODES[4:]} == {"skipped"}


@pytest.mark.parametrize(
    ("file", "old", "new", "line"),
    [
        ("features.py", 'inputs["size"]', 'inputs["sise"]', "sise"),
        ("model.py", 'context.features["numeric"][0]', 'context.features["numbers"][0]', "numbers"),
    ],
)
def test_an_error_in_the_tasks_code_shows_its_own_line(copy_of_finished, file, old, new, line):
    path = Path(copy_of_finished.task) / file
    path.write_text(path.read_text().replace(old, new))
    assert copy_of_finished.run() == 2
    error = copy_of_finished.last()["error"]
    assert error["code"] == "HR-TASK-002"
    assert error["seen"][0].startswith(f"{path}:")
    assert line in error["seen"][0]
    assert len(error["seen"]) <= 3
