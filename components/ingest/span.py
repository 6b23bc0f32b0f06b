"""Spans: which part of growing data one run reads, as TFX names them in a path.

`{SPAN}` stands for a whole number; `{YYYY}`, `{MM}`, `{DD}` and, beyond TFX, `{HH}` for a time.
Source: tfx/components/example_gen/utils.py (a date's span number is its days since 1970-01-01).
"""

from __future__ import annotations

import re
from datetime import UTC, datetime

from pipeline.errors import HeadraceError

TIME_FIELDS = {"{YYYY}": "%Y", "{MM}": "%m", "{DD}": "%d", "{HH}": "%H"}
COMPACT = ("%Y%m%d", "%Y%m%d%H%M%S")  # the second is how Kubeflow writes [[ScheduledTime]]
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def spanned_path(path: str, span: str) -> str:
    """Return `path` with its placeholders filled in from `span`.

    Raises:
        HeadraceError: HR-DATA-031 when the path has placeholders that the span does not fill.
    """
    if "{SPAN}" in path:
        if not re.fullmatch(r"[0-9]+", span):
            raise _unfilled(path, span, "a whole number")
        path = path.replace("{SPAN}", span)
    fields = [field for field in TIME_FIELDS if field in path]
    if fields:
        time = _time(span)
        if time is None:
            raise _unfilled(path, span, "a time such as 2026-11-30 or 20261130023000")
        for field in fields:
            path = path.replace(field, time.strftime(TIME_FIELDS[field]))
    return path


def span_number(span: str) -> int:
    """Return the span as TFX counts it: the number itself, or the days of a time since 1970-01-01; 0 without a span.

    Raises:
        HeadraceError: HR-DATA-031 for a span that is neither.
    """
    time = _time(span)
    if time is not None:
        return (time - EPOCH).days
    if not re.fullmatch(r"[0-9]*", span):
        raise _unfilled("", span, "a whole number or a time such as 2026-11-30")
    return int(span or 0)


def _time(span: str) -> datetime | None:
    for form in COMPACT:
        if len(span) == len(datetime(2026, 1, 1).strftime(form)) and span.isdigit():
            try:
                return datetime.strptime(span, form).replace(tzinfo=UTC)
            except ValueError:
                return None
    if span.isdigit():
        return None
    try:
        time = datetime.fromisoformat(span)
    except ValueError:
        return None
    return time.astimezone(UTC) if time.tzinfo else time.replace(tzinfo=UTC)


def _unfilled(path: str, span: str, expected: str) -> HeadraceError:
    what = f"data.span {span!r} does not say what to read" if span else "data.path needs a span, data.span is empty"
    return HeadraceError(
        "HR-DATA-031",
        what,
        seen=[f"data.path {path}"] if path else [],
        expected=expected,
        fix=["--set data.span=2026-11-30", "in a schedule:  --param 'data-span=[[ScheduledTime]]'"],
    )
