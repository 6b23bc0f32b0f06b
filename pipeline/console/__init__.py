"""What people see on a terminal, in a pipe and as JSON lines. Imports rich only when a terminal is written to."""

from pipeline.console.describe import describe
from pipeline.console.document import show
from pipeline.console.lines import error_lines
from pipeline.console.view import RunView, make_view

__all__ = ["RunView", "describe", "make_view", "render_error", "show"]


def render_error(error: dict, stream=None) -> None:
    """Print an error (`HeadraceError.to_dict`), by default to standard error."""
    import sys

    show(error_lines(error), stream or sys.stderr)
