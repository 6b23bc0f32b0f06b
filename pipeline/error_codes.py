"""The catalogue of error codes: family, title and explanation. `python -m pipeline.error_codes` writes docs/errors.md."""

from __future__ import annotations

from dataclasses import dataclass

EXIT_CODES = {"user": 2, "data": 3, "system": 4, "transient": 5}


@dataclass(frozen=True)
class Code:
    """One documented error: the family decides the exit code, and whether a retry can help."""

    family: str
    title: str
    help: str


USER, DATA, SYSTEM, TRANSIENT = EXIT_CODES

CODES = {
    # command line and configuration
    "HR-CLI-001": Code(USER, "unknown task", "The name is neither a task in pipeline/tasks nor a folder with a task.yaml. `headrace tasks` lists them."),
    "HR-CLI-002": Code(USER, "unknown node", "`--from`, `--to` and `explain` take a node id of the pipeline."),
    "HR-CLI-003": Code(USER, "no such run", "`headrace runs TASK` lists the runs."),
    "HR-CONFIG-001": Code(USER, "unknown configuration key", "Keys are checked strictly, so that a misspelt one never passes for a default."),
    "HR-CONFIG-002": Code(USER, "wrong type or value", "The value does not have the type or range that the key takes. `headrace config show TASK` prints every key."),
    "HR-CONFIG-003": Code(USER, "task file cannot be read", "task.yaml is missing or is not valid YAML."),
}


def markdown() -> str:
    """Return docs/errors.md."""
    lines = [
        "# Errors",
        "",
        "Every error has a code. Its family decides the exit code and whether a retry can help:",
        "",
        *(f"- {family}: exit {code}" for family, code in EXIT_CODES.items()),
        "",
        "This page is written by `python -m pipeline.error_codes > docs/errors.md`.",
    ]
    for name, code in CODES.items():
        lines += ["", f"## {name}", "", f"**{code.title[0].upper()}{code.title[1:]}** ({code.family}, exit {EXIT_CODES[code.family]}). {code.help}"]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(markdown(), end="")
