"""Find a task, layer its configuration and say where each value came from."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from pipeline.config.model import TaskConfig
from pipeline.errors import HeadraceError, bounded

PACKAGE = Path(__file__).resolve().parent.parent
TASKS = PACKAGE / "tasks"
SCHEMAS = PACKAGE.parent / "schemas"
ENVIRONMENTS = PACKAGE / "config" / "environments"
TASK_FILE = "task.yaml"


@dataclass(frozen=True)
class Layers:
    """What a command adds to task.yaml: an environment below it, `key=value` overrides above it."""

    overrides: tuple[str, ...] = ()
    environment: str | None = None


@dataclass(frozen=True)
class LoadedTask:
    """A task with its configuration; `sources` maps a dotted key to `default`, a file's name or `--set`."""

    config: TaskConfig
    sources: Mapping[str, str]
    task_dir: str
    argument: str


def task_names() -> list[str]:
    """Return the names of the tasks that come with headrace."""
    return sorted(path.parent.name for path in TASKS.glob(f"*/{TASK_FILE}"))


def find_task(task: str) -> Path:
    """Return the folder of a task, given its name or its folder.

    Raises:
        HeadraceError: HR-CLI-001.
    """
    for folder in (TASKS / task, Path(task)):
        if (folder / TASK_FILE).is_file():
            return folder.resolve()
    close = difflib.get_close_matches(task, task_names(), 1)
    raise HeadraceError(
        "HR-CLI-001",
        f"there is no task {task!r}" + (f"; did you mean {close[0]!r}?" if close else ""),
        seen=[f"looked in pipeline/tasks/{task} and in the folder {task}"],
        expected="one of " + ", ".join(task_names()) + f", or a folder with a {TASK_FILE}",
        fix=["headrace tasks   lists them", "docs/guide.md shows how to write one's own"],
    )


def find_environment(name: str) -> Path:
    """Return the file of an environment: `environments/NAME.yaml` here, one that comes with headrace, or a path.

    Raises:
        HeadraceError: HR-CONFIG-004.
    """
    own = Path("environments")
    for path in (own / f"{name}.yaml", ENVIRONMENTS / f"{name}.yaml", Path(name)):
        if path.is_file():
            return path
    known = sorted({path.stem for folder in (own, ENVIRONMENTS) for path in folder.glob("*.yaml")})
    close = difflib.get_close_matches(name, known, 1)
    raise HeadraceError(
        "HR-CONFIG-004",
        f"there is no environment {name!r}" + (f"; did you mean {close[0]!r}?" if close else ""),
        seen=[f"looked for environments/{name}.yaml here and among those that come with headrace"],
        expected="one of " + ", ".join(known) + ", or the path of a YAML file",
        fix=["docs/kubernetes.md shows how to write one's own"],
    )


def load_task(task: str, layers: Layers = Layers()) -> LoadedTask:
    """Return a task's configuration: defaults, then the environment, then task.yaml, then overrides.

    Raises:
        HeadraceError: HR-CLI-001, HR-CONFIG-001 unknown key, HR-CONFIG-002 wrong value, HR-CONFIG-003 unreadable file,
            HR-CONFIG-004 unknown environment.
    """
    folder = find_task(task)
    values = _read_yaml(folder / TASK_FILE)
    sources = {key: TASK_FILE for key, _ in flatten(values)}
    if layers.environment:
        path = find_environment(layers.environment)
        below = _read_yaml(path)
        sources = {key: path.name for key, _ in flatten(below)} | sources
        values = _merged(below, values)
    for override in layers.overrides:
        key, value = _parse_override(override)
        _set(values, key, value)
        leaves = [f"{key}.{leaf}" for leaf, _ in flatten(value)] if isinstance(value, dict) else [key]
        sources.update(dict.fromkeys(leaves, "--set"))
    try:
        config = TaskConfig(**values)
    except ValidationError as error:
        raise _explain(error, values, sources) from None
    schema = config.schema_path or str(_schema_path(folder, config.name))
    config = config.model_copy(update={"schema_path": schema})
    complete = {key: sources.get(key) or _parent_source(key, sources) for key, _ in flatten(config.model_dump())}
    return LoadedTask(config, complete, str(folder), task)


