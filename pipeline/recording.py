"""What every node leaves in ML Metadata, wherever it runs: digests of its artifacts, its outcome, or its error."""

from __future__ import annotations

import json
import os
import shutil
from typing import Protocol

from tfx.orchestration.portable import python_executor_operator
from tfx.orchestration.portable.data_types import ExecutionInfo
from tfx.proto.orchestration import execution_result_pb2

from components.digest import tree_digest
from components.reporting import Listener
from pipeline.errors import HeadraceError

DIGEST = "digest"  # custom property of an artifact
OUTCOME = "outcome"  # custom property of an execution: JSON of components.reporting.Outcome


class Stage(Protocol):
    """Where a node reads and writes: in place, or in copies on the local disk."""

    def fetch(self, info: ExecutionInfo) -> ExecutionInfo:
        """Return the execution with local paths as the artifacts' addresses."""

    def store(self, result: execution_result_pb2.ExecutorOutput, listener: Listener) -> None:
        """Bring the outputs to where they belong, and put their addresses for the local paths."""


class InPlace:
    """The artifacts lie on a file system: nothing is copied."""

    def fetch(self, info: ExecutionInfo) -> ExecutionInfo:
        """Return the execution as it is."""
        return info

    def store(self, result: execution_result_pb2.ExecutorOutput, listener: Listener) -> None:
        """Do nothing."""


def recording_operator(listener: Listener, stage: Stage) -> type[python_executor_operator.PythonExecutorOperator]:
    """Return the operator that TFX's launcher runs a node's executor with.

    The outcome is published with the artifacts, in one transaction, so that a run killed at any moment has both or
    neither.
    """

    class RecordingOperator(python_executor_operator.PythonExecutorOperator):
        def run_executor(self, execution_info: ExecutionInfo) -> execution_result_pb2.ExecutorOutput:
            local = stage.fetch(execution_info)
            _empty(local)
            try:
                result = super().run_executor(local)
            except HeadraceError as error:
                listener.error = error
                return execution_result_pb2.ExecutorOutput(
                    execution_result=execution_result_pb2.ExecutionResult(
                        code=1, result_message=json.dumps(error.to_dict())
                    )
                )
            for artifacts in result.output_artifacts.values():
                for artifact in artifacts.artifacts:
                    artifact.custom_properties[DIGEST].string_value = tree_digest(artifact.uri)
            stage.store(result, listener)
            result.execution_properties[OUTCOME].string_value = json.dumps(listener.outcome.to_dict())
            return result

    return RecordingOperator


def _empty(info: ExecutionInfo) -> None:
    """Remove what an attempt that was killed has left: TFX gives the next attempt the same folders."""
    for artifacts in info.output_dict.values():
        for artifact in artifacts:
            if os.path.isdir(artifact.uri):
                shutil.rmtree(artifact.uri)
            os.makedirs(artifact.uri, exist_ok=True)
