"""What `headrace runs|status|explain|tasks|doctor|config show` print: documents from plain dicts and lists."""

from __future__ import annotations

from collections.abc import Sequence

from pipeline.config.load import flatten
from pipeline.console import figures, findings, record
from pipeline.console.describe import describe
from pipeline.console.document import Document, Line, Span, Table
from pipeline.console.lines import error_lines

STATUS_STYLES = {
    "succeeded": "ok",
    "ran": "ok",
    "cached": "dim",
    "failed": "bad",
    "stopped": "bad",
    "interrupted": "warn",
    "running": "name",
    "skipped": "dim",
    "pending": "dim",
}


def _status(status: str) -> Span:
    return Span(status, STATUS_STYLES.get(status, ""))


def runs_document(runs: Sequence[dict]) -> Document:
    """Return a table of run records, in the order given: how each ended and what it came to."""
    if not runs:
        return [["  no runs yet"]]
    table = Table(
        ["run", "status", "took", "ran", "cached", "metric", "blessed", "version"], right=["took", "ran", "cached"]
    )
    for run in runs:
        evaluation, nodes = record.summary(run, "Evaluator"), record.nodes(run)
        metric, blessed = findings.main_metric(evaluation), findings.blessing(run)[0]
        value = (evaluation.get("metrics") or {}).get(findings.OVERALL, {}).get(metric)
        table.rows.append(
            [
                str(run.get("run_id", "")),
                _status(run.get("status", "")),
                "" if record.took(run) is None else figures.seconds(record.took(run)),
                str(sum(node.get("status") in record.TRIED for node in nodes)),
                str(sum(node.get("status") == "cached" for node in nodes)),
                f"{metric} {figures.metric(metric, value)}" if metric else "",
                {True: "yes", False: "no"}.get(blessed, ""),
                _version(run),
            ]
        )
    return [table]


def _version(run: dict) -> str:
    """Return the version that a run pushed, or the one that it left as it was."""
    push = record.summary(run, "Pusher")
    if push.get("version") is None:
        return ""
    new = push.get("pushed") and record.node(run, "Pusher").get("status") != "cached"
    return f"{push['version']}" if new else f"{push['version']} as before"


def status_document(run: dict) -> Document:
    """Return one run, node by node, with its error if it has one."""
    seconds = record.took(run)
    head: Line = [
        Span(f"{run.get('task', '')} {run.get('run_id', '')}", "strong"),
        "  ",
        _status(run.get("status", "")),
        f" in {figures.seconds(seconds)}" if seconds is not None else "",
    ]
    table = Table(["node", "status", "seconds", ""], right=["seconds"])
    for node in record.nodes(run):
        spent = (
            f"{node['elapsed_s']:.1f}"
            if figures.is_number(node.get("elapsed_s")) and node.get("status") in record.TRIED
            else ""
        )
        table.rows.append([node.get("id", ""), _status(node.get("status", "")), spent, describe(node)])
    return [head, [], table, *([[], *error_lines(run["error"])] if run.get("error") else [])]


def explain_document(explanation: dict) -> Document:
    """Return why a node ran or was cached.

    Args:
        explanation: {"node", "status", "since": id of the run compared with or None, "reason": words for a run without
            a changed input (optional), "parts": [{"name", "changed": bool, "detail"}]}.
    """
    parts, since = explanation.get("parts") or [], explanation.get("since")
    changed = sum(bool(part.get("changed")) for part in parts)
    verb = {"cached": "was cached", "failed": "failed; it ran", "stopped": "stopped the run; it ran"}.get(
        explanation.get("status", ""), "ran"
    )
    if not since:
        why = f"because {explanation.get('reason') or 'no earlier run has it'}"
    elif changed:
        why = f"because {changed} of its {len(parts)} inputs changed since run {since}"
    elif explanation.get("status") == "cached":
        why = f"because none of its {len(parts)} inputs changed since run {since}"
    else:
        reason = explanation.get("reason") or "--fresh, or its outputs were gone"
        why = f"although none of its {len(parts)} inputs changed since run {since}: {reason}"
    table = Table(["", " ", "  "])
    for part in parts:
        table.rows.append(
            [
                str(part.get("name", "")),
                Span("CHANGED", "warn") if part.get("changed") else Span("same", "dim"),
                str(part.get("detail", "")),
            ]
        )
    return [[Span(str(explanation.get("node", "")), "strong"), f" {verb} {why}"], *_headless(table)]


def _headless(table: Table) -> Document:
    """Return a table without its header line, for rows that explain themselves."""
    from pipeline.console.document import table_lines

    return table_lines(table)[1:] if table.rows else []


def tasks_document(tasks: Sequence[dict]) -> Document:
    """Return the tasks.

    Args:
        tasks: [{"name", "problem", "data": "ready" or how to get it, "description"}].
    """
    table = Table(["task", "problem", "data", "about"])
    for task in tasks:
        data = str(task.get("data", ""))
        table.rows.append(
            [
                Span(str(task.get("name", "")), "name"),
                str(task.get("problem", "")),
                Span(data, "ok" if data == "ready" else "warn"),
                str(task.get("description", "")),
            ]
        )
    return [table] if tasks else [["  no tasks"]]


def doctor_document(checks: Sequence[dict]) -> Document:
    """Return what is found on this machine and how to get what is missing.

    Args:
        checks: [{"name", "state": "ok" | "missing" | "optional" | "wrong", "found": words, "fix": how to get it}].
    """
    styles = {"ok": "ok", "missing": "bad", "wrong": "bad", "optional": "dim"}
    table = Table(["", " ", "  ", "   "])
    for check in checks:
        state = str(check.get("state", ""))
        word = {"optional": "not here", "missing": "MISSING", "wrong": "WRONG"}.get(state, state)
        table.rows.append(
            [
                str(check.get("name", "")),
                Span(word, styles.get(state, "")),
                str(check.get("found", "")),
                Span(str(check.get("fix") or ""), "strong"),
            ]
        )
    bad = sum(check.get("state") in ("missing", "wrong") for check in checks)
    verdict = (
        Span("All that is needed is here.", "ok")
        if not bad
        else Span(f"{figures.counted(bad, 'thing')} to fix.", "bad")
    )
    return [*_headless(table), [], ["  ", verdict]]


def config_document(config: dict, sources: dict[str, str]) -> Document:
    """Return every key with its value and where that came from; a source of a section counts for its keys."""
    table = Table(["key", "value", "from"])
    for key, item in flatten(config):
        source = source_of(key, sources)
        table.rows.append([Span(key, "name"), figures.value(item), Span(source, "dim" if source == "default" else "")])
    return [table]


def source_of(key: str, sources: dict[str, str]) -> str:
    """Return where a dotted key came from: its own entry, that of the nearest section above it, or `default`."""
    while key:
        if key in sources:
            return str(sources[key])
        key = key.rpartition(".")[0]
    return "default"
