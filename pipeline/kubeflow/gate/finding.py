"""What a check found: the rule, the place, and what to do; and how errors among them stop a command."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from pipeline.errors import HeadraceError

# rule -> the code that it is reported under
RULES = {
    "plain-values": "HR-KFP-004",
    "pipeline-schema": "HR-KFP-004",
    "deployment-schema": "HR-KFP-004",
    "schema-version": "HR-KFP-004",
    "root": "HR-KFP-004",
    "component-ref": "HR-KFP-005",
    "executor-label": "HR-KFP-005",
    "dependent-task": "HR-KFP-005",
    "input-source": "HR-KFP-005",
    "dag-output": "HR-KFP-005",
    "unused": "HR-KFP-005",
    "pipeline-name": "HR-KFP-006",
    "task-name": "HR-KFP-006",
    "component-name": "HR-KFP-006",
    "task-cycle": "HR-KFP-007",
    "component-cycle": "HR-KFP-007",
    "implementation": "HR-KFP-008",
    "artifact-iterator": "HR-KFP-008",
    "iterator-items": "HR-KFP-008",
    "importer-condition": "HR-KFP-008",
    "shared-container": "HR-KFP-008",
    "retry-policy": "HR-KFP-008",
    "runtime-value": "HR-KFP-008",
    "default-missing": "HR-KFP-009",
    "default-type": "HR-KFP-009",
    "parameter-type": "HR-KFP-009",
    "input-unknown": "HR-KFP-009",
    "input-missing": "HR-KFP-009",
    "input-type": "HR-KFP-009",
    "input-null": "HR-KFP-009",
    "exit-task": "HR-KFP-010",
    "final-status": "HR-KFP-010",
    "placeholder": "HR-KFP-011",
    "condition": "HR-KFP-011",
    "argument-size": "HR-KFP-012",
    "workflow-size": "HR-KFP-012",
    "image": "HR-KFP-013",
    "command": "HR-KFP-013",
    "env": "HR-KFP-013",
    "image-digest": "HR-KFP-014",
    "quantity": "HR-KFP-015",
    "accelerator": "HR-KFP-015",
    "request-over-limit": "HR-KFP-015",
    "platform-schema": "HR-KFP-016",
    "platform-label": "HR-KFP-016",
    "platform-value": "HR-KFP-016",
    "mount": "HR-KFP-016",
    "quota": "HR-KFP-017",
}


@dataclass(frozen=True)
class Finding:
    """One thing that Kubeflow would refuse, or run other than it was meant.

    Args:
        rule: key of `RULES`.
        where: place in the two documents, such as `components.comp-trainer.executorLabel`.
        what: what is there and what should be.
        severity: a warning is told and does not stop.
        fix: what to do.
    """

    rule: str
    where: str
    what: str
    severity: Literal["error", "warning"] = "error"
    fix: str = "headrace kubeflow compile TASK -o FILE"

    @property
    def code(self) -> str:
        """The error code of the rule."""
        return RULES[self.rule]

    def __str__(self) -> str:
        """Return the finding on one line."""
        return f"{self.where}: {self.what}"


def grouped(findings: Iterable[Finding]) -> list[str]:
    """Return findings as lines; the same fault in many places is one line that names the first of them."""
    places: dict[tuple[str, str], list[str]] = {}
    for finding in findings:
        places.setdefault((finding.rule, finding.what), []).append(finding.where)
    return [
        f"[{rule}] {found[0]}{f' and {len(found) - 1} more' if len(found) > 1 else ''}: {what}"
        for (rule, what), found in places.items()
    ]


def refuse_errors(findings: Iterable[Finding]) -> list[Finding]:
    """Return the warnings among findings.

    Raises:
        HeadraceError: the code of the first error; all errors stand in `seen`.
    """
    found = list(findings)
    errors = [finding for finding in found if finding.severity == "error"]
    if not errors:
        return found
    raise HeadraceError(
        errors[0].code,
        f"Kubeflow would not run this pipeline: {errors[0].what}",
        seen=grouped(errors),
        expected="two documents that KFP 2.14 to 2.17 accept and run",
        fix=list(dict.fromkeys(error.fix for error in errors)),
    )
