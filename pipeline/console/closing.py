"""The summary at the end of a run: quality, models, version, times, how it ended, what to type next."""

from __future__ import annotations

from collections.abc import Sequence

from pipeline.console import figures, findings, record
from pipeline.console.describe import describe
from pipeline.console.document import Document, Line, Span, Table, labelled
from pipeline.console.lines import VERDICTS, error_lines, verdict_spans
from pipeline.error_codes import EXIT_CODES

INTERVAL_CELLS = 98  # below, the table of models would fold


def closing(run: dict, next_commands: Sequence[str], cells: int) -> Document:
    """Return the summary of a finished run: quality, models, version, times, and what to type next."""
    blocks = (
        quality(run),
        models(run, cells),
        release(run),
        times(run, cells),
        error_lines(run["error"]) if run.get("error") else [],
    )
    parts: list[Line | Table] = [[]]
    for block in blocks:
        parts += [*block, []] if block else []
    return [*parts, *ending(run), *whats_next(run, next_commands, cells)]


def quality(run: dict) -> list[Line | Table]:
    """Return metrics against thresholds, the slices to look at, and the blessing with its reason."""
    evaluation = record.summary(run, "Evaluator")
    if not evaluation.get("metrics"):
        return []
    blessed, why, failures = findings.blessing(run)
    verdict = [Span("BLESSED", "ok") if blessed else Span("NOT BLESSED", "bad"), f"  {why}"]
    return [
        *_metric_rows(evaluation),
        *_worst_rows(run, evaluation),
        *labelled([("Blessing", verdict), *(("Blessing", [line]) for line in failures)]),
    ]


def _metric_rows(evaluation: dict) -> list[Line]:
    done = [check for check in findings.checks(evaluation) if check.slice == findings.OVERALL]
    metrics = dict(evaluation["metrics"].get(findings.OVERALL) or {})
    metrics.pop("example_count", None)
    for check in done:  # a check may hold a figure that is no metric, such as finite_predictions
        if check.kind != "change":
            metrics.setdefault(check.metric, check.value)
    name_cells = max((figures.width(name) for name in metrics), default=0)
    rows: list[tuple[str, Line]] = []
    for name, value in metrics.items():
        levels = [check for check in done if check.metric == name and check.kind != "change"]
        held = _held(levels[0]) if levels else []
        shown = figures.pad(figures.metric(name, value), 7)
        rows.append(("Metrics", [f"{figures.pad(name, name_cells)}  {shown}", *held]))
        for check in (check for check in done if check.metric == name and check.kind == "change"):
            against = f" against {findings.baseline_name(evaluation)}" if evaluation.get("baseline") else ""
            shown = figures.pad(figures.signed(check.value), 7)
            rows.append(("Metrics", [f"{' ' * name_cells}  {shown}", *_held(check), against]))
    return labelled(rows)


def _held(check: findings.Check) -> list[Span]:
    """Return `>= 0.630 ok`, and a note where the figure does not say why."""
    verdict = Span("ok", "ok") if check.passed else Span("FAILED", "bad")
    return [Span(f"  {figures.bound(check.limits)} "), verdict, Span(f", {check.note}" if check.note else "")]


def _worst_rows(run: dict, evaluation: dict) -> list[Line]:
    metric, rows = findings.main_metric(evaluation), findings.worst_slices(run)
    names = [figures.plain(row.name) for row in rows]
    values = [
        f"{metric} {figures.metric(metric, row.metrics.get(metric))} on {figures.counted(row.examples, 'row')}"
        for row in rows
    ]
    name_cells = min(40, max((figures.width(name) for name in names), default=0))
    value_cells = max((len(value) for value in values), default=0)
    lines: list[tuple[str, Line]] = []
    for row, name, value in zip(rows, names, values, strict=True):
        line: list[Span | str] = [f"{figures.pad(name, name_cells)}  {figures.pad(value, value_cells)}"]
        for check in row.checks:
            line += _held(check) if check.metric == metric else [f"  {check.text()}"]
        if not row.gated:
            line.append(Span(f"  not gated: {row.note}", "dim"))
        lines.append(("Worst", line))
    return labelled(lines)


