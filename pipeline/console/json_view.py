"""The view for machines: one JSON object per event and line."""

from __future__ import annotations

import json
import math
import threading
import time
from collections.abc import Callable, Sequence
from typing import TextIO

PROGRESS_EVERY_S = 1.0  # a training loop reports each step; a reader needs a figure a second


def json_safe(thing: object) -> object:
    """Return `thing` as strict JSON values: NaN and infinity become null, what is not JSON becomes its text."""
    if isinstance(thing, dict):
        return {str(key): json_safe(item) for key, item in thing.items()}
    if isinstance(thing, list | tuple):
        return [json_safe(item) for item in thing]
    if isinstance(thing, float):
        return thing if math.isfinite(thing) else None
    return thing if thing is None or isinstance(thing, str | int | bool) else str(thing)


def write_json(stream: TextIO, thing: object) -> None:
    """Write one JSON value on a line of its own, in ASCII, so that any encoding carries it."""
    stream.write(json.dumps(json_safe(thing), allow_nan=False) + "\n")
    stream.flush()


class JsonView:
    """Writes `{"event": ..., ...}` lines; `clock` returns seconds, for the spacing of progress events."""

    def __init__(self, stream: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream, self._clock = stream, clock
        self._lock = threading.Lock()
        self._said: dict[str, float] = {}

    def _emit(self, event: str, **values: object) -> None:
        with self._lock:
            write_json(self._stream, {"event": event, "time": time.time(), **values})

    def header(self, run: dict) -> None:
        """Write the run record without its nodes."""
        self._emit("header", run={key: item for key, item in run.items() if key != "nodes"})

    def node_started(self, node_id: str) -> None:
        """Write that a node runs."""
        self._emit("node_started", node=node_id)

    def node_progress(self, node_id: str, fraction: float, note: str) -> None:
        """Write the progress of a node, at most once a second."""
        now = self._clock()
        if now - self._said.get(node_id, -math.inf) >= PROGRESS_EVERY_S:
            self._said[node_id] = now
            self._emit("node_progress", node=node_id, fraction=fraction, note=note)

    def node_finished(self, node: dict) -> None:
        """Write the node's entry of the run record."""
        self._emit(
            "node_finished",
            node=node.get("id"),
            **{key: item for key, item in node.items() if key not in ("id", "event", "time")},
        )

    def finished(self, run: dict, next_commands: Sequence[str]) -> None:
        """Write the whole run record and the next commands."""
        self._emit("finished", run=run, next=list(next_commands))

    def close(self) -> None:
        """Do nothing: every line is already flushed."""
