"""What Kubeflow fills into the parameters of a scheduled run.

Source: kubeflow/pipelines backend/src/crd/controller/scheduledworkflow/util/parameter_formatter.go and
backend/src/apiserver/template/v2_template.go; times are UTC in Go's format, whatever the controller's zone.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from pipeline.config.model import TaskConfig
from pipeline.errors import HeadraceError
from pipeline.kubeflow.parameters import declared_parameters, parse_values

SPAN = "data-span"
SCHEDULED_TIME = "[[ScheduledTime]]"
MACRO = re.compile(r"\[\[(.*?)\]\]")
KNOWN = re.compile(r"(ScheduledTime|CurrentTime)(\..+)?|Index|RunUUID")


def scheduled_parameters(config: TaskConfig, given: Mapping[str, str]) -> dict[str, Any]:
    """Return the parameters of a schedule: those given, and the scheduled time as the span where that is one.

    Raises:
        HeadraceError: HR-KFP-002, 003, 061.
    """
    kinds = {parameter.name: parameter.kind for parameter in declared_parameters(config)}
    span = {SPAN: SCHEDULED_TIME} if kinds.get(SPAN) == "STRING" else {}
    for name, value in given.items():
        for macro in MACRO.findall(value):
            if not KNOWN.fullmatch(macro):
                raise _refused(name, f"[[{macro}]] is not one of them")
            if kinds.get(name, "STRING") != "STRING":
                raise _refused(name, f"{name} is of type {kinds[name]}")
    return parse_values(config, {**span, **given})


def _refused(name: str, seen: str) -> HeadraceError:
    return HeadraceError(
        "HR-KFP-061",
        f"parameter {name} cannot take this macro",
        seen=[seen],
        expected="[[ScheduledTime]], [[CurrentTime]], [[Index]] or [[RunUUID]] in a parameter of type STRING",
        fix=["--param 'data-span=[[ScheduledTime.2006-01-02]]'   a date; the form is Go's"],
    )
