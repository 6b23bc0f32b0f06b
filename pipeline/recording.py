"""What every node leaves in ML Metadata, wherever it runs: digests of its artifacts, its outcome, or its error."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping, MutableMapping
from typing import Protocol

from tfx.orchestration.portable import python_executor_operator
from tfx.orchestration.portable.data_types import ExecutionInfo
from tfx.proto.orchestration import execution_result_pb2

from components.digest import tree_digest
from components.reporting import Listener, Outcome
from pipeline.errors import HeadraceError, bounded

DIGEST = "digest"  # custom property of an artifact
OUTCOME = "outcome"  # custom properties of an execution, outcome.0 and on: pieces of the JSON of an Outcome
MAX_PROPERTY_BYTES = 2_000  # ML Metadata indexes text; PostgreSQL refuses an index row of more than 2,704 bytes


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
                        code=1, result_message=_short(error)
                    )
                )
            for artifacts in result.output_artifacts.values():
                for artifact in artifacts.artifacts:
                    artifact.custom_properties[DIGEST].string_value = tree_digest(artifact.uri)
            stage.store(result, listener)
            write_outcome(result.execution_properties, listener.outcome)
            return result

    return RecordingOperator


def write_outcome(properties: MutableMapping, outcome: Outcome) -> None:
    """Put an outcome into an execution's custom properties, in pieces that every database takes."""
    text = json.dumps(outcome.to_dict())  # ASCII: a character is a byte
    for number, start in enumerate(range(0, len(text), MAX_PROPERTY_BYTES)):
        properties[f"{OUTCOME}.{number}"].string_value = text[start : start + MAX_PROPERTY_BYTES]


def read_outcome(properties: Mapping) -> Outcome:
    """Return the outcome that `write_outcome` put there; an empty one if there is none."""
    pieces = []
    while f"{OUTCOME}.{len(pieces)}" in properties:
        pieces.append(properties[f"{OUTCOME}.{len(pieces)}"].string_value)
    return Outcome.from_dict(json.loads("".join(pieces))) if pieces else Outcome()


def _short(error: HeadraceError) -> str:
    """Return an error as JSON that fits into one property: evidence goes first, then all but the first fix."""
    values = error.to_dict()
    while len(text := json.dumps(values)) > MAX_PROPERTY_BYTES:
        if values["seen"]:
            values["seen"].pop()
            values["more_seen"] += 1
        elif len(values["fix"]) > 1:
            values["fix"].pop()
        else:
            values |= {name: bounded(values[name], 100) for name in ("what", "expected")}
            values["fix"] = [bounded(line, 100) for line in values["fix"]]
            return json.dumps(values)
    return text


def _empty(info: ExecutionInfo) -> None:
    """Remove what an attempt that was killed has left: TFX gives the next attempt the same folders."""
    for artifacts in info.output_dict.values():
        for artifact in artifacts:
            if os.path.isdir(artifact.uri):
                shutil.rmtree(artifact.uri)
            os.makedirs(artifact.uri, exist_ok=True)
