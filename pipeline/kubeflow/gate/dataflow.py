"""Inputs and outputs: each value has a source, each source exists, and the types agree.

Sources: kubeflow/pipelines backend/src/v2/compiler/argocompiler/dag.go addImplicitDependencies (producers),
backend/src/v2/driver/resolve.go resolveInputs and resolveInputParameter (kinds of sources, types, null).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pipeline.kubeflow.gate.definitions import VALUE_KINDS, check_definition, fits, may_be_missing, shown, type_name
from pipeline.kubeflow.gate.finding import Finding
from pipeline.kubeflow.gate.spec import Dag, Spec, is_exit

CHANNEL = "pipelinechannel--"  # what kfp's own compiler adds to a task for its placeholders, not to the component


def check_dataflow(spec: Spec) -> Iterator[Finding]:
    """Definitions of all components, inputs of all tasks, outputs of all dags."""
    for where, component in {"root": spec.pipeline.root, **_components(spec)}.items():
        for name, definition in component.input_definitions.parameters.items():
            place = f"{where}.inputDefinitions.parameters.{name}"
            yield from check_definition(definition, place, must_have_value=where == "root")
    for dag in spec.dags:
        for name, task in dag.tasks.items():
            component = spec.component_of(task)
            if component is not None:
                yield from _parameters(spec, dag, name, task, component)
                yield from _artifacts(spec, dag, name, task, component)
        yield from _dag_outputs(spec, dag)


def _components(spec: Spec) -> dict[str, Any]:
    return {f"components.{name}": component for name, component in spec.components.items()}


def _parameters(spec: Spec, dag: Dag, name: str, task: Any, component: Any) -> Iterator[Finding]:
    where = f"{dag.place(name)}.inputs.parameters"
    defined = component.input_definitions.parameters
    given = task.inputs.parameters
    for key, source in given.items():
        if key not in defined and not key.startswith(CHANNEL):
            yield Finding("input-unknown", f"{where}.{key}", f"{task.component_ref.name} has no such input")
        yield from _parameter(spec, dag, task, defined.get(key), source, f"{where}.{key}")
    item = task.parameter_iterator.item_input
    if item and item not in defined:
        what = f"{task.component_ref.name} has no input {item!r}"
        yield Finding("input-unknown", f"{dag.place(name)}.parameterIterator.itemInput", what)
    for key, definition in defined.items():
        if key not in given and key != item and not may_be_missing(definition):
            what = f"{task.component_ref.name} needs {key!r}, which has no default and is not optional"
            yield Finding("input-missing", f"{where}.{key}", what)


def _parameter(spec: Spec, dag: Dag, task: Any, wanted: Any, source: Any, where: str) -> Iterator[Finding]:
    """One input of a task; `wanted` is the component's definition, None where it has none."""
    kind = source.WhichOneof("kind")
    selected = bool(source.parameter_expression_selector)  # the value is a part of the source, of any type
    if kind == "runtime_value":
        yield from _constant(source.runtime_value, None if selected else wanted, where)
    elif kind == "component_input_parameter":
        found = dag.component.input_definitions.parameters.get(source.component_input_parameter)
        if found is None:
            what = f"{dag.where} has no input {source.component_input_parameter!r}"
            yield Finding("input-source", where, what)
            return
        if wanted is not None and not selected:
            yield from _agree(found, wanted, where)
        null = found.is_optional and not found.HasField("default_value")
        if null and wanted is not None and not wanted.is_optional:
            what = f"{source.component_input_parameter!r} may have no value, and the component's input is not optional"
            yield Finding("input-null", where, what, fix="give it a default, or set isOptional on both")
    elif kind == "task_output_parameter":
        producer = source.task_output_parameter.producer_task
        key = source.task_output_parameter.output_parameter_key
        found, what = _output(spec, dag, producer, key, "parameters")
        if found is None:
            yield Finding("input-source", where, what)
        elif wanted is not None and not selected and not dag.tasks[producer].HasField("parameter_iterator"):
            yield from _agree(found, wanted, where)  # outputs of a loop arrive as a list
    elif kind == "task_final_status":
        yield from _final_status(task, source.task_final_status.producer_task, wanted, where)
    else:
        yield Finding("input-source", where, "has no source")


