"""How `headrace run` shows a run while it runs: live on a terminal, plain lines when piped, JSON lines for machines."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Literal, Protocol, TextIO

from pipeline.console.document import is_terminal, terminal_console

Mode = Literal["auto", "json"]


class RunView(Protocol):
    """Takes the events of one run, from any thread."""

    def header(self, run: dict) -> None:
        """Show what is about to run; `run` is the run record, before any node."""

    def node_started(self, node_id: str) -> None:
        """Show that a node runs."""

    def node_progress(self, node_id: str, fraction: float, note: str) -> None:
        """Show how far a node is, 0 to 1, and its note."""

    def node_finished(self, node: dict) -> None:
        """Show what a node did; `node` is its entry in the run record."""

    def finished(self, run: dict, next_commands: Sequence[str]) -> None:
        """Show what the run came to and what to type next."""

    def close(self) -> None:
        """Leave the stream usable; safe to call twice, and after an exception."""


def make_view(mode: Mode = "auto", stream: TextIO | None = None) -> RunView:
    """Return the view that suits the stream (default: standard output); `json` gives JSON lines on any."""
    stream = stream or sys.stdout
    if mode == "json":
        from pipeline.console.json_view import JsonView

        return JsonView(stream)
    if is_terminal(stream):
        from pipeline.console.live_view import LiveView

        return LiveView(terminal_console(stream))
    from pipeline.console.plain_view import PlainView

    return PlainView(stream)
