"""The inputs of a task, resolved as Kubeflow's driver does.

Source: kubeflow/pipelines backend/src/v2/driver/resolve.go resolveInputs, resolveInputParameter.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pipeline.kubeflow.simulate.model import StepError
from pipeline.kubeflow.simulate.values import KINDS, as_value, kind_of, to_text


@dataclass
class Finished:
    """A task that has ended, as ML Metadata knows it.

    Args:
        state: SUCCEEDED, FAILED, SKIPPED or OMITTED.
        known_state: COMPLETE, FAILED, CANCELED, or RUNNING for a pod that was killed: nobody was left to publish.
        parameters: output parameters.
        artifacts: output artifacts as a later task sees them.
    """

    state: str
    known_state: str
    parameters: Mapping[str, object] = field(default_factory=dict)
    artifacts: Mapping[str, dict] = field(default_factory=dict)


@dataclass
class Scope:
    """One execution of a DAG: its inputs, and its tasks that have ended.

    Args:
        prefix: what stands before the names of its steps.
        execution_id: its number in ML Metadata.
        parameters: input parameters.
        artifacts: input artifacts.
        finished: by task name.
    """

    prefix: str
    execution_id: int
    parameters: Mapping[str, object]
    artifacts: Mapping[str, dict] = field(default_factory=dict)
    finished: dict[str, Finished] = field(default_factory=dict)


@dataclass(frozen=True)
class RunValues:
    """What `{{$.pipeline_job_...}}` stands for."""

    uuid: str
    name: str
    resource_name: str
    created: str

    def of(self, text: str, scope: Scope, task_name: str) -> str | None:
        """Return what a constant stands for, or None for one that stands for itself."""
        return {
            "{{$.pipeline_job_uuid}}": self.uuid,
            "{{$.pipeline_job_name}}": self.name,
            "{{$.pipeline_job_resource_name}}": self.resource_name,
            "{{$.pipeline_job_create_time_utc}}": self.created,
            "{{$.pipeline_job_schedule_time_utc}}": self.created,
            "{{$.pipeline_task_name}}": task_name,
            "{{$.pipeline_task_uuid}}": str(scope.execution_id),
        }.get(text)


class _Null(Exception):
    """The value is that of an optional input that nobody gave."""


def resolve_inputs(name: str, task: Mapping, component: Mapping, scope: Scope, run: RunValues) -> dict:
    """Return `inputs` of the ExecutorInput of a task. Defaults are left to the launcher, except those of a sub-DAG.

    Raises:
        StepError: a value is missing, null or of another type.
    """
    definitions = component.get("inputDefinitions", {}).get("parameters", {})
    given = task.get("inputs", {})
    values: dict[str, object] = {}
    null_by_driver = set()
    if "dag" in component:
        for key, definition in definitions.items():
            if key not in given.get("parameters", {}) and definition.get("isOptional"):
                values[key] = as_value(definition.get("defaultValue"))
                if values[key] is None:
                    null_by_driver.add(key)
    for key, source in given.get("parameters", {}).items():
        try:
            values[key] = _parameter(key, source, name, task, scope, run)
        except _Null as null:
            if not definitions.get(key, {}).get("isOptional"):
                raise StepError(f"the resolved input parameter is null: {null}") from None
    for key, definition in definitions.items():
        if key not in null_by_driver:
            _convert(key, definition, values)
    artifacts = {key: _artifact(key, source, scope) for key, source in given.get("artifacts", {}).items()}
    return {"parameterValues": values, "artifacts": {key: {"artifacts": [found]} for key, found in artifacts.items()}}


def _parameter(key: str, source: Mapping, name: str, task: Mapping, scope: Scope, run: RunValues) -> object:
    if "componentInputParameter" in source:
        outer = source["componentInputParameter"]
        if outer not in scope.parameters:
            raise StepError(f"parent DAG does not have input parameter {outer}")
        if scope.parameters[outer] is None:
            raise _Null(outer)
        return scope.parameters[outer]
    if "taskOutputParameter" in source:
        output = source["taskOutputParameter"]
        producer = _producer(output["producerTask"], scope)
        if output["outputParameterKey"] not in producer.parameters:
            raise StepError(f"task {output['producerTask']} has no output parameter {output['outputParameterKey']}")
        return producer.parameters[output["outputParameterKey"]]
    if "taskFinalStatus" in source:
        first = task["dependentTasks"][0]  # the driver looks at this, not at producerTask
        return {
            "state": _producer(first, scope).known_state,
            "pipelineTaskName": first,
            "pipelineJobResourceName": run.resource_name,
            "error": {},  # Kubeflow has a TODO here
        }
    constant = as_value(source.get("runtimeValue", {}).get("constant"))
    filled = run.of(constant, scope, name) if isinstance(constant, str) else None
    return constant if filled is None else filled


def _convert(key: str, definition: Mapping, values: dict[str, object]) -> None:
    """Check a value against its type; only a STRING takes any other kind, as text."""
    type_name = definition["parameterType"]
    if key not in values:
        if definition.get("isOptional"):
            return
        if "defaultValue" not in definition:
            raise StepError(f'neither value nor default value provided for non-optional parameter "{key}"')
        if type_name != "STRING":
            raise StepError(f"parameter {key} has unknown protobuf.Value type: <nil>")
        values[key] = ""  # not the default: the driver takes the value that is not there for an empty one
        return
    kind = kind_of(values[key])
    if type_name == "STRING":
        values[key] = to_text(values[key])
    elif kind == "null":
        raise StepError(f'got null for input parameter "{key}"')
    elif type_name not in KINDS[kind]:
        raise StepError(f'input parameter "{key}" type mismatch: expect {type_name}, got {kind}')


def _artifact(key: str, source: Mapping, scope: Scope) -> dict:
    if "componentInputArtifact" in source:
        outer = source["componentInputArtifact"]
        if outer not in scope.artifacts:
            raise StepError(f"failed to resolve input artifact {key}: parent DAG does not have input artifact {outer}")
        # read by its event in the parent, for which no type is set at all
        return {name: value for name, value in scope.artifacts[outer].items() if name != "type"}
    output = source["taskOutputArtifact"]
    producer = _producer(output["producerTask"], scope)
    wanted = output["outputArtifactKey"]
    if wanted not in producer.artifacts:
        raise StepError(f'cannot find output artifact key "{wanted}" in producer task "{output["producerTask"]}"')
    return producer.artifacts[wanted]


def _producer(name: str, scope: Scope) -> Finished:
    if name not in scope.finished:
        raise StepError(f"producer task, {name}, not in tasks")
    return scope.finished[name]


def dag_outputs(dag: Mapping, scope: Scope) -> tuple[dict[str, object], dict[str, dict]]:
    """Return the output parameters and artifacts of a sub-DAG, from those of its tasks."""
    parameters: dict[str, object] = {}
    artifacts: dict[str, dict] = {}
    outputs = dag.get("outputs", {})
    for key, source in outputs.get("parameters", {}).items():
        one_of = source.get("valueFromOneof", {}).get("parameterSelectors", [])
        for selector in [source["valueFromParameter"]] if "valueFromParameter" in source else one_of:
            found = scope.finished[selector["producerSubtask"]].parameters
            if selector["outputParameterKey"] in found:
                parameters[key] = found[selector["outputParameterKey"]]
                break
    for key, source in outputs.get("artifacts", {}).items():
        selector = source["artifactSelectors"][-1]  # the last one wins
        found = scope.finished[selector["producerSubtask"]].artifacts
        if selector["outputArtifactKey"] in found:
            artifacts[key] = found[selector["outputArtifactKey"]]
    return parameters, artifacts
