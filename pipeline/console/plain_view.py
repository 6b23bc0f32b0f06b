"""The view for pipes and logs: one line per finished node, and a sign of life now and then."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import TextIO

from pipeline.console import closing, figures, lines
from pipeline.console.document import Document, Span, show_plain

CELLS = 100  # what a log viewer and a mail show without wrapping
PROGRESS_EVERY_S = 5.0


class PlainView:
    """Writes plain text; never a cursor movement, never a colour. `clock` returns seconds."""

    def __init__(self, stream: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream, self._clock = stream, clock
        self._lock = threading.Lock()
        self._said = clock()

    def _show(self, document: Document) -> None:
        with self._lock:
            show_plain(document, self._stream)
            self._said = self._clock()

    def header(self, run: dict) -> None:
        """Write the header."""
        self._show(lines.header(run))

    def node_started(self, node_id: str) -> None:
        """Write nothing: the node's line comes when it has finished."""

    def node_progress(self, node_id: str, fraction: float, note: str) -> None:
        """Write a progress line if nothing was written for five seconds."""
        with self._lock:
            due = self._clock() - self._said >= PROGRESS_EVERY_S
        if due:
            name = figures.pad(figures.plain(node_id), lines.NAME_CELLS)
            self._show([["  ", Span(name, "name"), f" {figures.percent(fraction, 0)}  {note}"]])

    def node_finished(self, node: dict) -> None:
        """Write the node's line."""
        self._show([lines.node_line(node, CELLS)])

    def finished(self, run: dict, next_commands: Sequence[str]) -> None:
        """Write the summary."""
        self._show(closing.closing(run, next_commands, CELLS))

    def close(self) -> None:
        """Do nothing: every line is already flushed."""
