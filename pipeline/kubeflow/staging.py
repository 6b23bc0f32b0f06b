"""Artifacts of an object store, copied to the local disk for the time that a node runs.

TensorFlow, Arrow and Beam then read and write plain files, and no library needs a file system of its own for s3://.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from components.digest import tree_digest
from components.reporting import Listener, Outcome
from pipeline.config.paths import is_url
from pipeline.errors import HeadraceError
from pipeline.kubeflow.files import download, upload
from pipeline.recording import DIGEST

if TYPE_CHECKING:
    from tfx.orchestration.portable.data_types import ExecutionInfo
    from tfx.proto.orchestration import execution_result_pb2


class Staged:
    """A stage for `pipeline.recording`: inputs come before the node runs, outputs go after it has ended."""

    def __init__(self, scratch: Path, parameters: Mapping[str, str]):
        """Copy to and from the folder `scratch`, and give the node `parameters` in place of its own of those names."""
        self._scratch = scratch
        self._parameters = parameters
        self._address: dict[str, str] = {}  # local path -> where it belongs

    def fetch(self, info: ExecutionInfo) -> ExecutionInfo:
        """Download the inputs and return the execution with local paths.

        Raises:
            HeadraceError: HR-KFP-025 to HR-KFP-027, HR-KFP-028 when an input is not what was written.
        """
        local = copy.copy(info)
        local.exec_properties = {**info.exec_properties, **self._parameters}
        local.input_dict = {
            name: [self._input(artifact, f"{name}-{number}") for number, artifact in enumerate(artifacts)]
            for name, artifacts in info.input_dict.items()
        }
        local.output_dict = {
            name: [self._moved(artifact, f"out-{name}-{number}") for number, artifact in enumerate(artifacts)]
            for name, artifacts in info.output_dict.items()
        }
        return local

    def store(self, result: execution_result_pb2.ExecutorOutput, listener: Listener) -> None:
        """Upload the outputs; wherever a local path stands in their properties or in the outcome, put the address.

        Raises:
            HeadraceError: HR-KFP-026, HR-KFP-027.
        """
        for artifacts in result.output_artifacts.values():
            for artifact in artifacts.artifacts:
                address = self._address.get(artifact.uri)
                if address:
                    upload(artifact.uri, address)
                    artifact.uri = address
                for value in artifact.custom_properties.values():
                    if value.WhichOneof("value") == "string_value":
                        value.string_value = self.addressed(value.string_value)
        listener.outcome = Outcome.from_dict(json.loads(self.addressed(json.dumps(listener.outcome.to_dict()))))

    def _input(self, artifact, name: str):
        moved = self._moved(artifact, name)
        if moved is not artifact:
            download(artifact.uri, moved.uri)
            digest, expected = tree_digest(moved.uri), artifact.get_string_custom_property(DIGEST)
            if expected and digest != expected:
                raise HeadraceError(
                    "HR-KFP-028",
                    f"{artifact.uri} is not what the step before wrote",
                    seen=[f"sha256 {digest[:16]}"],
                    expected=f"sha256 {expected[:16]}, as recorded in ML Metadata",
                    fix=["look who else writes to the pipeline root", "run again: what is damaged is made anew"],
                )
        return moved

    def _moved(self, artifact, name: str):
        """Return the artifact with a local path as its address; one that is local already stays."""
        if not is_url(artifact.uri):
            return artifact
        moved = copy.deepcopy(artifact)
        moved.uri = str(self._scratch / name)
        self._address[moved.uri] = artifact.uri
        return moved

    def addressed(self, text: str) -> str:
        """Return a text with the addresses of artifacts for their local paths."""
        for path, address in self._address.items():
            text = text.replace(path, address)
        return text
