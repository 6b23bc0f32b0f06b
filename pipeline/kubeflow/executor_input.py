"""What Kubeflow's launcher hands to a step in place of `{{$}}`.

Source: kubeflow/pipelines api/v2alpha1/pipeline_spec.proto, message ExecutorInput, as protojson.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from pipeline.errors import HeadraceError, bounded

RUN_ID = "run-id"


@dataclass(frozen=True)
class ExecutorInput:
    """The launcher's message.

    Args:
        parameters: values of the input parameters by name.
        artifacts: output artifacts by name: name, uri and metadata as the launcher made them.
        parameter_files: path to write for each output parameter.
        output_file: path of the ExecutorOutput that the step may write.
    """

    parameters: Mapping[str, object]
    artifacts: Mapping[str, dict]
    parameter_files: Mapping[str, str]
    output_file: str

    @classmethod
    def parse(cls, text: str) -> ExecutorInput:
        """Read the message.

        Raises:
            HeadraceError: HR-KFP-031 when it is none, or has no run id.
        """
        try:
            message = json.loads(text)
            inputs, outputs = message.get("inputs", {}), message.get("outputs", {})
            found = cls(
                inputs.get("parameterValues", {}),
                {name: listed["artifacts"][0] for name, listed in outputs.get("artifacts", {}).items()},
                {name: value["outputFile"] for name, value in outputs.get("parameters", {}).items()},
                outputs.get("outputFile", ""),
            )
        except (ValueError, AttributeError, LookupError, TypeError) as error:
            raise _unreadable(text, error) from None
        if not isinstance(found.parameters.get(RUN_ID), str):
            raise _unreadable(text, f"no input parameter {RUN_ID}")
        return found

    @property
    def run_id(self) -> str:
        """The run's id in Kubeflow, and so in ML Metadata."""
        return str(self.parameters[RUN_ID])

    @staticmethod
    def attempt(environ: Mapping[str, str]) -> int:
        """Return which attempt this is, counted from 0; the launcher counts in KFP_RETRY_INDEX."""
        index = environ.get("KFP_RETRY_INDEX", "")
        return int(index) if index.isdigit() else 0


def _unreadable(text: str, reason: object) -> HeadraceError:
    return HeadraceError(
        "HR-KFP-031",
        "the step was not given an executor input",
        seen=[bounded(reason, 160), bounded(text, 160)],
        expected="what Kubeflow's launcher puts for {{$}}",
        fix=["steps are started by Kubeflow; without a cluster:  headrace kubeflow simulate FILE"],
    )
