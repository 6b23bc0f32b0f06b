"""The TFX pipeline and the plain table of nodes describe the same graph."""

import pytest

from pipeline.config.load import load_task
from pipeline.nodes import NODES

pytestmark = pytest.mark.tf


@pytest.fixture(scope="module")
def ir():
    from pipeline.run_node import bind_run, compile_ir

    loaded = load_task("flights")
    return bind_run(compile_ir(loaded.config, loaded.task_dir), "a-run")


def test_the_compiled_nodes_are_those_of_the_table_in_order(ir):
    assert {n.pipeline_node.node_info.id for n in ir.nodes} == {node.id for node in NODES}
    order = [n.pipeline_node.node_info.id for n in ir.nodes]
    position = {name: i for i, name in enumerate(node.id for node in NODES)}
    for n in ir.nodes:
        for upstream in n.pipeline_node.upstream_nodes:
            assert position[upstream] < position[n.pipeline_node.node_info.id]
    assert len(order) == len(NODES)


def test_every_edge_of_the_table_is_an_edge_of_the_pipeline(ir):
    for n in ir.nodes:
        node = next(node for node in NODES if node.id == n.pipeline_node.node_info.id)
        assert set(n.pipeline_node.upstream_nodes) == set(node.upstream), node.id


def test_every_input_comes_from_the_output_that_the_table_names(ir):
    for n in ir.nodes:
        node = next(node for node in NODES if node.id == n.pipeline_node.node_info.id)
        if node.id == "LatestBlessedModel":
            continue  # a resolver's inputs are queries
        for name, (upstream, output) in node.inputs.items():
            channel = n.pipeline_node.inputs.inputs[name].channels[0]
            assert (channel.producer_node_query.id, channel.output_key) == (upstream, output)


def test_every_output_has_the_type_that_the_table_names(ir):
    for n in ir.nodes:
        node = next(node for node in NODES if node.id == n.pipeline_node.node_info.id)
        for name, kind in node.outputs.items():
            if node.id != "LatestBlessedModel":
                assert n.pipeline_node.outputs.outputs[name].artifact_spec.type.name == kind


def test_compiling_twice_gives_the_same_bytes(ir):
    from pipeline.run_node import bind_run, compile_ir

    loaded = load_task("flights")
    again = bind_run(compile_ir(loaded.config, loaded.task_dir), "a-run")
    assert again.SerializeToString(deterministic=True) == ir.SerializeToString(deterministic=True)
