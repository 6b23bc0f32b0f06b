"""Why a node ran or was taken from its record: which parts of its content key changed since the run before."""

from __future__ import annotations

from pipeline.config.load import flatten
from pipeline.local.store import Store
from pipeline.nodes import BY_ID


def explain(store: Store, node_id: str, run_id: str | None = None) -> dict:
    """Return the comparison of a node's key parts with those of the run before.

    Returns:
        {"node", "run_id", "status", "since": id of the run compared with or None, "reason": words where no part
        changed, "parts": [{"name", "changed", "detail"}]}.
    """
    run = store.run(run_id) if run_id else _latest_that_reached(store, node_id)
    entry = _entry(run, node_id)
    earlier = [r for r in store.runs() if r["run_id"] < run["run_id"] and _entry(r, node_id)["parts"]]
    before = _entry(earlier[-1], node_id)["parts"] if earlier else None
    asked = any(option in run["command"] for option in ("--fresh", "--from"))
    return {
        "node": node_id,
        "run_id": run["run_id"],
        "status": entry["status"],
        "since": earlier[-1]["run_id"] if earlier else None,
        "reason": f"asked for by `{run['command']}`" if asked else "",
        "parts": _parts(node_id, entry["parts"], before, run) if entry["parts"] else [],
    }


def _latest_that_reached(store: Store, node_id: str) -> dict:
    reached = [run for run in store.runs() if _entry(run, node_id)["parts"]]
    return reached[-1] if reached else store.run()


def _parts(node_id: str, parts: dict, before: dict | None, run: dict) -> list[dict]:
    node = BY_ID[node_id]

    def part(name: str, detail: str) -> dict:
        return {"name": name, "changed": before is not None and before[name] != parts[name], "detail": detail}

    rows = [part("code", node.module)]
    if node.task_files:
        rows.append(part("task", ", ".join(node.task_files)))
    rows.append(part("config", _config_detail(parts, before, run)))
    for name, digest in parts["inputs"].items():
        old = before["inputs"].get(name, "none") if before else digest
        source = ".".join(node.inputs[name]) if name in node.inputs else _source(name, run)
        shown = digest[:6] if old == digest else f"{old[:6]} -> {digest[:6]}"
        rows.append({"name": name, "changed": old != digest, "detail": f"{source}  digest {shown}"})
    rows.append(part("stack", "  ".join(f"{name} {version}" for name, version in parts["stack"].items())))
    return rows


def _source(name: str, run: dict) -> str:
    return {
        "data": run["config"]["data"]["path"],
        "file": run["config"]["schema_path"],
        "baseline": "latest blessed model",
    }[name]


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
