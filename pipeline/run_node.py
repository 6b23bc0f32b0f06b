"""Execute one node of the compiled pipeline through TFX's portable launcher. Both runners call this."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from components.reporting import Listener, Outcome, listening
from pipeline.config.model import TaskConfig
from pipeline.environment import import_launcher, skip_library_autograph
from pipeline.graph import build

if TYPE_CHECKING:
    from tfx.proto.orchestration import pipeline_pb2

Outputs = dict[str, dict]


def compile_run(config: TaskConfig, task_dir: str, input_digest: str, run_id: str) -> pipeline_pb2.Pipeline:
    """Return TFX's intermediate representation of the pipeline for one run."""
    import_launcher()
    from tfx.dsl.compiler import compiler, constants
    from tfx.orchestration.portable import runtime_parameter_utils

    ir = compiler.Compiler().compile(build(config, task_dir, input_digest))
    runtime_parameter_utils.substitute_runtime_parameter(ir, {constants.PIPELINE_RUN_ID_PARAMETER_NAME: run_id})
    return ir


def run_node(ir: pipeline_pb2.Pipeline, node_id: str, listener: Listener) -> tuple[Outputs, Outcome]:
    """Run one node; its inputs are resolved from ML Metadata.

    Returns:
        Its outputs, `{name: {"type", "uri", "mlmd_id"}}`, and what it reported.

    Raises:
        HeadraceError: what the node raised.
        RuntimeError: when its inputs cannot be resolved.
    """
    from tfx.orchestration.local import runner_utils
    from tfx.orchestration.portable import launcher
    from tfx.orchestration.portable.mlmd import execution_lib

    skip_library_autograph()
    node = _find(ir, node_id)
    deployment = runner_utils.extract_local_deployment_config(ir)
    is_resolver = node.node_info.type.name.endswith("Resolver")
    launched = launcher.Launcher(
        pipeline_node=node,
        mlmd_connection=_connection(ir),
        pipeline_info=ir.pipeline_info,
        pipeline_runtime_spec=ir.runtime_spec,
        executor_spec=None if is_resolver else runner_utils.extract_executor_spec(deployment, node_id),
        custom_driver_spec=runner_utils.extract_custom_driver_spec(deployment, node_id),
    )
    with listening(listener):
        info = launched.launch()
    if info is None or (not is_resolver and not info.output_dict):
        raise RuntimeError(f"the inputs of {node_id} are not in ML Metadata")
    published = info.output_dict
    if not is_resolver:  # what a node has made gets its ids when it is published, in a copy
        with _connection(ir) as handle:
            published = execution_lib.get_output_artifacts(handle, info.execution_id)
    outputs = {
        name: {"type": found[0].type_name, "uri": found[0].uri, "mlmd_id": found[0].id}
        for name, found in published.items()
        if found
    }
    return outputs, listener.outcome


def publish_cached(ir: pipeline_pb2.Pipeline, node_id: str, outputs: Mapping[str, Mapping]) -> bool:
    """Record in ML Metadata that this run took a node's outputs from an earlier one.

    Returns:
        False when the store no longer has those artifacts.
    """
    from tfx.orchestration.portable import execution_publish_utils
    from tfx.orchestration.portable.mlmd import context_lib, execution_lib
    from tfx.types import artifact_utils

    node = _find(ir, node_id)
    with _connection(ir) as handle:
        ids = [output["mlmd_id"] for output in outputs.values()]
        found = {artifact.id: artifact for artifact in handle.store.get_artifacts_by_id(ids)} if ids else {}
        if any(i not in found or found[i].uri != o["uri"] for i, o in zip(ids, outputs.values(), strict=True)):
            return False
        types = (
            {t.id: t for t in handle.store.get_artifact_types_by_id(list({a.type_id for a in found.values()}))}
            if ids
            else {}
        )
        artifacts = {
            name: [
                artifact_utils.deserialize_artifact(types[found[output["mlmd_id"]].type_id], found[output["mlmd_id"]])
            ]
            for name, output in outputs.items()
        }
        contexts = context_lib.prepare_contexts(metadata_handle=handle, node_contexts=node.contexts)
        execution = execution_lib.prepare_execution(handle, node.node_info.type, state=_running_state())
        execution_publish_utils.publish_cached_executions(handle, contexts, [execution], [artifacts])
    return True


def _running_state() -> int:
    from ml_metadata.proto import metadata_store_pb2

    return metadata_store_pb2.Execution.RUNNING


def _connection(ir: pipeline_pb2.Pipeline):
    from tfx.orchestration import metadata
    from tfx.orchestration.local import runner_utils

    config = runner_utils.extract_local_deployment_config(ir).metadata_connection_config
    return metadata.Metadata(getattr(config, config.WhichOneof("connection_config")))


def _find(ir: pipeline_pb2.Pipeline, node_id: str) -> pipeline_pb2.PipelineNode:
    return next(n.pipeline_node for n in ir.nodes if n.pipeline_node.node_info.id == node_id)
