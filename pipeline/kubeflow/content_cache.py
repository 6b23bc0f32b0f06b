"""Outputs of earlier runs, found in ML Metadata by content key, as the local runner finds them in its records.

A context of its own type is named after the node and the key; the executions in it made what the key stands for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from components.reporting import Outcome
from pipeline import keys
from pipeline.kubeflow.files import exists
from pipeline.nodes import Node

if TYPE_CHECKING:
    from tfx.orchestration.metadata import Metadata
    from tfx.proto.orchestration import pipeline_pb2

CONTEXT_TYPE = "headrace.content_key"


def remember_by(ir_node: pipeline_pb2.PipelineNode, node: Node, key: str) -> None:
    """Add the context of a key to a node's contexts, so that its execution is published in it."""
    context = ir_node.contexts.contexts.add()
    context.type.name = CONTEXT_TYPE
    context.name.field_value.string_value = _name(node, key)


def cached(node: Node, key: str, metadata: Metadata) -> tuple[dict, Outcome] | None:
    """Return outputs and outcome of the newest finished execution with a key, if its artifacts are still there."""
    from tfx.orchestration.portable.mlmd import execution_lib

    from pipeline.recording import read_outcome
    from pipeline.run_node import describe

    with metadata as handle:
        context = handle.store.get_context_by_type_and_name(CONTEXT_TYPE, _name(node, key))
        if context is None:
            return None
        found = handle.store.get_executions_by_context(context.id)
        done = [execution for execution in found if execution_lib.is_execution_successful(execution)]
        for execution in execution_lib.sort_executions_newest_to_oldest(done):
            outputs = describe(execution_lib.get_output_artifacts(handle, execution.id))
            outcome = read_outcome(execution.custom_properties)
            outside = outcome.summary.get(node.must_exist) if node.must_exist else None
            places = [output["uri"] for output in outputs.values()] + ([outside] if outside else [])
            if outputs and all(exists(place) for place in places):
                return outputs, outcome
    return None


def input_digests(ir: pipeline_pb2.Pipeline, node: Node, metadata: Metadata) -> dict[str, str] | None:
    """Return the digests of a node's inputs by name; None when ML Metadata does not have them."""
    from tfx.orchestration.portable import inputs_utils

    from pipeline.recording import DIGEST
    from pipeline.run_node import find

    with metadata as handle:
        resolved = inputs_utils.resolve_input_artifacts(pipeline_node=find(ir, node.id), metadata_handle=handle)
    if not resolved:
        return None
    artifacts = resolved[0]
    return {
        name: artifacts[name][0].get_string_custom_property(DIGEST) if artifacts.get(name) else keys.ABSENT
        for name in node.inputs
    }


def _name(node: Node, key: str) -> str:
    return f"{node.id}.{key}"
