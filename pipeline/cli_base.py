"""What every command shares: options, coded errors, output for people or as JSON. Imports nothing heavy."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable

import click

from pipeline.config.load import Layers
from pipeline.errors import HeadraceError

INTERRUPTED = 130  # the shell's own code for Ctrl-C


class Group(click.Group):
    """Commands in the order in which a newcomer meets them; a misspelt one gets a suggestion."""

    def list_commands(self, context: click.Context) -> list[str]:
        """Return the commands as they were declared."""
        return list(self.commands)

    def resolve_command(self, context: click.Context, args: list[str]):
        """Suggest the nearest command."""
        import difflib

        try:
            return super().resolve_command(context, args)
        except click.UsageError as error:
            close = difflib.get_close_matches(args[0], self.commands, 1)
            if close and "Did you mean" not in error.message:
                error.message += f" Did you mean {close[0]!r}?"
            raise


def coded(command: Callable) -> Callable:
    """Print a HeadraceError as a person reads it and exit by its family."""

    @functools.wraps(command)
    def wrapped(*args, **kwargs):
        try:
            return command(*args, **kwargs)
        except HeadraceError as error:
            _fail(error.to_dict(), kwargs.get("as_json", False))
        except KeyboardInterrupt:
            click.echo("interrupted", err=True)
            sys.exit(INTERRUPTED)
        except BrokenPipeError:
            sys.exit(0)

    return wrapped


def _fail(error: dict, as_json: bool) -> None:
    from pipeline.console import render_error
    from pipeline.error_codes import EXIT_CODES

    if as_json:
        print_json({"error": error})
    else:
        render_error(error)
    sys.exit(EXIT_CODES[error["family"]])


json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON for machines.")
task_argument = click.argument("task")


def layer_options(command: Callable) -> Callable:
    """Add `--env` and `--set`; the command gets them as `layers`."""

    @click.option(
        "--env",
        "environment",
        metavar="NAME",
        help="Environment below the task: environments/NAME.yaml, one that comes with headrace, or a path.",
    )
    @click.option(
        "--set",
        "overrides",
        multiple=True,
        metavar="KEY=VALUE",
        help="Override one configuration key, such as train.epochs=3. Repeatable.",
    )
    @functools.wraps(command)
    def with_layers(*args, overrides: tuple[str, ...], environment: str | None, **kwargs):
        return command(*args, layers=Layers(overrides, environment), **kwargs)

    return with_layers


def prepare() -> None:
    """Set what TensorFlow reads when it is imported."""
    from pipeline import environment

    environment.prepare()


def show_document(document, values, as_json: bool) -> None:
    """Print a document for people, or its values as JSON."""
    from pipeline.console import show

    print_json(values) if as_json else show(document, sys.stdout)


def print_json(values) -> None:
    """Print values as JSON."""
    import json

    from pipeline.console.json_view import json_safe

    click.echo(json.dumps(json_safe(values), indent=1, ensure_ascii=False))
