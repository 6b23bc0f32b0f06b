"""The outputs of a step: provided by the driver, read back by the launcher.

Sources: kubeflow/pipelines backend/src/v2/driver/driver.go provisionOutputs, backend/src/v2/component/launcher_v2.go
getExecutorOutputFile, collectOutputParameters, mergeRuntimeArtifacts.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pipeline.errors import bounded
from pipeline.kubeflow.gate.schema import messages
from pipeline.kubeflow.simulate.model import Profile, StepError
from pipeline.kubeflow.simulate.store import local_path
from pipeline.kubeflow.simulate.values import as_value, from_text

LOGS = "executor-logs"  # an output that each step has: the launcher writes its log there
OUTPUT_FILE = "output_metadata.json"


def provide(component: Mapping, task_uri: str, pod_root: Path, profile: Profile) -> dict:
    """Return `outputs` of the ExecutorInput; paths that are absolute in a pod stand below `pod_root`."""
    definitions = component.get("outputDefinitions", {})
    declared = {
        **definitions.get("artifacts", {}),
        LOGS: {"artifactType": {"schemaTitle": "system.Artifact"}},
    }
    artifacts = {
        key: {
            "artifacts": [
                {
                    "name": key if profile.task_root else "",
                    "type": definition["artifactType"],
                    "uri": f"{task_uri}/{key}",
                    **({"metadata": as_value(definition["metadata"])} if "metadata" in definition else {}),
                }
            ]
        }
        for key, definition in declared.items()
    }
    root = local_path(task_uri, pod_root) if profile.task_root else pod_root / "tmp/kfp_outputs"
    return {
        "parameters": {
            key: {"outputFile": str(pod_root / "tmp/kfp/outputs" / key)} for key in definitions.get("parameters", {})
        },
        "artifacts": artifacts,
        "outputFile": f"{root}/{OUTPUT_FILE}",
    }


def make_folders(outputs: Mapping, pod_root: Path) -> None:
    """Make the folders that the launcher makes: those of output parameters and artifacts, not of the output file."""
    paths = [Path(parameter["outputFile"]) for parameter in outputs["parameters"].values()]
    paths += [
        path
        for listed in outputs["artifacts"].values()
        if (path := local_path(listed["artifacts"][0]["uri"], pod_root)) is not None
    ]
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)


def read_executor_output(path: Path) -> dict:
    """Return the ExecutorOutput that a step wrote: strictly parsed; empty when it wrote none.

    Raises:
        StepError: the file is no ExecutorOutput.
    """
    from google.protobuf import json_format

    if not path.exists():
        return {}
    schema, _ = messages()
    try:
        parsed = json_format.Parse(path.read_bytes(), schema.ExecutorOutput())
    except (OSError, UnicodeDecodeError, json_format.ParseError) as error:
        raise StepError(f'failed to unmarshall ExecutorOutput in file "{path}": {bounded(error, 200)}') from None
    return json_format.MessageToDict(parsed)


def collect_parameters(outputs: Mapping, component: Mapping, executor_output: Mapping) -> dict[str, object]:
    """Return the output parameters: those of the ExecutorOutput, else the text files, in their types.

    Raises:
        StepError: a file is missing, or its text is of another type.
    """
    found = dict(as_value(executor_output.get("parameterValues", {})))
    for key, parameter in outputs["parameters"].items():
        if key in found:
            continue
        type_name = component["outputDefinitions"]["parameters"][key]["parameterType"]
        path = parameter["outputFile"]
        try:
            found[key] = from_text(Path(path).read_text(encoding="utf-8"), type_name)
        except (OSError, UnicodeDecodeError, StepError) as error:
            what = (
                f'failed to read output parameter name="{key}" type="{type_name}" path="{path}": {bounded(error, 200)}'
            )
            raise StepError(what) from None
    return found


def merged(key: str, artifact: Mapping, executor_output: Mapping) -> dict:
    """Return an output artifact with the address and metadata that the step gave it."""
    listed = executor_output.get("artifacts", {}).get(key, {}).get("artifacts", [])
    own = listed[0] if listed else {}
    return {
        **artifact,
        "uri": own.get("uri") or artifact["uri"],
        "metadata": {**artifact.get("metadata", {}), **as_value(own.get("metadata", {}))},
    }
