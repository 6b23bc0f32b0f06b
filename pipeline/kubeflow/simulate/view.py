"""What a person sees of a simulation: one line a step, and the end of the log of a step that failed."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from pathlib import Path

from pipeline.kubeflow.simulate.model import FAILED, SUCCEEDED, Event, Result

NAME_CELLS = 28
LAST_LINES = 20
MARKS = {"SUCCEEDED": "ok", "FAILED": "failed", "SKIPPED": "skipped", "OMITTED": "omitted"}


class View:
    """Writes lines through `write` while a run goes on; holds the last lines of each running step only."""

    def __init__(self, write: Callable[[str], None]) -> None:
        self._write = write
        self._last: dict[str, deque[str]] = {}

    def on_event(self, event: Event) -> None:
        """Take an event of `simulate`."""
        if event.kind == "started":
            self._last[event.step] = deque(maxlen=LAST_LINES)
        elif event.kind == "line":
            self._last[event.step].append(event.text)
        elif event.kind == "retried":
            self._write(f"  {event.step:<{NAME_CELLS}} attempt {event.attempt} failed: {event.text}; trying again")
        else:
            self._finished(event)

    def _finished(self, event: Event) -> None:
        lines = self._last.pop(event.step, ())
        attempts = "" if event.exit_code is None else f"{event.attempt + 1} attempt{'s' * (event.attempt > 0)}"
        seconds = "" if event.exit_code is None else f"{event.seconds:.1f} s"
        text = event.text if event.state != SUCCEEDED else ""
        line = f"  {event.step:<{NAME_CELLS}} {MARKS[event.state]:<8} {seconds:>9}  {attempts:<11} {text}"
        self._write(line.rstrip())
        if event.state == FAILED:
            for last in lines:
                self._write(f"    | {last}")


def closing(result: Result, work_dir: Path) -> Iterable[str]:
    """Return the last lines: how the run ended, what to know, and where everything is."""
    yield f"{result.state}  run {result.run_id}"
    yield from (f"  note       {note}" for note in result.notes)
    for step in result.steps.values():
        if step.state == FAILED and step.attempts:
            yield f"  log        {step.attempts[-1].log}"
    yield f"  artifacts  {work_dir / 'store'}"
