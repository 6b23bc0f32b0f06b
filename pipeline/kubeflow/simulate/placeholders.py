"""The command line of a step, filled in as the driver and the launcher do.

Sources: kubeflow/pipelines backend/src/v2/component/launcher_v2.go compileCmdAndArgs, getPlaceholders and
addDefaultParams; backend/src/v2/driver/util.go resolveContainerArgs (from 2.17).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from pipeline.kubeflow.simulate.model import StepError
from pipeline.kubeflow.simulate.store import local_path
from pipeline.kubeflow.simulate.values import as_value, kind_of, to_json, to_text

WHOLE = "{{$}}"
INPUT = re.compile(r"\{\{\$\.inputs\.parameters\['(.+?)'\]\}\}")
IF_PRESENT = '{"IfPresent":'


def with_defaults(executor_input: Mapping, component: Mapping) -> dict:
    """Return the ExecutorInput that the launcher fills in with: inputs nobody gave have their defaults."""
    definitions = component.get("inputDefinitions", {}).get("parameters", {})
    defaults = {key: as_value(d["defaultValue"]) for key, d in definitions.items() if "defaultValue" in d}
    inputs = executor_input["inputs"]
    return {**executor_input, "inputs": {**inputs, "parameterValues": defaults | inputs["parameterValues"]}}


def driver_arguments(arguments: Sequence[str], inputs: Mapping) -> list[str]:
    """Return the arguments after the driver of 2.17, which does not know defaults.

    Raises:
        StepError: an argument names an input that nobody gave.
    """
    values = inputs["parameterValues"]
    found: list[str] = []
    for argument in arguments:
        if "$.outputs" in argument:
            found.append(argument)
        elif argument.strip().startswith(IF_PRESENT):
            choice = json.loads(argument)["IfPresent"]
            chosen = choice.get("Then" if values.get(choice["InputName"]) is not None else "Else") or []
            found += [_driver_text(text, values) for text in ([chosen] if isinstance(chosen, str) else chosen)]
        else:
            found.append(_driver_text(argument, values))
    return found


def _driver_text(argument: str, values: Mapping[str, object]) -> str:
    def fill(match: re.Match) -> str:
        if match[1] not in values:
            raise StepError(f'parameter "{match[1]}" not found in executor input')
        value = values[match[1]]
        return to_text(value) if kind_of(value) != "number" else to_json(value)

    return INPUT.sub(fill, argument)


def fill_in(command: Sequence[str], arguments: Sequence[str], executor_input: Mapping, pod_root: Path) -> list[str]:
    """Return the command line after the launcher: in the first word only the whole message is filled in.

    A value that holds another placeholder is filled in again, as in Kubeflow, but here always in the same order.
    """
    whole = to_json(executor_input)
    placeholders = sorted(_placeholders(executor_input, pod_root).items())
    first, *rest = [*command, *arguments]
    words = [first.replace(WHOLE, whole)]
    for word in rest:
        word = word.replace(WHOLE, whole)
        for placeholder, value in placeholders:
            word = word.replace(placeholder, value)
        words.append(word)
    return words


def _placeholders(executor_input: Mapping, pod_root: Path) -> dict[str, str]:
    inputs, outputs = executor_input.get("inputs", {}), executor_input.get("outputs", {})
    parameters = inputs.get("parameterValues", {})
    found = {f"{{{{$.inputs.parameters['{key}']}}}}": to_text(value) for key, value in parameters.items()}
    for direction, side in (("inputs", inputs), ("outputs", outputs)):
        for key, listed in side.get("artifacts", {}).items():
            uri = listed["artifacts"][0]["uri"]
            path = local_path(uri, pod_root)
            found[f"{{{{$.{direction}.artifacts['{key}'].uri}}}}"] = uri
            if path is not None:
                found[f"{{{{$.{direction}.artifacts['{key}'].path}}}}"] = str(path)
    for key, parameter in outputs.get("parameters", {}).items():
        found[f"{{{{$.outputs.parameters['{key}'].output_file}}}}"] = parameter["outputFile"]
    return found
