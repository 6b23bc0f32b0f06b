"""Content keys: what a node's outputs depend on, found without importing TensorFlow or TFX.

A key is the digest of its parts: the code that the node runs, the task's files, its slice of the configuration, the
digests of its inputs and the stack. Paths, times and Beam flags are in none of them.
"""

from __future__ import annotations

import ast
import functools
import re
from pathlib import Path

from components.digest import file_digest, value_digest
from components.ingest.span import spanned_path
from pipeline.nodes import Node

ROOT = Path(__file__).resolve().parents[1]
CODE_PREFIXES = ("components", "pipeline.tasks")
MODULE_NAME = re.compile(r"components(\.\w+)+")


ABSENT = "none"  # digest of an input that is not there, such as the baseline of a first model


def parts(node: Node, values: dict, task_dir: str, inputs: dict[str, str], stack: dict[str, str]) -> dict:
    """Return the parts of a node's key as plain values.

    Args:
        values: the configuration, or the part of it that the node is given, as nested plain values.
        inputs: input names -> content digests.
    """
    task_files = [Path(task_dir) / name for name in node.task_files]
    return {
        "code": code_digest(node.module),
        "task": value_digest({path.name: _closure_digest(path) for path in task_files}) if task_files else "",
        "config": {key: _lookup(values, key) for key in node.config},
        "inputs": inputs,
        "stack": {name: stack[name] for name in ("tfx", "tensorflow")},
    }


def key(node_parts: dict) -> str:
    """Return the content key of a node's parts."""
    return value_digest(node_parts)[:24]


@functools.cache
def code_digest(module: str) -> str:
    """Return the digest of a module and of every `components` module that it imports, directly or not."""
    return _closure_digest(_module_path(module))


@functools.cache
def closure(path: Path) -> tuple[Path, ...]:
    """Return `path` and the project files that it imports or names as a module to run, sorted."""
    seen: set[Path] = set()
    waiting = [path]
    while waiting:
        current = waiting.pop()
        if current not in seen:
            seen.add(current)
            waiting += imported_files(current)
    return tuple(sorted(seen))


@functools.cache
def imported_files(path: Path) -> tuple[Path, ...]:
    """Return the project files that one file imports anywhere in it, or names in a string (`python -m`)."""
    try:
        tree = ast.parse(path.read_bytes())
    except (SyntaxError, OSError):
        return ()  # the node itself will say what is wrong with it
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module)
            names.update(f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and MODULE_NAME.fullmatch(node.value):
            names.add(node.value)
    found = (_module_path(name) for name in names if name.startswith(CODE_PREFIXES))
    neighbours = (path.parent / f"{name}.py" for name in names if "." not in name)
    return tuple(sorted({p for p in found if p} | {p for p in neighbours if p.is_file()}))


def outside_digests(node: Node, values: dict, remembered: dict[str, list]) -> dict[str, str]:
    """Return the digests of what a node reads that no other node made: the schema file, the source data.

    Args:
        values: the configuration as nested plain values.
        remembered: as in `source_digest`.
    """
    if node.id == "ImportSchemaGen":
        path = Path(values["schema_path"])
        return {"file": file_digest(str(path)) if path.is_file() else ABSENT}
    if node.id == "ExampleGen":
        data = Path(spanned_path(values["data"]["path"], values["data"]["span"]))
        return {"data": source_digest(str(data), remembered) if data.exists() else ABSENT}
    return {}


def source_digest(path: str, remembered: dict[str, list]) -> str:
    """Return the content digest of the source data; files whose size and time are as remembered are not read again.

    Args:
        path: a file or a folder.
        remembered: path -> [size, modification time in ns, digest], updated in place.
    """
    root = Path(path)
    files = sorted(p for p in root.rglob("*") if p.is_file()) if root.is_dir() else [root]
    lines = []
    for file in files:
        stat = file.stat()
        mark = [stat.st_size, stat.st_mtime_ns]
        known = remembered.get(str(file))
        if known is None or known[:2] != mark:
            known = remembered[str(file)] = [*mark, file_digest(str(file))]
        lines.append([str(file.relative_to(root)), known[2]])
    return value_digest(lines)


def _closure_digest(path: Path | None) -> str:
    files = closure(path) if path else ()
    return value_digest([[_shown(file), file_digest(str(file))] for file in files])


def _shown(file: Path) -> str:
    return str(file.relative_to(ROOT)) if file.is_relative_to(ROOT) else file.name


@functools.cache
def _module_path(module: str) -> Path | None:
    base = ROOT.joinpath(*module.split("."))
    for candidate in (base.with_suffix(".py"), base / "__init__.py"):
        if candidate.is_file():
            return candidate
    return None


def _lookup(values: dict, dotted: str):
    for part in dotted.split("."):
        values = values[part]
    return values
