"""One line on what a node did, from its summary."""

from __future__ import annotations

from pipeline.console import figures
from pipeline.console.figures import count, counted, joined
from pipeline.console.findings import OVERALL, checks, main_metric


def describe(node: dict) -> str:
    """Return one line on what the node of a run record did, or why it did not; empty if there is nothing to say."""
    error, summary = node.get("error"), node.get("summary") or {}
    if error and node.get("status") == "failed":
        return joined([error.get("code", ""), error.get("what", "")], "  ")
    return figures.plain(WORDS.get(node.get("id", ""), _anything)(summary)) if summary else ""


def _example_gen(summary: dict) -> str:
    rows = sum(number for number in (summary.get("rows") or {}).values() if number)
    rate = summary.get("rows_per_s")
    warnings = len(summary.get("late_warnings") or [])
    return joined(
        [
            f"{counted(rows, 'row')}",
            f"{figures.compact(rate)} rows/s" if rate else "",
            counted(warnings, "warning") if warnings else "",
        ],
        "  ",
    )


def _features(summary: dict) -> str:
    return counted(summary.get("features"), "feature")


def _schema(summary: dict) -> str:
    return figures.short_path(str(summary.get("path", ""))) or _features(summary)


def _validator(summary: dict) -> str:
    return f"{counted(summary.get('errors'), 'error')}, {counted(summary.get('warnings'), 'warning')}"


def _transform(summary: dict) -> str:
    vocabularies = len(summary.get("vocabularies") or {})
    return f"{count(summary.get('numeric'))} numeric, {counted(vocabularies, 'vocabulary')}"


def _trainer(summary: dict) -> str:
    history = summary.get("history") or {}
    last = [f"{name} {figures.metric(name, history[name][-1])}" for name in ("loss", "val_loss") if history.get(name)]
    rate = summary.get("examples_per_s")
    steps = summary.get("steps")
    return joined(
        [*last, counted(steps, "step") if steps is not None else "", f"{figures.compact(rate)} ex/s" if rate else ""],
        "  ",
    )


def _evaluator(summary: dict) -> str:
    done, metric = checks(summary), main_metric(summary)
    head = [check.text() for check in done if check.slice == OVERALL and check.kind == "value"]
    if not head and metric:
        head = [f"{metric} {figures.metric(metric, (summary.get('metrics') or {}).get(OVERALL, {}).get(metric))}"]
    failed = sum(not check.passed for check in done)
    blessed = {True: "BLESSED", False: "NOT BLESSED"}.get(summary.get("blessed"), "")
    number = max(0, len(summary.get("metrics") or {}) - 1)
    return joined(
        [
            *head,
            counted(number, "slice") if number else "",
            f"{counted(failed, 'check')} failed" if failed else "",
            blessed,
        ]
    )


def _quantizer(summary: dict) -> str:
    models = sorted(
        (row for row in summary.get("models") or [] if row.get("scheme") != "float32"),
        key=lambda row: row.get("size_bytes") or 0,
    )
    smallest = [
        f"{row.get('scheme')} {figures.size(row.get('size_bytes'))} ({figures.ratio(row.get('size_ratio'))})"
        for row in models[:1]
    ]
    return joined([*smallest, *(f"{row.get('scheme')} {figures.ratio(row.get('size_ratio'))}" for row in models[1:])])


def _edge_evaluator(summary: dict) -> str:
    models = [row for row in summary.get("models") or [] if row.get("scheme") != "float32"]
    shown = next(iter([*(row for row in models if row.get("gated")), *models]), {})
    if not shown:
        return "no quantized model"
    failed = [str(row.get("scheme")) for row in models if row.get("gated") and not row.get("passed")]
    delta, agreement = (shown.get("delta") or {}).get("value"), shown.get("agreement")
    latency = f"{figures.microseconds(shown.get('latency_us'))} ({figures.ratio(shown.get('latency_ratio'))})"
    verdict = f"FAILED: {', '.join(failed)}" if failed else "PASSED" if any(row.get("gated") for row in models) else ""
    return joined(
        [
            f"{shown.get('scheme')} {latency}",
            f"agreement {figures.percent(agreement)}" if agreement is not None else "",
            f"{summary.get('metric') or 'change'} {figures.signed(delta)}" if delta is not None else "",
            verdict or "not gated",
        ]
    )


def _infra_validator(summary: dict) -> str:
    verdict, p50_ms = {True: "PASSED", False: "FAILED"}.get(summary.get("blessed"), ""), summary.get("p50_ms")
    latency = f", p50 {figures.microseconds(1000 * p50_ms)}" if p50_ms is not None else ""
    return joined([f"{counted(summary.get('requests'), 'request')} in a fresh process{latency}", verdict])


def _pusher(summary: dict) -> str:
    version, path = summary.get("version"), figures.short_path(str(summary.get("path") or ""))
    if summary.get("pushed"):
        return joined([f"version {version}", path], "  ")
    why = joined(["nothing new", summary.get("reason") or ""], ": ")
    return why if version is None else f"{why}; version {version} stays"


def _anything(summary: dict) -> str:
    flat = [(key, item) for key, item in summary.items() if isinstance(item, str | int | float | bool)]
    return joined(
        [f"{key} {figures.general(item) if figures.is_number(item) else figures.value(item)}" for key, item in flat[:5]]
    )


WORDS = {
    "ExampleGen": _example_gen,
    "StatisticsGen": _features,
    "SchemaGen": _features,
    "ImportSchemaGen": _schema,
    "ExampleValidator": _validator,
    "Transform": _transform,
    "Trainer": _trainer,
    "Evaluator": _evaluator,
    "Quantizer": _quantizer,
    "EdgeEvaluator": _edge_evaluator,
    "InfraValidator": _infra_validator,
    "Pusher": _pusher,
}
