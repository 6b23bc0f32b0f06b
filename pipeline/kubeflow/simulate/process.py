"""One process in place of a pod: its output goes to a file, its life is bounded, and nothing of it stays."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from components import confine

POLL_S = 0.02
CHUNK = 1 << 16  # bytes of output that are held at once, and the longest line
GRACE_WHEN_STOPPED_S = 5.0  # for a step that is running when the simulation is interrupted
KILLED = 128  # plus the signal: the exit code that Kubernetes shows


@dataclass(frozen=True)
class Command:
    """What to run.

    Args:
        words: the command line.
        cwd: its working folder.
        env: all its variables.
        log: file for its output.
        writable: folders that it may write to; empty leaves it unconfined.
        deadline_s: when to end it; None for never.
        grace_s: how long it may live after SIGTERM.
        kill: after how many seconds to send which signal.
    """

    words: Sequence[str]
    cwd: Path
    env: Mapping[str, str]
    log: Path
    writable: Sequence[Path]
    deadline_s: float | None
    grace_s: float
    kill: tuple[float, int] | None


@dataclass(frozen=True)
class Ended:
    """How a process ended; `killed` says who ended it, empty when it did so itself."""

    exit_code: int
    seconds: float
    killed: str = ""


async def run_process(command: Command, on_line: Callable[[str], None]) -> Ended:
    """Run a command to its end and hand on its lines; cancelled, it ends the process first."""
    started = time.monotonic()
    with open(command.log, "wb") as log:
        process = subprocess.Popen(
            _confined(command),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            cwd=command.cwd,
            env=dict(command.env),
            start_new_session=True,  # a group of its own, so that all of it can be ended
        )
    lines = _Lines(command.log, on_line)
    killed, kill, end_at = "", command.kill, None
    try:
        while process.poll() is None:
            lines.read()
            elapsed = time.monotonic() - started
            if kill and elapsed >= kill[0]:
                killed = f"killed by {signal.Signals(kill[1]).name}"
                _signal(process, kill[1])
                kill = None
            if command.deadline_s is not None and end_at is None and elapsed >= command.deadline_s:
                killed = f"ran longer than {command.deadline_s:g} s"
                _signal(process, signal.SIGTERM)
                end_at = elapsed + command.grace_s
            if end_at is not None and elapsed >= end_at:
                _signal(process, signal.SIGKILL)
            await asyncio.sleep(POLL_S)
    except BaseException:
        _signal(process, signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(min(GRACE_WHEN_STOPPED_S, command.grace_s))
        raise
    finally:
        _signal(process, signal.SIGKILL)  # what it started dies with it, as in a container
        process.wait()
        lines.close()
    code = process.returncode
    return Ended(code if code >= 0 else KILLED - code, time.monotonic() - started, killed)


def _confined(command: Command) -> list[str]:
    """Return the command line that gives up writing elsewhere and dies with this process."""
    writable = [part for folder in command.writable for part in ("--writable", str(folder))]
    return [sys.executable, "-I", "-S", confine.__file__, *writable, "--", *command.words]


def _signal(process: subprocess.Popen, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)


class _Lines:
    """Hands on the lines of a growing file and holds at most `CHUNK` bytes of it."""

    def __init__(self, path: Path, on_line: Callable[[str], None]) -> None:
        self._file, self._on_line, self._rest = open(path, "rb"), on_line, b""  # noqa: SIM115 - close() closes it

    def read(self) -> None:
        """Hand on what is there."""
        while chunk := self._file.read(CHUNK):
            *lines, self._rest = (self._rest + chunk).split(b"\n")
            if len(self._rest) > CHUNK:
                lines, self._rest = [*lines, self._rest], b""
            for line in lines:
                self._on_line(line.decode("utf-8", "replace").rstrip("\r"))

    def close(self) -> None:
        """Hand on the rest."""
        self.read()
        if self._rest:
            self._on_line(self._rest.decode("utf-8", "replace"))
        self._file.close()
