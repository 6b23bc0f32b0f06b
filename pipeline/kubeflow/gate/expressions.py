"""Placeholders `{{$...}}` in commands and constants, and conditions.

Sources: kubeflow/pipelines backend/src/v2/component/launcher_v2.go compileCmdAndArgs and getPlaceholders (commands),
backend/src/v2/driver/resolve.go resolveInputParameter (constants), backend/src/v2/driver/driver.go
resolvePodSpecInputRuntimeParameter (image and resources), backend/src/v2/expression/expression.go (conditions).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from pipeline.kubeflow.gate.finding import Finding
from pipeline.kubeflow.gate.spec import EXECUTORS, Spec

OPEN = "{{$"
WHOLE = "{{$}}"
COMPUTED = re.compile(r'^\s*\{"(?:Concat|IfPresent)"\s*:')
# one alternative for each list of the component that a placeholder may refer to, named as its field
ARGUMENT = re.compile(
    r"\{\{\$(?:\.inputs\.parameters\['(?P<input_definitions__parameters>[^']+)'\]"
    r"|\.inputs\.artifacts\['(?P<input_definitions__artifacts>[^']+)'\]\.(?:uri|path)"
    r"|\.outputs\.artifacts\['(?P<output_definitions__artifacts>[^']+)'\]\.(?:uri|path)"
    r"|\.outputs\.parameters\['(?P<output_definitions__parameters>[^']+)'\]\.output_file)?\}\}"
)
INPUT = re.compile(r"\{\{\$\.inputs\.parameters\['(?P<name>[^']+)'\]\}\}")
RUN_VALUES = ("{{$.pipeline_job_uuid}}", "{{$.pipeline_job_resource_name}}")  # resolved by KFP 2.14 to 2.17
NEWER_RUN_VALUES = (
    "{{$.pipeline_job_name}}",
    "{{$.pipeline_task_name}}",
    "{{$.pipeline_task_uuid}}",
    "{{$.pipeline_job_create_time_utc}}",
    "{{$.pipeline_job_schedule_time_utc}}",
)

REFERENCE = re.compile(r"\binputs\.(?:parameters|parameter_values)\[(?P<quote>['\"])(?P<name>[^'\"]+)(?P=quote)\]")
TOKEN = re.compile(
    r"(?P<text>'(?:[^'\\\n]|\\.)*'|\"(?:[^\"\\\n]|\\.)*\")|(?P<number>\d+(?:\.\d+)?(?:[eE][-+]?\d+)?)"
    r"|(?P<member>\.\s*[A-Za-z_]\w*)|(?P<name>[A-Za-z_]\w*)|(?P<sign>==|!=|<=|>=|&&|\|\||[-+*/%<>!?:,()\[\]])|(?P<space>\s+)"
)
WORDS = ("true", "false", "null", "in", "int", "uint", "double", "string", "bool", "size", "has", "parseJson")
PAIRS = {")": "(", "]": "["}


def check_expressions(spec: Spec) -> Iterator[Finding]:
    """Commands and settings of all containers, constants and conditions of all tasks."""
    users: dict[str, list[Any]] = {}
    for component in spec.components.values():
        users.setdefault(component.executor_label, []).append(component)
    for label, container in spec.containers.items():
        yield from _command(container, users.get(label, []), f"{EXECUTORS}.{label}.container")
    for dag in spec.dags:
        for name, task in dag.tasks.items():
            for key, source in task.inputs.parameters.items():
                text = source.runtime_value.constant.string_value
                yield from _constant(text, task, f"{dag.place(name)}.inputs.parameters.{key}.runtimeValue.constant")
            if task.trigger_policy.condition:
                where = f"{dag.place(name)}.triggerPolicy.condition"
                for what in condition_faults(task.trigger_policy.condition, set(task.inputs.parameters)):
                    yield Finding("condition", where, what)


def _command(container: Any, components: list[Any], where: str) -> Iterator[Finding]:
    """The launcher starts the first word of command and args together and fills in the words after it."""
    words = [(f"{where}.command[{i}]", word) for i, word in enumerate(container.command)]
    words += [(f"{where}.args[{i}]", word) for i, word in enumerate(container.args)]
    for position, (place, word) in enumerate(words):
        if COMPUTED.match(word):
            yield Finding("placeholder", place, "Concat and IfPresent are filled in by KFP 2.17 only")
        elif position == 0:
            if OPEN in word.replace(WHOLE, ""):
                yield Finding("placeholder", place, f"{word!r}: in the first word only {WHOLE} is filled in")
        else:
            yield from _placeholders(word, components, place)
    for variable in container.env:
        if OPEN in variable.value:
            what = f"{variable.name}={variable.value!r}: placeholders are not filled in here"
            yield Finding("placeholder", f"{where}.env", what)
    settings = {"image": container.image}
    for message in (container.resources, container.resources.accelerator):
        settings |= {field.json_name: value for field, value in message.ListFields() if isinstance(value, str)}
    for name, text in settings.items():
        if OPEN in text and (not INPUT.fullmatch(text) or any(_placeholders(text, components, where))):
            yield Finding("placeholder", f"{where}: {name}", f"{text!r} is no input of the component")


def _placeholders(text: str, components: list[Any], where: str) -> Iterator[Finding]:
    if OPEN in ARGUMENT.sub("", text):
        supported = f"{WHOLE}, inputs.parameters['x'], .uri, .path and outputs.parameters['x'].output_file"
        yield Finding("placeholder", where, f"{text[:120]!r} has one that the launcher does not fill in: {supported}")
    for found in ARGUMENT.finditer(text):
        for path, name in found.groupdict().items():
            definitions, of = path.split("__")
            if name and not all(name in getattr(getattr(component, definitions), of) for component in components):
                what = f"{found[0]}: the component has no {'input' if 'input' in path else 'output'} {name!r}"
                yield Finding("placeholder", where, what)


def _constant(text: str, task: Any, where: str) -> Iterator[Finding]:
    if text in NEWER_RUN_VALUES:
        yield Finding("placeholder", where, f"{text} is not filled in by every KFP from 2.14 to 2.17", "warning")
    elif text not in RUN_VALUES:
        for found in INPUT.finditer(text):
            if found["name"] not in task.inputs.parameters:
                yield Finding("placeholder", where, f"{found[0]}: the task has no input {found['name']!r}")
        if OPEN in INPUT.sub("", text):
            yield Finding("placeholder", where, f"{text[:120]!r} is not filled in by the driver")


def condition_faults(expression: str, inputs: set[str]) -> Iterator[str]:
    """Yield what is wrong with a condition, as far as can be told without a parser of CEL.

    Looked at are characters, brackets, words and the inputs that it names; not order, arity or types.
    """
    for found in REFERENCE.finditer(expression):
        if found["name"] not in inputs:
            yield f"the task has no input {found['name']!r}"
    rest = REFERENCE.sub("0", expression)
    position, stack = 0, []
    while position < len(rest):
        token = TOKEN.match(rest, position)
        if token is None:
            yield f"{rest[position : position + 20]!r} is no CEL"
            return
        position = token.end()
        if token["name"] and token["name"] not in WORDS:
            yield f"{token['name']!r}: a condition reads inputs.parameter_values['NAME'] and nothing else"
        if token["sign"] in PAIRS.values():
            stack.append(token["sign"])
        elif token["sign"] in PAIRS and (not stack or stack.pop() != PAIRS[token["sign"]]):
            yield f"{token['sign']!r} closes nothing"
            return
    if stack:
        yield f"{stack[-1]!r} is never closed"
