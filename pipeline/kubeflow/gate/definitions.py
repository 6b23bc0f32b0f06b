"""Parameters as components declare them: types and defaults.

Sources: kubeflow/pipelines backend/src/apiserver/template/v2_template.go validatePipelineJobInputs (types, defaults of
the pipeline), backend/src/v2/driver/resolve.go resolveInputs (what a component may miss).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pipeline.kubeflow.gate.finding import Finding

NEEDS_NO_SOURCE = ("TASK_CONFIG",)  # filled in by the driver, from KFP 2.15
MAX_INTEGER = 2**53  # JSON numbers are doubles: whole numbers beyond are changed silently

VALUE_KINDS = {
    "NUMBER_DOUBLE": "number_value",
    "NUMBER_INTEGER": "number_value",
    "STRING": "string_value",
    "BOOLEAN": "bool_value",
    "LIST": "list_value",
    "STRUCT": "struct_value",
    "TASK_FINAL_STATUS": "struct_value",
    "TASK_CONFIG": "struct_value",
}


def type_name(definition: Any) -> str:
    """Return the declared type of a parameter, such as `STRING`; a number that the schema does not know as a text."""
    known = definition.DESCRIPTOR.fields_by_name["parameter_type"].enum_type.values_by_number
    found = known.get(definition.parameter_type)
    return found.name if found else str(definition.parameter_type)


def check_definition(definition: Any, where: str, must_have_value: bool) -> Iterator[Finding]:
    """A known type, and a default of it; `must_have_value` for the pipeline's own parameters."""
    kind = type_name(definition)
    if kind not in VALUE_KINDS:
        yield Finding("parameter-type", where, f"parameterType {kind}: one of {', '.join(VALUE_KINDS)} is needed")
    elif definition.HasField("default_value"):
        if not fits(definition.default_value, kind):
            yield Finding("default-type", f"{where}.defaultValue", f"{shown(definition.default_value)} is no {kind}")
    elif must_have_value and not definition.is_optional:
        what = "neither a default nor isOptional: a run or a schedule without it is refused"
        yield Finding("default-missing", where, what)


def fits(value: Any, kind: str) -> bool:
    """Say whether a JSON value is one of the type."""
    if value.WhichOneof("kind") != VALUE_KINDS[kind]:
        return False
    number = value.number_value
    return kind != "NUMBER_INTEGER" or number.is_integer() and abs(number) <= MAX_INTEGER


def shown(value: Any) -> str:
    """Return the start of a value as JSON."""
    from google.protobuf import json_format

    return json_format.MessageToJson(value, indent=None)[:80]


def may_be_missing(definition: Any) -> bool:
    """Say whether a component runs without a source for the input."""
    return definition.is_optional or definition.HasField("default_value") or type_name(definition) in NEEDS_NO_SOURCE
