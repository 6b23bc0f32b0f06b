"""The parameters of a run, checked as the API server does.

Source: kubeflow/pipelines backend/src/apiserver/template/v2_template.go validatePipelineJobInputs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pipeline.errors import HeadraceError, bounded
from pipeline.kubeflow.package import Package
from pipeline.kubeflow.simulate.values import KINDS, as_value, kind_of

WORDS = {"STRING": "string", "BOOLEAN": "bool", "LIST": "list", "STRUCT": "struct"}


def root_parameters(root: Mapping, given: Mapping[str, object]) -> dict[str, object]:
    """Return the value of each parameter: the given one, else the default, else null.

    A whole number passes for a double and a fraction for an integer: the server looks no closer.

    Raises:
        HeadraceError: HR-KFP-091 with the server's own words.
    """
    declared = _declared(root)
    values: dict[str, object] = {}
    for name, definition in declared.items():
        if name in given:
            values[name] = as_value(given[name])
            _check(name, values[name], definition["parameterType"])
        elif "defaultValue" in definition:
            values[name] = as_value(definition["defaultValue"])
        elif definition.get("isOptional"):
            values[name] = None
        else:
            what = f"parameter {name} is not optional, yet has neither default value nor user provided value"
            raise _refused(what, "nothing", f"a {definition['parameterType']}", name)
    extra = [name for name in given if name not in declared]
    if extra:
        what = f"parameter(s) provided are not required by pipeline: {', '.join(extra)}"
        raise _refused(what, ", ".join(extra), f"among {', '.join(declared) or 'none'}", next(iter(declared), "NAME"))
    return values


def parse_parameters(package: Package, items: Iterable[str]) -> dict[str, object]:
    """Return `NAME=VALUE` items as typed values: a text for a parameter of type STRING, YAML for any other.

    Raises:
        HeadraceError: HR-KFP-091 for an item without `=` or a value that is not YAML.
    """
    import yaml

    declared = _declared(package.pipeline.get("root", {}))
    values: dict[str, object] = {}
    for item in items:
        name, separator, text = item.partition("=")
        if not separator:
            raise _refused(f"--param {item}", item, "NAME=VALUE", name)
        try:
            is_text = declared.get(name, {}).get("parameterType") == "STRING"
            values[name] = text if is_text else yaml.safe_load(text)
        except yaml.YAMLError as error:
            raise _refused(
                f"--param {name} is not YAML", error, "a number, true, false, a list or a map", name
            ) from None
    return values


def _declared(root: Mapping) -> Mapping[str, Mapping]:
    return root.get("inputDefinitions", {}).get("parameters", {})


def _check(name: str, value: object, type_name: str) -> None:
    if type_name in KINDS.get(kind_of(value), ()):
        return
    wanted, found = (WORDS[type_name],) * 2 if type_name in WORDS else ("double or integer", "number")
    of = "the parameter value" if found == "number" else "the input parameter"
    what = f"input parameter {name} requires type {wanted}, but {of} is not of {found} value type"
    raise _refused(what, repr(value), f"a {type_name}", name)


def _refused(what: str, seen: object, expected: str, name: str) -> HeadraceError:
    return HeadraceError(
        "HR-KFP-091", what, seen=[bounded(seen, 100)], expected=expected, fix=[f"--param {name}=VALUE"]
    )
