"""The task's own Python files: loaded from their folder; an error in them is told by their own line."""

from __future__ import annotations

import ast
import contextlib
import importlib.util
import os
import sys
import traceback
from collections.abc import Callable, Iterator
from types import ModuleType

from pipeline.errors import HeadraceError, bounded


def load(task_dir: str, file: str, function: str) -> Callable:
    """Return `function` of `<task_dir>/<file>`.

    Raises:
        HeadraceError: HR-TASK-001 when the file or function is missing, HR-TASK-002 when the file raises.
    """
    path = os.path.join(task_dir, file)
    check_defines(path, function)
    with own_line(path):
        module = _module(path)
    return getattr(module, function)


def check_defines(path: str, function: str) -> None:
    """Check without running it that a file can be parsed and defines a function.

    Raises:
        HeadraceError: HR-TASK-001, HR-TASK-002.
    """
    if not os.path.isfile(path):
        raise HeadraceError("HR-TASK-001", f"{path} is missing", expected=f"a file that defines {function}()")
    with own_line(path), open(path, "rb") as file:
        tree = ast.parse(file.read(), path)
    if not any(isinstance(node, ast.FunctionDef) and node.name == function for node in tree.body):
        raise HeadraceError("HR-TASK-001", f"{path} does not define {function}()", expected=f"def {function}(...)")


def _module(path: str) -> ModuleType:
    name = f"headrace_task_{os.path.basename(os.path.dirname(path))}_{os.path.basename(path)[:-3]}"
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # Beam's picklers look the module up by name
    spec.loader.exec_module(module)
    return module


@contextlib.contextmanager
def own_line(path: str) -> Iterator[None]:
    """Turn an exception that passed through the file `path` into HR-TASK-002 with that file's line."""
    try:
        yield
    except HeadraceError:
        raise
    except SyntaxError as error:
        raise HeadraceError(
            "HR-TASK-002",
            f"{os.path.basename(path)} cannot be read: {error.msg}",
            seen=[f"{error.filename}:{error.lineno}   {(error.text or '').strip()}"],
            fix=[f"correct {path}"],
        ) from error
    except Exception as error:
        own = [
            f for f in traceback.extract_tb(error.__traceback__) if os.path.abspath(f.filename) == os.path.abspath(path)
        ]
        if not own:
            raise
        raise HeadraceError(
            "HR-TASK-002",
            f"{own[-1].name}() raised {type(error).__name__}: {_last_words(error)}",
            seen=[f"{frame.filename}:{frame.lineno}   {frame.line}" for frame in own[-3:]],
            fix=[f"correct {path}:{own[-1].lineno}; what ran before it is kept and is not run again"],
        ) from error


def _last_words(error: Exception) -> str:
    """Return the message without the tracebacks that TensorFlow's autograph puts in front of it."""
    text = str(error)
    marker = f"{type(error).__name__}: "
    return bounded(text.rsplit(marker, 1)[-1] if marker in text else text)
