"""Reading a run record (run.json): nodes, summaries, times, versions and split, as far as they are there."""

from __future__ import annotations

from collections import Counter
from datetime import datetime

from pipeline.console import figures

DONE = ("ran", "cached")
TRIED = ("ran", "failed", "stopped", "interrupted")  # statuses of nodes that took time


def settled(node: dict, run_ended: bool = False) -> dict:
    """Return a node with the status that its entry means: a gate that did not pass stopped, whatever was computed.

    In a run that has ended, what is still pending was skipped.
    """
    status = node.get("status")
    if status in DONE and node.get("error"):
        return {**node, "status": "stopped"}
    return {**node, "status": "skipped"} if run_ended and status == "pending" else node


def nodes(run: dict) -> list[dict]:
    """Return the nodes of a run record with their settled statuses."""
    ended = run.get("status") in ("succeeded", "failed", "interrupted")
    return [settled(node, ended) for node in run.get("nodes") or []]


def node(run: dict, node_id: str) -> dict:
    """Return the record of a node, empty if the run has none."""
    return next((found for found in run.get("nodes") or [] if found.get("id") == node_id), {})


def summary(run: dict, node_id: str) -> dict:
    """Return the summary of a node, empty if it has not reported."""
    return node(run, node_id).get("summary") or {}


def section(run: dict, name: str) -> dict:
    """Return one section of the run's configuration, empty if it is not recorded."""
    return (run.get("config") or {}).get(name) or {}


def tally(run: dict) -> str:
    """Return `9 of 11 nodes ran, 2 cached`."""
    statuses = [found.get("status") for found in nodes(run)]
    words = {"skipped": "not run"}
    rest = Counter(words.get(status, status) for status in statuses if status and status != "ran")
    counts = [f"{number} {word}" for word, number in rest.items()]
    return figures.joined([f"{statuses.count('ran')} of {figures.counted(len(statuses), 'node')} ran", *counts], ", ")


def took(run: dict) -> float | None:
    """Return the wall time of a run in seconds, None while it runs or where the record does not say."""
    try:
        return (datetime.fromisoformat(run["ended"]) - datetime.fromisoformat(run["started"])).total_seconds()
    except (KeyError, TypeError, ValueError):
        return None


def split_text(run: dict) -> str:
    """Return `split by time: train Jan-Oct, eval Nov-Dec`, as far as the record says."""
    split = run.get("split") or {}
    if not split.get("by"):
        return ""
    if split.get("train") and split.get("eval"):
        how = f"train {split['train']}, eval {split['eval']}"
    elif split["by"] == "time":
        how = f"eval from {split.get('eval_from', '?')} of {split.get('column', '?')}"
    else:
        how = f"{figures.percent(split['eval_fraction'], 0)} in eval" if "eval_fraction" in split else ""
    return figures.joined([f"split by {split['by']}", how], ": ")


def stack_text(run: dict) -> str:
    """Return `stack current (glibc 2.41, Python 3.13, TFX 1.21, TF 2.21)`, as far as the record says."""
    stack = run.get("stack") or {}
    labels = {"glibc": "glibc", "python": "Python", "tfx": "TFX", "tensorflow": "TF"}
    versions = ", ".join(f"{label} {stack[key]}" for key, label in labels.items() if stack.get(key))
    return figures.joined(
        [f"stack {stack['name']}" if stack.get("name") else "", f"({versions})" if versions else ""], " "
    )
