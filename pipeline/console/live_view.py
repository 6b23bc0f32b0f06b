"""The view for a terminal: finished nodes scroll up as lines, running ones stay below with a bar and the time."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pipeline.console import closing, figures, lines
from pipeline.console.document import Document, Line, Span, show_rich, styled

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult

BAR_CELLS = 10
MAX_CELLS = 100  # wider lines tear the seconds away from the name
REFRESH_HZ = 8
HEAD = 4  # where `lines.node_line` has the description


@dataclass
class _Running:
    """A node that runs: when it began (seconds of the clock), the share done (None: it has not said) and its note."""

    started: float
    fraction: float | None = None
    note: str = ""

    def time_left(self, now: float) -> str:
        """Return `3 s left`; nothing while it would be a guess."""
        spent = now - self.started
        if self.fraction is None or not 0.05 <= self.fraction < 1 or spent < 2:
            return ""
        return f"{figures.seconds(max(1, round(spent * (1 - self.fraction) / self.fraction))).replace('.0', '')} left"


def bar(fraction: float) -> str:
    """Return a bar of ten cells and a space; NaN and values outside 0 to 1 are clipped."""
    full = round(BAR_CELLS * min(1.0, max(0.0, fraction))) if fraction == fraction else 0
    return "█" * full + "░" * (BAR_CELLS - full) + " "


class LiveView:
    """Draws on a rich console. The running nodes are redrawn a few times a second by rich's own thread."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._lock = threading.RLock()
        self._running: dict[str, _Running] = {}
        self._live = None

    @property
    def _cells(self) -> int:
        return min(MAX_CELLS, self._console.width)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Draw the running nodes, one line each."""
        with self._lock:
            running = list(self._running.items())
        for node_id, state in running:
            text = styled(self._running_line(node_id, state, time.monotonic()))
            text.truncate(console.width, overflow="ellipsis")
            yield text

    def _running_line(self, node_id: str, state: _Running, now: float) -> Line:
        left = bar(state.fraction) if state.fraction is not None else ""
        room = self._cells - 2 - lines.NAME_CELLS - 1 - figures.width(left) - lines.TIME_CELLS
        remaining = state.time_left(now)
        note = figures.cut(figures.plain(state.note) or ("" if left else "…"), room - figures.width(remaining) - 2)
        text = figures.pad(figures.joined([note, remaining], "  "), room)
        spent = figures.pad(figures.seconds(now - state.started), lines.TIME_CELLS, right=True)
        return [
            "  ",
            Span(figures.pad(figures.cut(figures.plain(node_id), lines.NAME_CELLS), lines.NAME_CELLS), "name"),
            " ",
            left,
            text,
            Span(spent, "dim"),
        ]

    def _show(self, document: Document) -> None:
        show_rich(document, self._console)

    def header(self, run: dict) -> None:
        """Print the header."""
        self._show(lines.header(run))

    def node_started(self, node_id: str) -> None:
        """Add a node to the running ones."""
        from rich.live import Live

        with self._lock:
            self._running[node_id] = _Running(time.monotonic())
            if self._live is None:
                self._live = Live(self, console=self._console, refresh_per_second=REFRESH_HZ, transient=True)
                self._live.start()

    def node_progress(self, node_id: str, fraction: float, note: str) -> None:
        """Remember how far the node is; the next redraw shows it."""
        with self._lock:
            if state := self._running.get(node_id):
                state.fraction, state.note = fraction, note

    def node_finished(self, node: dict) -> None:
        """Print the node's line above the running ones."""
        with self._lock:
            state = self._running.pop(node.get("id", ""), None)
            done = node.get("status") == "ran" and state is not None and state.fraction is not None
        self._show([_one_line(lines.node_line(node, self._cells, bar(1.0) if done else ""), self._cells)])

    def finished(self, run: dict, next_commands: Sequence[str]) -> None:
        """Print the summary below the nodes."""
        self.close()
        self._show(closing.closing(run, next_commands, self._cells))

    def close(self) -> None:
        """Stop redrawing and give the cursor back."""
        with self._lock:
            live, self._live = self._live, None
        if live is not None:
            live.stop()


def _one_line(line: Line, cells: int) -> Line:
    """Return a node's line cut so that its seconds end at `cells`: the description gives way, its verdict last."""
    spans = [span if isinstance(span, Span) else Span(span) for span in line]
    over = sum(figures.width(figures.plain(span.text)) for span in spans) - cells
    if over > 0:
        head = spans[HEAD]
        room = max(2, figures.width(head.text) - over)
        spans[HEAD] = Span(figures.pad(figures.cut(head.text.rstrip(" ·"), room - 1), room), head.style)
    return spans