def _constant(value: Any, wanted: Any, where: str) -> Iterator[Finding]:
    if value.WhichOneof("value") != "constant":
        what = "the driver takes `constant` only; `constantValue` and `runtimeParameter` are of schema 2.0"
        yield Finding("runtime-value", f"{where}.runtimeValue", what)
    elif wanted is not None:
        kind = type_name(wanted)
        computed = "{{$" in value.constant.string_value
        if kind in VALUE_KINDS and kind != "STRING" and not computed and not fits(value.constant, kind):
            yield Finding("input-type", f"{where}.runtimeValue.constant", f"{shown(value.constant)} is no {kind}")


def _agree(found: Any, wanted: Any, where: str) -> Iterator[Finding]:
    """The driver turns any value into a text and takes either number for the other; nothing else is converted."""
    given, needed = type_name(found), type_name(wanted)
    if needed != "STRING" and VALUE_KINDS.get(given) != VALUE_KINDS.get(needed):
        yield Finding("input-type", where, f"the source is {given}, the component takes {needed}")


def _final_status(task: Any, producer: str, wanted: Any, where: str) -> Iterator[Finding]:
    """The status of the task that an exit task guards, and of no other."""
    if not is_exit(task) or list(task.dependent_tasks) != [producer]:
        what = f"taskFinalStatus of {producer!r}: only an exit task has one, that of the task in its dependentTasks"
        yield Finding("final-status", where, what)
    elif wanted is not None and type_name(wanted) != "TASK_FINAL_STATUS":
        yield Finding("final-status", where, f"the component takes {type_name(wanted)}, not TASK_FINAL_STATUS")


def _artifacts(spec: Spec, dag: Dag, name: str, task: Any, component: Any) -> Iterator[Finding]:
    where = f"{dag.place(name)}.inputs.artifacts"
    defined = component.input_definitions.artifacts
    for key, source in task.inputs.artifacts.items():
        if key not in defined and not key.startswith(CHANNEL):
            yield Finding("input-unknown", f"{where}.{key}", f"{task.component_ref.name} has no such input")
        kind = source.WhichOneof("kind")
        if kind == "task_output_artifact":
            output = source.task_output_artifact
            found, what = _output(spec, dag, output.producer_task, output.output_artifact_key, "artifacts")
            if found is None:
                yield Finding("input-source", f"{where}.{key}", what)
        elif source.component_input_artifact not in dag.component.input_definitions.artifacts:
            what = f"{dag.where} has no input {source.component_input_artifact!r}" if kind else "has no source"
            yield Finding("input-source", f"{where}.{key}", what)
    for key, definition in defined.items():
        if key not in task.inputs.artifacts and not definition.is_optional:
            yield Finding("input-missing", f"{where}.{key}", f"{task.component_ref.name} needs {key!r}")


def _output(spec: Spec, dag: Dag, producer: str, key: str, of: str) -> tuple[Any, str]:
    """Return the definition of a task's output, or None and why there is none."""
    if producer not in dag.tasks:
        return None, f"no task {producer!r} in the same dag"
    component = spec.component_of(dag.tasks[producer])
    if component is None:  # reported where the component is missing
        return None, f"task {producer!r} has no component"
    outputs: Mapping[str, Any] = getattr(component.output_definitions, of)
    return outputs.get(key), f"task {producer!r} has no output {key!r}"


def _dag_outputs(spec: Spec, dag: Dag) -> Iterator[Finding]:
    """What a dag gives out comes from its tasks."""
    selectors = []
    for name, output in dag.component.dag.outputs.parameters.items():
        one_of = output.WhichOneof("kind") == "value_from_oneof"
        chosen = output.value_from_oneof.parameter_selectors if one_of else [output.value_from_parameter]
        selectors += [("parameters", name, s.producer_subtask, s.output_parameter_key) for s in chosen]
    for name, output in dag.component.dag.outputs.artifacts.items():
        chosen = output.artifact_selectors
        selectors += [("artifacts", name, s.producer_subtask, s.output_artifact_key) for s in chosen]
    for of, name, producer, key in selectors:
        found, what = _output(spec, dag, producer, key, of)
        if found is None:
            yield Finding("dag-output", f"{dag.where}.dag.outputs.{of}.{name}", what)