def models(run: dict, cells: int) -> list[Line | Table]:
    """Return the quantized models beside the float one; a narrow terminal loses the interval of the change."""
    found = findings.edge_models(run)
    if not found:
        return []
    metric = found[0].metric or "metric"
    figure_columns = ["size", "ratio", "latency", "ratio ", "agrees", metric]
    table = Table(["TFLite", *figure_columns, "change", ""], right=figure_columns)
    for model in found:
        is_float, verdict = model.scheme == "float32", model.verdict()
        change = model.delta_text() if cells >= INTERVAL_CELLS else model.delta_text().split(" [")[0]
        table.rows.append(
            [
                model.scheme,
                figures.size(model.size_bytes),
                figures.ratio(model.size_ratio),
                _unless_none(figures.microseconds, model.latency_us),
                _unless_none(figures.ratio, model.latency_ratio),
                "" if is_float else _unless_none(figures.percent, model.agreement),
                "" if model.value is None else figures.metric(metric, model.value),
                "" if is_float else change,
                Span(verdict, VERDICTS.get(verdict, "dim")),
            ]
        )
    reasons = [
        ("", [f"{model.scheme}: {reason}"]) for model in found if model.passed is False for reason in model.reasons
    ]
    return [table, *labelled(reasons)]


def _unless_none(write, value: float | None) -> str:
    return "" if value is None else write(value)


def release(run: dict) -> list[Line]:
    """Return whether the model answered requests and which version was pushed."""
    rows: list[tuple[str, Line]] = []
    if record.summary(run, "InfraValidator"):
        rows.append(("Serving", verdict_spans(describe(record.node(run, "InfraValidator")))))
    if words := findings.pushed(run):
        rows.append(("Pushed", [Span(words, "strong")]))
    return labelled(rows)


def times(run: dict, cells: int) -> list[Line]:
    """Return the seconds of each node, the slowest first, in as few lines as fit; cached nodes took none."""
    tried = [node for node in record.nodes(run) if node.get("status") in record.TRIED]
    spent = [(node["id"], node.get("elapsed_s") or 0.0) for node in tried]
    loading = sum(node.get("loading_s") or 0.0 for node in tried)
    spent += [("loading TensorFlow and TFX", loading)] if loading else []
    items = [f"{name} {figures.seconds(seconds)}" for name, seconds in sorted(spent, key=lambda item: -item[1])]
    return labelled([("Time", [line]) for line in _packed(items, cells - 13, " · ")])


def _packed(items: Sequence[str], cells: int, between: str) -> list[str]:
    """Return the items joined into lines of at most `cells` cells."""
    lines: list[str] = []
    for item in items:
        if lines and figures.width(lines[-1]) + figures.width(between) + figures.width(item) <= cells:
            lines[-1] += between + item
        else:
            lines.append(item)
    return lines


def ending(run: dict) -> list[Line]:
    """Return how the run ended, in one line; after a failure also what that means for what is served."""
    seconds, tally = record.took(run), record.tally(run)
    span = f" in {figures.seconds(seconds)}" if seconds is not None else ""
    if run.get("status") == "succeeded":
        return [["  ", Span("Done", "ok"), f"{span} ({tally})."]]
    verb = {"interrupted": "Interrupted", "failed": "Failed"}.get(run.get("status", ""), "Ended")
    after = f" after {figures.seconds(seconds)}" if seconds is not None else ""
    return [["  ", Span(verb, "bad"), f"{after} ({tally})."], ["  ", _consequence(run)]]


def _consequence(run: dict) -> str:
    """Return `Nothing was trained or pushed. Version 6 keeps serving. Exit 3 (data).`, as far as it is known."""
    trained = record.node(run, "Trainer").get("status") in (*record.DONE, "stopped")
    was_pushed = record.summary(run, "Pusher").get("pushed") and record.node(run, "Pusher").get("status") in record.DONE
    version = run.get("serving_version") or (record.summary(run, "Evaluator").get("baseline") or {}).get("version")
    family = (run.get("error") or {}).get("family", "")
    return figures.joined(
        [
            "" if was_pushed else "Nothing was pushed." if trained else "Nothing was trained or pushed.",
            f"Version {version} keeps serving." if version and not was_pushed else "",
            f"Exit {EXIT_CODES[family]} ({family})." if family in EXIT_CODES else "",
        ],
        " ",
    )


def whats_next(run: dict, next_commands: Sequence[str], cells: int) -> list[Line]:
    """Return where the report is and the commands to type next, in two columns where both fit."""
    report = run.get("report") or "/".join(
        str(part)
        for part in ((run.get("config") or {}).get("root", "runs"), run.get("task"), run.get("run_id"), "report.html")
    )
    column = max((figures.width(command) for command in next_commands), default=0) + 2
    across = 2 if 13 + 2 * column <= cells else 1
    rows: list[tuple[str, Line]] = [("Report", [str(report)])]
    for start in range(0, len(next_commands), across):
        pair = next_commands[start : start + across]
        rows.append(
            ("Next", [Span(figures.pad(command, column if command != pair[-1] else 0), "strong") for command in pair])
        )
    return labelled(rows)
