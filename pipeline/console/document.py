"""Text with meaning (lines of styled spans, tables) and the one place that puts it on a stream.

Colours carry nothing that words don't: a pipe, a file and NO_COLOR get the same words.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, TextIO

from pipeline.console.figures import pad, plain, width

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

STYLES = {"": "", "ok": "green", "bad": "bold red", "warn": "yellow", "dim": "dim", "strong": "bold", "name": "cyan"}
GAP = "  "


class Span(NamedTuple):
    """A piece of a line; `style` is a key of STYLES."""

    text: str
    style: str = ""


Line = Sequence[Span | str]


@dataclass
class Table:
    """Rows of cells under a header; `right` names the columns whose figures are right-aligned."""

    columns: Sequence[str]
    rows: list[Sequence[Span | str]] = field(default_factory=list)
    right: Sequence[str] = ()
    indent: int = 2


Document = Iterable["Line | Table"]


def words(line: Line) -> str:
    """Return the text of a line, safe to print."""
    return "".join(plain(span if isinstance(span, str) else span.text) for span in line)


def wrapped(text: str, cells: int) -> list[str]:
    """Return `text` broken at spaces into lines of at most `cells` terminal cells; a longer word keeps its own line."""
    lines = [""]
    for word in text.split(" "):
        if lines[-1] and width(lines[-1]) + 1 + width(word) > cells:
            lines.append(word)
        else:
            lines[-1] = f"{lines[-1]} {word}" if lines[-1] else word
    return lines


def labelled(rows: Iterable[tuple[str, Line]], indent: int = 2, label_cells: int = 10) -> list[Line]:
    """Return lines of label and text in two columns; a label that repeats is written once."""
    lines, previous = [], None
    for label, line in rows:
        shown = "" if label == previous else label
        lines.append([" " * indent, Span(pad(shown, label_cells), "dim"), " ", *line])
        previous = label
    return lines


def table_lines(table: Table) -> list[Line]:
    """Return a table as aligned lines: as wide as its content, no rules, nothing at line ends."""
    rows = [
        [Span(name, "dim") for name in table.columns],
        *([cell if isinstance(cell, Span) else Span(cell) for cell in row] for row in table.rows),
    ]
    rows = [[Span(plain(cell.text), cell.style) for cell in row] for row in rows]
    cells = [max(width(row[i].text) for row in rows) for i in range(len(table.columns))]
    used = [
        i for i in range(len(table.columns)) if any(row[i].text for row in rows[1:])
    ]  # a column that says nothing is left out
    lines = []
    for row in rows:
        line = [" " * table.indent]
        last = max((i for i in used if row[i].text), default=-1)
        for i in used:
            if i > last:
                break
            right = table.columns[i] in table.right
            line.append(Span(pad(row[i].text, 0 if i == last and not right else cells[i], right), row[i].style))
            line.append(GAP if i != last else "")
        lines.append(line)
    return lines


def is_terminal(stream: TextIO) -> bool:
    """Say whether a person watches `stream` on a terminal that can move its cursor and show block characters."""
    encoding = (getattr(stream, "encoding", "") or "").lower().replace("-", "")
    return (
        bool(getattr(stream, "isatty", lambda: False)()) and os.environ.get("TERM", "") != "dumb" and encoding == "utf8"
    )


def terminal_console(stream: TextIO) -> Console:
    """Return a rich console on `stream`; it leaves colours out where NO_COLOR is set."""
    from rich.console import Console

    return Console(file=stream, highlight=False, markup=False, emoji=False)


def styled(line: Line) -> Text:
    """Return a line as rich text; markup in foreign text stays text."""
    from rich.text import Text

    text = Text(overflow="fold", no_wrap=False)
    for span in line:
        text.append(
            plain(span if isinstance(span, str) else span.text),
            style=STYLES["" if isinstance(span, str) else span.style],
        )
    return text


def _rich_table(table: Table):
    """Return a table that folds its longest columns to the width of the terminal."""
    from rich.padding import Padding
    from rich.table import Table as RichTable

    used = [i for i in range(len(table.columns)) if any(words([row[i]]) for row in table.rows)]
    drawn = RichTable(
        box=None, pad_edge=False, padding=(0, len(GAP), 0, 0), header_style=STYLES["dim"], show_edge=False
    )
    for i in used:
        longest = max(width(words([row[i]])) for row in table.rows)
        drawn.add_column(
            styled([table.columns[i]]),
            justify="right" if table.columns[i] in table.right else "left",
            no_wrap=longest <= 16,
            overflow="fold",
        )
    for row in table.rows:
        drawn.add_row(*(styled([row[i]]) for i in used))
    return Padding(drawn, (0, 0, 0, table.indent))


def write(stream: TextIO, text: str) -> None:
    """Write a line to a stream of any encoding; what it cannot encode becomes a question mark."""
    encoding = getattr(stream, "encoding", None) or "utf-8"
    stream.write(text.encode(encoding, "replace").decode(encoding) + "\n")


def show_plain(document: Document, stream: TextIO) -> None:
    """Write a document as plain aligned text: no colour, no wrapping, so that it can be searched and cut."""
    for part in document:
        for line in table_lines(part) if isinstance(part, Table) else [part]:
            write(stream, words(line).rstrip())
    stream.flush()


def show_rich(document: Document, console: Console) -> None:
    """Write a document on a terminal. Lines are left to the terminal to wrap, so that a copied command stays whole."""
    for part in document:
        if isinstance(part, Table):
            console.print(_rich_table(part))
        else:
            console.print(styled(part), soft_wrap=True)


def show(document: Document, stream: TextIO) -> None:
    """Write a document in the way that suits `stream`."""
    if is_terminal(stream):
        show_rich(document, terminal_console(stream))
    else:
        show_plain(document, stream)
