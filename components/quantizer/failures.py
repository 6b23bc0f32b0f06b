"""The line of a long error output that says what went wrong."""

from __future__ import annotations

import re

# TensorFlow's log lines, absl's header, and what faulthandler prints after an abort
NOISE = re.compile(
    r"^(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d|[IWEF]\d{4} \d\d:|WARNING: All log messages|INFO:|WARNING:|Fatal Python error"
    r"|Current thread|Thread 0x|Extension modules|File \"|Traceback|\^+$|~*\^+~*$|<unknown>:0: note|.*: note: )"
)
SAYS = re.compile(r"error|failed|unsupported|must be|cannot|not supported|requires", re.IGNORECASE)


def reason(output: str) -> str:
    """Return the last line that names an error, else the last line that is not noise, else the empty string."""
    lines = [line.strip() for line in output.splitlines()]
    lines = [line for line in lines if line and not NOISE.match(line)]
    return next((line for line in reversed(lines) if SAYS.search(line)), lines[-1] if lines else "")
