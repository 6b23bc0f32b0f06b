"""Parameter values as protobuf has them: every number is a float64.

Sources: kubeflow/pipelines backend/src/v2/metadata/converter.go PbValueToText and TextToPbValue,
backend/src/v2/driver/util.go pbValueToString.
"""

from __future__ import annotations

import json
import re
from decimal import Decimal

from pipeline.kubeflow.simulate.model import StepError

KINDS = {  # of protobuf.Value -> types that take it
    "string": {"STRING"},
    "number": {"NUMBER_DOUBLE", "NUMBER_INTEGER"},
    "bool": {"BOOLEAN"},
    "list": {"LIST"},
    "struct": {"STRUCT", "TASK_FINAL_STATUS", "TASK_CONFIG"},
}
INTEGER = re.compile(r"[+-]?[0-9]+")
DOUBLE = re.compile(r"[+-]?(\d+\.?\d*([eE][+-]?\d+)?|\.\d+([eE][+-]?\d+)?|inf(inity)?|nan)", re.IGNORECASE)
BOOLEANS = {
    **dict.fromkeys(("1", "t", "T", "TRUE", "true", "True"), True),
    **dict.fromkeys(("0", "f", "F", "FALSE", "false", "False"), False),
}
LARGEST_PLAIN = 1e21  # beyond, Go writes an exponent


def as_value(found: object) -> object:
    """Return a JSON value with its numbers as protobuf keeps them."""
    if isinstance(found, dict):
        return {str(key): as_value(item) for key, item in found.items()}
    if isinstance(found, list | tuple):
        return [as_value(item) for item in found]
    return float(found) if isinstance(found, int | float) and not isinstance(found, bool) else found


def kind_of(value: object) -> str:
    """Return the kind of a value: string, number, bool, list, struct or null."""
    if isinstance(value, bool):
        return "bool"
    return {str: "string", float: "number", int: "number", list: "list", dict: "struct"}.get(type(value), "null")


def to_json(value: object) -> str:
    """Return JSON as Go writes it: a whole number has no point."""
    return json.dumps(_whole(value), separators=(",", ":"), ensure_ascii=False)


def _whole(value):
    if isinstance(value, dict):
        return {key: _whole(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_whole(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) < LARGEST_PLAIN else value


def to_text(value: object) -> str:
    """Return a value as the launcher writes it into an argument."""
    kind = kind_of(value)
    if kind in ("list", "struct"):
        return to_json(value)
    if kind == "number":
        text = f"{Decimal(repr(value)):f}"
        return text.rstrip("0").rstrip(".") if "." in text else text
    return {"bool": str(value).lower(), "null": ""}.get(kind) if kind != "string" else value


def from_text(text: str, type_name: str) -> object:
    """Return the value of an output parameter's file.

    Raises:
        StepError: the text is not of the type.
    """
    try:
        return _PARSERS[type_name](text)
    except (KeyError, ValueError):
        raise StepError(f'TextToPbValue(text="{text[:100]}", type="{type_name}") failed') from None


def _number(pattern: re.Pattern, text: str) -> float:
    if not pattern.fullmatch(text.strip()):
        raise ValueError(text)
    return float(text)


def _json(kind: type, text: str):
    found = json.loads(text)
    if not isinstance(found, kind):
        raise ValueError(text)
    return as_value(found)


_PARSERS = {
    "STRING": str,
    "NUMBER_INTEGER": lambda text: _number(INTEGER, text),
    "NUMBER_DOUBLE": lambda text: _number(DOUBLE, text),
    "BOOLEAN": lambda text: BOOLEANS[text.strip()],
    "LIST": lambda text: _json(list, text),
    "STRUCT": lambda text: _json(dict, text),
}
