"""The lines around a run: its header, a finished node, an error."""

from __future__ import annotations

from pipeline import __version__
from pipeline.console import figures, record
from pipeline.console.describe import describe
from pipeline.console.document import Line, Span, labelled
from pipeline.errors import MAX_SEEN

NAME_CELLS = 18  # LatestBlessedModel, the longest node id
TIME_CELLS = 9
VERDICTS = {"BLESSED": "ok", "PASSED": "ok", "ok": "ok", "NOT BLESSED": "bad", "FAILED": "bad"}


def header(run: dict) -> list[Line]:
    """Return who runs, on what, and which data: the two lines above the nodes."""
    devices = str(run.get("devices") or "")
    tool = figures.joined([f"headrace {__version__}", record.stack_text(run), devices])
    rows = figures.counted(run["rows"], "row") if run.get("rows") else ""
    about = [
        f" · {part}"
        for part in (f"run {run['run_id']}" if run.get("run_id") else "", rows, record.split_text(run))
        if part
    ]
    return [[tool], [Span(str(run.get("task", "")), "strong"), *about], []]


def verdict_spans(text: str) -> list[Span]:
    """Return a line with its verdict, the last part, coloured."""
    head, dot, last = text.rpartition(" · ")
    style = next((style for word, style in VERDICTS.items() if last.startswith(word)), "")
    return [Span(head + dot), Span(last, style)] if style else [Span(text)]


def node_line(node: dict, cells: int, bar: str = "") -> Line:
    """Return a node as one line of `cells` terminal cells at least: name, bar, what it did, seconds.

    A longer description pushes the seconds out: piped lines are never cut. On a terminal the caller cuts it.
    """
    node = record.settled(node)
    status = node.get("status", "")
    right, style = {
        "cached": ("cached", "dim"),
        "failed": ("FAILED", "bad"),
        "stopped": ("STOPPED", "bad"),
        "interrupted": ("stopped", "warn"),
        "skipped": ("not run", "dim"),
        "pending": ("not run", "dim"),
    }.get(status, (figures.seconds(node.get("elapsed_s")), ""))
    text = figures.plain(describe(node))
    room = cells - 2 - NAME_CELLS - 1 - figures.width(bar) - TIME_CELLS
    name = figures.pad(figures.plain(node.get("id", "")), NAME_CELLS)
    return [
        "  ",
        Span(name, "name"),
        " ",
        bar,
        *verdict_spans(text),
        " " * max(0, room - figures.width(text)),
        Span(figures.pad(right, TIME_CELLS, True), style),
    ]


def error_lines(error: dict) -> list[Line]:
    """Return an error (`HeadraceError.to_dict`) as a person reads it: what was seen, what was expected, what to do."""
    code = str(error.get("code", ""))
    rows: list[tuple[str, Line]] = [("seen", [str(line)]) for line in list(error.get("seen") or [])[:MAX_SEEN]]
    if error.get("more_seen"):
        rows.append(("seen", [f"and {figures.count(error['more_seen'])} more"]))
    if error.get("expected"):
        rows.append(("expected", [str(error["expected"])]))
    rows += [("fix", [Span(str(line), "strong")]) for line in error.get("fix") or []]
    if code:
        rows.append(("details", [f"docs/errors.md#{code.lower()}"]))
    return [
        ["  ", Span(code, "bad"), "  " if code else "", Span(str(error.get("what", "")), "strong")],
        *labelled(rows, indent=4),
    ]