def flatten(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield dotted keys with their values, in order."""
    for key, value in values.items():
        if isinstance(value, Mapping) and value:
            yield from flatten(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def _merged(below: dict, above: dict) -> dict:
    """Return `above` over `below`, section by section."""
    found = dict(below)
    for key, value in above.items():
        inner = found.get(key)
        found[key] = _merged(inner, value) if isinstance(inner, dict) and isinstance(value, dict) else value
    return found


def _schema_path(folder: Path, name: str) -> Path:
    if folder.parent == TASKS:
        return SCHEMAS / name / "schema.pbtxt"
    own = folder / "schema.pbtxt"
    return own if own.exists() else Path("schemas") / name / "schema.pbtxt"


def _parent_source(key: str, sources: Mapping[str, str]) -> str:
    while "." in key:
        key = key.rpartition(".")[0]
        if key in sources:
            return sources[key]
    return "default"


def _read_yaml(path: Path) -> dict:
    import yaml

    try:
        values = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError, OSError) as error:
        raise HeadraceError(
            "HR-CONFIG-003", f"{path} cannot be read", seen=[bounded(error)], fix=[f"correct {path}"]
        ) from None
    if not isinstance(values, dict):
        raise HeadraceError("HR-CONFIG-003", f"{path} holds no keys", expected="a mapping of configuration keys")
    return values


def _parse_override(override: str) -> tuple[str, Any]:
    import yaml

    key, equals, text = override.partition("=")
    if not equals or not key.strip():
        raise HeadraceError("HR-CONFIG-002", f"--set {override!r} is not key=value", fix=["--set train.epochs=3"])
    try:
        return key.strip(), yaml.safe_load(text)
    except yaml.YAMLError:
        return key.strip(), text


def _set(values: dict, key: str, value: Any) -> None:
    *sections, last = key.split(".")
    for section in sections:
        inner = values.get(section)
        values[section] = dict(inner) if isinstance(inner, dict) else {}
        values = values[section]
    values[last] = value


def _explain(error: ValidationError, values: dict, sources: Mapping[str, str]) -> HeadraceError:
    """Return the first fault of a validation in headrace's words."""
    faults = error.errors(include_url=False)
    unknown = [fault for fault in faults if fault["type"] == "extra_forbidden"]
    first = (unknown or faults)[0]
    key = ".".join(str(part) for part in first["loc"] if part != "[key]")
    source = sources.get(key) or _parent_source(key, sources)
    where = TASK_FILE if source == "default" else source
    if unknown:
        known = _known_keys()
        close = difflib.get_close_matches(key, known, 1, 0.5) or [
            k for k in known if k.rpartition(".")[2] == key.rpartition(".")[2]
        ]
        section = [k for k in known if k.rpartition(".")[0] == key.rpartition(".")[0]]
        return HeadraceError(
            "HR-CONFIG-001",
            f"unknown key {key!r}" + (f"; did you mean {close[0]!r}?" if close else ""),
            seen=[f"{key} in {where}"],
            expected="one of " + ", ".join(section or known[:12]),
            fix=["headrace config show TASK   prints every key with its value and source"],
        )
    message = first["msg"].removeprefix("Value error, ")
    return HeadraceError(
        "HR-CONFIG-002",
        f"{key or 'the configuration'}: {message[:1].lower() + message[1:]}",
        seen=[f"{key}: {_short(fault.get('input'))}   ({where})" for fault in (first,)]
        + [f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}" for fault in faults if fault is not first],
        expected=_meaning(first["loc"]),
        fix=[f"--set {key}=VALUE" if where == "--set" else f"correct {key} in {where}"],
    )


def _short(value: Any) -> str:
    return bounded(repr(value), 80)


def _known_keys() -> list[str]:
    def walk(model: type[BaseModel], prefix: str) -> Iterator[str]:
        for name, info in model.model_fields.items():
            kind = info.annotation
            if isinstance(kind, type) and issubclass(kind, BaseModel):
                yield from walk(kind, f"{prefix}{name}.")
            else:
                yield f"{prefix}{name}"

    return list(walk(TaskConfig, ""))


def _meaning(location: Sequence) -> str:
    model: Any = TaskConfig
    text = ""
    for part in location:
        info = getattr(model, "model_fields", {}).get(part)
        if info is None:
            break
        text = info.description or text
        model = info.annotation
    return text


def relative(path: str) -> str:
    """Return a path as a person in the current folder would write it."""
    shown = os.path.relpath(path)
    return path if shown.startswith("..") else shown
