"""One line that shows how far a single piece of work is, such as the download of a data set."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO

from pipeline.console.document import is_terminal, terminal_console
from pipeline.console.live_view import LiveView
from pipeline.console.plain_view import PlainView

Progress = Callable[[float, str], None]


@contextmanager
def progress_line(
    name: str, quiet: bool = False, stream: TextIO | None = None, clock: Callable[[], float] = time.monotonic
) -> Iterator[Progress]:
    """Yield a function that takes the share done, 0 to 1, and a note. The line is gone when the work is done.

    On a terminal it is a bar; elsewhere a line at most every five seconds. It goes to standard error by default, so
    that what the command prints can be piped.
    """
    stream = stream or sys.stderr
    if quiet:
        yield lambda fraction, note: None
        return
    view = LiveView(terminal_console(stream)) if is_terminal(stream) else PlainView(stream, clock)
    view.node_started(name)
    try:
        yield lambda fraction, note: view.node_progress(name, fraction, note)
    finally:
        view.close()
