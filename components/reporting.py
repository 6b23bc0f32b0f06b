"""How a step tells its runner how far it is and what came out. The runner listens; a unit test need not."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass, field

from pipeline.errors import HeadraceError


@dataclass
class Outcome:
    """What a step leaves beside its artifacts.

    Args:
        summary: plain JSON values for the console, the report and `headrace status`.
        stop: the error that stops the run although the step itself has finished (a gate that did not pass).
    """

    summary: dict = field(default_factory=dict)
    stop: HeadraceError | None = None

    def to_dict(self) -> dict:
        """Return the outcome as plain JSON values."""
        return {"summary": self.summary, "stop": self.stop.to_dict() if self.stop else None}

    @classmethod
    def from_dict(cls, values: dict) -> Outcome:
        """Rebuild an outcome that `to_dict` wrote."""
        return cls(values["summary"], HeadraceError.from_dict(values["stop"]) if values["stop"] else None)


@dataclass
class Listener:
    """Receives progress and the outcome of the step that runs, or the error that it raised."""

    on_progress: Callable[[float, str], None] = lambda fraction, note: None
    outcome: Outcome = field(default_factory=Outcome)
    error: HeadraceError | None = None


_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)


@contextlib.contextmanager
def listening(listener: Listener) -> Iterator[Listener]:
    """Deliver what the step reports inside the block to `listener`."""
    token = _listener.set(listener)
    try:
        yield listener
    finally:
        _listener.reset(token)


def progress(fraction: float, note: str = "") -> None:
    """Report the share of the step that is done, 0 to 1, and a short note such as `epoch 2/3  loss 0.512`."""
    if listener := _listener.get():
        listener.on_progress(fraction, note)


def report(summary: dict, stop: HeadraceError | None = None) -> None:
    """Report the outcome of the step."""
    if listener := _listener.get():
        listener.outcome = Outcome(summary, stop)
