"""Why a node ran or was taken from its record: which parts of its content key changed since the run before."""

from __future__ import annotations

from pipeline.config.load import flatten
from pipeline.local.store import Store
from pipeline.nodes import BY_ID


def explain(store: Store, node_id: str, run_id: str | None = None) -> dict:
    """Return the comparison of a node's key parts with those of the run before.

    Returns:
        {"node", "run_id", "status", "compared_with", "sentence", "rows": [{"part", "state", "detail"}]}; `state` is
        `same`, `CHANGED` or `new`.
    """
    runs = store.runs()
    run = store.run(run_id)
    entry = _entry(run, node_id)
    earlier = [r for r in runs if r["run_id"] < run["run_id"] and _entry(r, node_id)["parts"]]
    before = _entry(earlier[-1], node_id)["parts"] if earlier else None
    rows = _rows(node_id, entry["parts"], before, run)
    changed = [row for row in rows if row["state"] == "CHANGED"]
    since = earlier[-1]["run_id"] if earlier else None
    return {
        "node": node_id,
        "run_id": run["run_id"],
        "status": entry["status"],
        "compared_with": since,
        "sentence": _sentence(node_id, entry, len(changed), len(rows), since, run),
        "rows": rows,
    }


def _sentence(node_id: str, entry: dict, changed: int, total: int, since: str | None, run: dict) -> str:
    if entry["status"] in ("pending", "skipped"):
        return f"{node_id} was not reached in run {run['run_id']}"
    if entry["status"] == "cached":
        return f"{node_id} was taken from its record: outputs for the same {total} parts were made before"
    if since is None:
        return f"{node_id} ran because no earlier run had it"
    if changed:
        return f"{node_id} ran because {changed} of its {total} parts changed since run {since}"
    if "--fresh" in run["command"] or "--from" in run["command"]:
        return f"{node_id} ran because the command asked for it: {run['command']}"
    return f"{node_id} ran although nothing changed since run {since}: its outputs were missing or never finished"


def _rows(node_id: str, parts: dict, before: dict | None, run: dict) -> list[dict]:
    if not parts:
        return []
    node = BY_ID[node_id]
    rows = [_row("code", parts, before, node.module)]
    if node.task_files:
        rows.append(_row("task", parts, before, ", ".join(node.task_files)))
    rows.append({**_row("config", parts, before, ""), "detail": _config_detail(parts, before, run)})
    for name, digest in parts["inputs"].items():
        old = before["inputs"].get(name) if before else None
        source = ".".join(node.inputs[name]) if name in node.inputs else _source(name, run)
        shown = f"{source}  digest {digest[:6]}" if old in (None, digest) else f"{source}  digest {old[:6]} -> {digest[:6]}"
        rows.append({"part": name, "state": _state(digest, old), "detail": shown})
    versions = "  ".join(f"{name} {version}" for name, version in parts["stack"].items())
    rows.append(_row("stack", parts, before, versions))
    return rows


def _source(name: str, run: dict) -> str:
    return {"data": run["config"]["data"]["path"], "file": run["config"]["schema_path"], "baseline": "latest blessed model"}[name]


def _row(part: str, parts: dict, before: dict | None, detail: str) -> dict:
    return {"part": part, "state": _state(parts[part], before[part] if before else None), "detail": detail}


def _state(new, old) -> str:
    return "new" if old is None else "same" if new == old else "CHANGED"


def _config_detail(parts: dict, before: dict | None, run: dict) -> str:
    now = dict(flatten(parts["config"]))
    if before is None or before["config"] == parts["config"]:
        return f"{len(now)} keys"
    old = dict(flatten(before["config"]))
    sources = run["config_sources"]
    return ", ".join(
        f"{key} {old.get(key, 'unset')} -> {now.get(key, 'unset')}   ({sources.get(key, 'default')})"
        for key in sorted(now.keys() | old.keys())
        if now.get(key) != old.get(key)
    )


def _entry(run: dict, node_id: str) -> dict:
    return next(node for node in run["nodes"] if node["id"] == node_id)
