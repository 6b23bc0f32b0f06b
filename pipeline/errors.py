"""Coded errors: what was seen, what was expected, what to do, and the command that resumes.

Every code stands in a catalogue module of its area (`pipeline/error_codes.py`); docs/errors.md is generated from it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from pipeline.error_codes import CODES, EXIT_CODES

MAX_SEEN = 5  # a person reads five examples; more hide the fix
MAX_CHARS = 400  # one line of evidence, never a dump


def bounded(text: object, limit: int = MAX_CHARS) -> str:
    """Return `text` on one line, cut to `limit` characters."""
    line = " ".join(str(text).split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


@dataclass
class HeadraceError(Exception):
    """An error a person can act on.

    Args:
        code: key of `pipeline.error_codes.CODES`, such as `HR-DATA-003`.
        what: one sentence that names the thing at fault.
        seen: evidence, at most five lines are kept.
        expected: what would have been right.
        fix: what to do, one option a line; commands are written out.
    """

    code: str
    what: str
    seen: Sequence[str] = ()
    expected: str = ""
    fix: Sequence[str] = ()
    more_seen: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        if self.code not in CODES:
            raise AssertionError(f"unknown error code {self.code}: add it to pipeline/error_codes.py")
        self.what = bounded(self.what)
        self.more_seen = max(0, len(self.seen) - MAX_SEEN)
        self.seen = [bounded(line) for line in list(self.seen)[:MAX_SEEN]]
        self.fix = [self.fix] if isinstance(self.fix, str) else list(self.fix)
        super().__init__(f"{self.code}  {self.what}")

    __hash__ = Exception.__hash__

    def __reduce__(self):
        return (HeadraceError, (self.code, self.what, self.seen, self.expected, self.fix))

    @property
    def family(self) -> str:
        """`user`, `data`, `system` or `transient`."""
        return CODES[self.code].family

    @property
    def exit_code(self) -> int:
        """The process exit code of the family."""
        return EXIT_CODES[self.family]

    def to_dict(self) -> dict:
        """Return the error as plain JSON values."""
        return {
            "code": self.code,
            "family": self.family,
            "what": self.what,
            "seen": list(self.seen),
            "more_seen": self.more_seen,
            "expected": self.expected,
            "fix": list(self.fix),
        }

    @classmethod
    def from_dict(cls, values: dict) -> HeadraceError:
        """Rebuild an error that `to_dict` wrote."""
        error = cls(values["code"], values["what"], values["seen"], values["expected"], values["fix"])
        error.more_seen = values.get("more_seen", 0)
        return error

    def __str__(self) -> str:
        """Return the message as a person reads it, one idea a line."""
        lines = [f"{self.code}  {self.what}"]
        rows = [("seen", line) for line in self.seen]
        if self.more_seen:
            rows.append(("", f"and {self.more_seen} more"))
        if self.expected:
            rows.append(("expected", self.expected))
        rows += [("fix", line) for line in self.fix]
        rows.append(("details", f"docs/errors.md#{self.code.lower()}"))
        previous = ""
        for label, line in rows:
            lines.append(f"  {label if label != previous else '':<10} {line}")
            previous = label or previous
        return "\n".join(lines)
