"""Why each node ran or was cached: its code, configuration, inputs and stack against the latest earlier run."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from pipeline.config.load import flatten
from pipeline.console.record import DONE

LOOK_BACK = 20  # earlier runs that are read


@dataclass(frozen=True)
class Reason:
    """Why a node ran or not, in words, and the run that it was compared with."""

    words: str
    since: str = ""


def earlier_runs(run_dir: Path) -> list[dict]:
    """Return the records of the runs before this one, the latest first; unreadable ones are left out."""
    run_dir = run_dir.resolve()
    folders = sorted(
        (path for path in run_dir.parent.iterdir() if path.name < run_dir.name and (path / "run.json").is_file()),
        reverse=True,
    )
    runs = []
    for folder in folders[:LOOK_BACK]:
        try:
            record = json.loads((folder / "run.json").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            continue
        if isinstance(record, dict):
            runs.append(record)
    return runs


def reasons(nodes: list[dict], before: list[dict]) -> dict[str, Reason]:
    """Return the reason of every node."""
    return {node["id"]: _reason(node, before) for node in nodes}


def _reason(node: dict, before: list[dict]) -> Reason:
    status = node.get("status")
    if status in ("skipped", "pending"):
        return Reason("not reached" if status == "skipped" else "not yet")
    then, since = _before(node["id"], before)
    if status == "cached":
        return Reason("code, configuration, inputs and stack are the same", since)
    if not then:
        return Reason("no earlier run has it")
    changed = changes(then.get("parts") or {}, node.get("parts") or {})
    return Reason(
        ", ".join(changed) + " changed" if changed else "nothing changed: asked for, or its outputs were gone", since
    )


def _before(node_id: str, before: list[dict]) -> tuple[dict, str]:
    for run in before:
        for node in run.get("nodes") or []:
            if node.get("id") == node_id and node.get("status") in DONE and node.get("parts"):
                return node, str(run.get("run_id", ""))
    return {}, ""


def changes(then: dict, now: dict) -> list[str]:
    """Return the parts that differ, with the keys that differ where a part has keys: `config train.epochs 3 -> 4`."""
    found = []
    for part in dict.fromkeys([*then, *now]):
        old, new = then.get(part), now.get(part)
        if old == new:
            continue
        if isinstance(old, dict) and isinstance(new, dict):
            old, new = dict(flatten(old)), dict(flatten(new))
            keys = [key for key in dict.fromkeys([*old, *new]) if old.get(key) != new.get(key)]
            shown = [_change(str(key), old.get(key), new.get(key)) for key in keys[:3]]
            found.append(f"{part} " + ", ".join(shown) + (f" and {len(keys) - 3} more" if len(keys) > 3 else ""))
        else:
            found.append(part)
    return found


def _change(key: str, old: object, new: object) -> str:
    """Return `train.epochs 3 -> 4`; digests and other long values only by their key."""
    short = all(
        value is None or (isinstance(value, str | int | float) and len(str(value)) <= 11) for value in (old, new)
    )
    return f"{key} {old} -> {new}" if short else key
