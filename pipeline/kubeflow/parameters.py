"""The configuration keys that a run or a schedule may set, as typed parameters of the pipeline."""

from __future__ import annotations

import json
import typing
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, TypeAdapter, ValidationError

from pipeline.config.model import TaskConfig
from pipeline.errors import HeadraceError, bounded
from pipeline.nodes import NODES, Node

TYPES = {str: "STRING", int: "NUMBER_INTEGER", float: "NUMBER_DOUBLE", bool: "BOOLEAN", list: "LIST", dict: "STRUCT"}


@dataclass(frozen=True)
class Parameter:
    """A configuration key as a parameter of the pipeline.

    Args:
        key: dotted key, such as `train.epochs`.
        annotation: its type in the configuration.
        default: the compiled value; None for a key that has no value.
    """

    key: str
    annotation: Any
    default: Any

    @property
    def name(self) -> str:
        """Name in Kubeflow: `train-epochs`."""
        return self.key.replace(".", "-").replace("_", "-")

    @property
    def kind(self) -> str:
        """Type in Kubeflow."""
        return TYPES[_plain(self.annotation)]

    def reaches(self, node: Node) -> bool:
        """Say whether the node reads the key."""
        return any(self.key == own or self.key.startswith(f"{own}.") for own in node.receives)

    def type_only(self) -> dict:
        """Return its definition for a step."""
        return {"parameterType": self.kind, **({"isOptional": True} if self.default is None else {})}

    def definition(self) -> dict:
        """Return its definition for the pipeline, with the default."""
        if self.default is None:
            return {"parameterType": self.kind, "isOptional": True}
        return {"parameterType": self.kind, "defaultValue": self.default}

    def parse(self, value: Any) -> Any:
        """Return a value of the key's own type.

        Raises:
            HeadraceError: HR-KFP-003.
        """
        try:
            return TypeAdapter(self.annotation).validate_python(value)
        except ValidationError as error:
            raise HeadraceError(
                "HR-KFP-003",
                f"parameter {self.name}: {bounded(error.errors()[0]['msg'], 120)}",
                seen=[bounded(repr(value), 80)],
                expected=f"a {self.kind} for the key {self.key}",
                fix=[f"--param {self.name}=VALUE"],
            ) from None


def declared_parameters(config: TaskConfig) -> list[Parameter]:
    """Return the parameters that `kubernetes.parameters` names, in its order.

    Raises:
        HeadraceError: HR-KFP-002 for a key that does not exist, is a section, or reaches no node.
    """
    values = config.model_dump(mode="json")
    return [_parameter(key, values) for key in config.kubernetes.parameters]


def parameter_named(key: str) -> Parameter:
    """Return the parameter of a configuration key, without a default.

    Raises:
        HeadraceError: HR-KFP-002.
    """
    return _parameter(key, {})


def parse_values(config: TaskConfig, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of named parameters in their own types; texts are read as YAML unless the key is a text.

    Raises:
        HeadraceError: HR-KFP-002 for a name that the pipeline does not have, HR-KFP-003 for a wrong value.
    """
    import yaml

    known = {parameter.name: parameter for parameter in declared_parameters(config)}
    parsed = {}
    for name, value in given.items():
        if name not in known:
            raise _unknown(name, f"one of {', '.join(known) or 'none'}")
        parameter = known[name]
        read = yaml.safe_load(value) if isinstance(value, str) and parameter.kind != "STRING" else value
        parsed[name] = json.loads(json.dumps(parameter.parse(read)))
    return parsed


def _parameter(key: str, values: dict) -> Parameter:
    model: Any = TaskConfig
    default: Any = values
    for part in key.split("."):
        info = getattr(model, "model_fields", {}).get(part)
        if info is None:
            raise _unknown(key, "a configuration key that a node reads")
        model, default = info.annotation, default.get(part) if isinstance(default, dict) else None
    parameter = Parameter(key, model, default)
    if _plain(model) not in TYPES or not any(parameter.reaches(node) for node in NODES):
        raise _unknown(key, "a configuration key with one value that a node reads")
    return parameter


def _plain(annotation: Any) -> type | None:
    """Return the plain Python type of an annotation: `int | None` is int, a list of names is list."""
    origin = typing.get_origin(annotation)
    if origin is typing.Literal:
        return type(typing.get_args(annotation)[0])
    if origin is typing.Annotated:
        return _plain(typing.get_args(annotation)[0])
    if origin in (list, dict):
        return origin
    if origin is not None:
        inner = [argument for argument in typing.get_args(annotation) if argument is not type(None)]
        return _plain(inner[0]) if len(inner) == 1 else None
    if isinstance(annotation, type) and not issubclass(annotation, BaseModel):
        return annotation
    return None


def _unknown(key: str, expected: str) -> HeadraceError:
    return HeadraceError(
        "HR-KFP-002",
        f"{key!r} cannot be a parameter of the pipeline",
        seen=[f"kubernetes.parameters or --param names {key}"],
        expected=expected,
        fix=["headrace config show TASK   prints every key", "--set 'kubernetes.parameters=[data.span, train.epochs]'"],
    )
