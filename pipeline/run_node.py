"""Execute one node of the compiled pipeline through TFX's portable launcher. Both runners call this."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING

from components.reporting import Listener, Outcome, listening
from pipeline.config.model import TaskConfig
from pipeline.config.paths import metadata_path
from pipeline.environment import import_launcher, skip_library_autograph
from pipeline.errors import HeadraceError
from pipeline.graph import build

if TYPE_CHECKING:
    from ml_metadata.proto import metadata_store_pb2
    from tfx.orchestration.metadata import Metadata
    from tfx.proto.orchestration import pipeline_pb2

    from pipeline.recording import Stage

Outputs = dict[str, dict]


def compile_ir(config: TaskConfig, task_dir: str) -> pipeline_pb2.Pipeline:
    """Return TFX's intermediate representation of the pipeline; the run's id is left open."""
    import_launcher()
    from tfx.dsl.compiler import compiler

    return compiler.Compiler().compile(build(config, task_dir))


def bind_run(ir: pipeline_pb2.Pipeline, run_id: str) -> pipeline_pb2.Pipeline:
    """Put the run's id into the representation and return it."""
    from tfx.dsl.compiler import constants
    from tfx.orchestration.portable import runtime_parameter_utils

    runtime_parameter_utils.substitute_runtime_parameter(ir, {constants.PIPELINE_RUN_ID_PARAMETER_NAME: run_id})
    return ir


def local_metadata(config: TaskConfig) -> Metadata:
    """Return the ML Metadata store of a task on this machine: a SQLite file beside the runs."""
    from tfx.orchestration import metadata

    return metadata.Metadata(metadata.sqlite_metadata_connection_config(metadata_path(config)))


def run_node(
    ir: pipeline_pb2.Pipeline, node_id: str, listener: Listener, metadata: Metadata, stage: Stage | None = None
) -> tuple[Outputs, Outcome]:
    """Run one node; its inputs are resolved from ML Metadata.

    Args:
        metadata: the store, not yet opened.
        stage: where the node reads and writes; in place by default.

    Returns:
        Its outputs, `{name: {"type", "uri", "mlmd_id", "digest"}}`, and what it reported.

    Raises:
        HeadraceError: what the node raised.
        RuntimeError: when its inputs cannot be resolved.
    """
    from tfx.orchestration.local import runner_utils
    from tfx.orchestration.portable import launcher
    from tfx.orchestration.portable.mlmd import execution_lib
    from tfx.proto.orchestration import executable_spec_pb2

    from pipeline.recording import InPlace, recording_operator

    skip_library_autograph()
    node = find(ir, node_id)
    deployment = runner_utils.extract_local_deployment_config(ir)
    is_resolver = node.node_info.type.name.endswith("Resolver")
    operator = recording_operator(listener, stage or InPlace())
    launched = launcher.Launcher(
        pipeline_node=node,
        mlmd_connection=metadata,
        pipeline_info=ir.pipeline_info,
        pipeline_runtime_spec=ir.runtime_spec,
        executor_spec=None if is_resolver else runner_utils.extract_executor_spec(deployment, node_id),
        custom_driver_spec=runner_utils.extract_custom_driver_spec(deployment, node_id),
        custom_executor_operators={executable_spec_pb2.PythonClassExecutableSpec: operator},
    )
    try:
        with listening(listener):
            info = launched.launch()
    except Exception:
        if listener.error:  # the launcher has recorded it and raised its own
            raise listener.error from None
        raise
    if info is None or (not is_resolver and not info.output_dict):
        raise RuntimeError(f"the inputs of {node_id} are not in ML Metadata")
    published = info.output_dict
    if not is_resolver:  # what a node has made gets its ids when it is published, in a copy
        with metadata as handle:
            published = execution_lib.get_output_artifacts(handle, info.execution_id)
    return describe(published), listener.outcome


def finished_before(
    ir: pipeline_pb2.Pipeline, node_id: str, metadata: Metadata
) -> tuple[Outputs, Outcome] | HeadraceError | None:
    """Return what an earlier attempt at a node in the same run left: its result, or the error that it recorded."""
    from tfx.orchestration.portable.mlmd import context_lib, execution_lib

    with metadata as handle:
        contexts = context_lib.prepare_contexts(handle, find(ir, node_id).contexts)
        found = execution_lib.get_executions_associated_with_all_contexts(handle, contexts)
        for execution in execution_lib.sort_executions_newest_to_oldest(found):
            if execution_lib.is_execution_successful(execution):
                return describe(execution_lib.get_output_artifacts(handle, execution.id)), _outcome(execution)
            result = execution_lib.get_execution_result(execution, ignore_parse_errors=True)
            if execution_lib.is_execution_failed(execution) and result and result.result_message.startswith("{"):
                return HeadraceError.from_dict(json.loads(result.result_message))
    return None


def publish_cached(
    ir: pipeline_pb2.Pipeline, node_id: str, outputs: Mapping[str, Mapping], outcome: Outcome, metadata: Metadata
) -> bool:
    """Record in ML Metadata that this run took a node's outputs from an earlier one.

    Returns:
        False when the store no longer has those artifacts.
    """
    from tfx.orchestration.portable import execution_publish_utils
    from tfx.orchestration.portable.mlmd import context_lib, execution_lib
    from tfx.types import artifact_utils

    from pipeline.recording import write_outcome

    node = find(ir, node_id)
    with metadata as handle:
        ids = [output["mlmd_id"] for output in outputs.values()]
        found = {artifact.id: artifact for artifact in handle.store.get_artifacts_by_id(ids)} if ids else {}
        if any(i not in found or found[i].uri != o["uri"] for i, o in zip(ids, outputs.values(), strict=True)):
            return False
        type_ids = sorted({artifact.type_id for artifact in found.values()})
        types = {t.id: t for t in handle.store.get_artifact_types_by_id(type_ids)} if ids else {}

        def artifact_of(output: Mapping):
            proto = found[output["mlmd_id"]]
            return artifact_utils.deserialize_artifact(types[proto.type_id], proto)

        artifacts = {name: [artifact_of(output)] for name, output in outputs.items()}
        contexts = context_lib.prepare_contexts(metadata_handle=handle, node_contexts=node.contexts)
        execution = execution_lib.prepare_execution(handle, node.node_info.type, state=_running_state())
        write_outcome(execution.custom_properties, outcome)
        execution_publish_utils.publish_cached_executions(handle, contexts, [execution], [artifacts])
    return True


def describe(artifacts: Mapping[str, list]) -> Outputs:
    """Return artifacts by name as plain values."""
    from pipeline.recording import DIGEST

    return {
        name: {
            "type": found[0].type_name,
            "uri": found[0].uri,
            "mlmd_id": found[0].id,
            "digest": found[0].get_string_custom_property(DIGEST),
        }
        for name, found in artifacts.items()
        if found
    }


def find(ir: pipeline_pb2.Pipeline, node_id: str) -> pipeline_pb2.PipelineNode:
    """Return a node of the representation."""
    return next(n.pipeline_node for n in ir.nodes if n.pipeline_node.node_info.id == node_id)


def _outcome(execution: metadata_store_pb2.Execution) -> Outcome:
    from pipeline.recording import read_outcome

    return read_outcome(execution.custom_properties)


def _running_state() -> int:
    from ml_metadata.proto import metadata_store_pb2

    return metadata_store_pb2.Execution.RUNNING
