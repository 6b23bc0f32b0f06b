"""What each section of the report shows: a run record and its artifacts as plain values for the templates."""

from __future__ import annotations

import math
from pathlib import Path

from pipeline.config.load import flatten
from pipeline.console import figures, findings, record
from pipeline.console.describe import describe
from pipeline.console.tables import source_of
from pipeline.report import charts, graph, lineage, statistics

MAX_SLICES, MAX_FEATURES, MAX_CLASSES = 300, 120, 20  # what a page can show and a person can read; the rest is counted


def contents(run: dict, run_dir: Path) -> dict:
    """Return everything the templates show, section by section."""
    nodes = record.nodes(run)
    why = lineage.reasons(nodes, lineage.earlier_runs(run_dir))
    evaluation = record.summary(run, "Evaluator")
    blessed, reason, failures = findings.blessing(run)
    return {
        "took": record.took(run),
        "tally": record.tally(run),
        "stack": run.get("stack") or {},
        "split": record.split_text(run),
        "tiles": tiles(run),
        "graph": graph.graph(nodes),
        "spans": graph.spans(run),
        "rows": [{**node, "words": describe(node), "why": why[node["id"]]} for node in nodes],
        "blessed": blessed,
        "reason": reason,
        "failures": failures,
        "baseline": findings.baseline_name(evaluation),
        "has_baseline": bool(evaluation.get("baseline")),
        **overall_checks(evaluation),
        **slice_table(run),
        **plots(evaluation),
        "models": findings.edge_models(run),
        "training": record.summary(run, "Trainer"),
        "charts": charts.curves(record.summary(run, "Trainer").get("history") or {}),
        "anomalies": record.summary(run, "ExampleValidator").get("anomalies"),
        "examples": record.summary(run, "ExampleGen"),
        **feature_cards(run, run_dir),
        "artifacts": artifacts(run),
        "config": [
            {"key": key, "value": item, "source": source_of(key, run.get("config_sources") or {})}
            for key, item in flatten(run.get("config") or {})
        ],
    }


def tiles(run: dict) -> list[dict]:
    """Return the figures to see first: {"label", "value", "note", "state": "ok" | "bad" | ""}."""
    shown = [_metric_tile(run), _blessing_tile(run), _model_tile(run), _push_tile(run)]
    if (seconds := record.took(run)) is not None:
        shown.append(_tile("time", figures.seconds(seconds), record.tally(run), None))
    return [tile for tile in shown if tile]


def _tile(label: str, value: str, note: str, passed: bool | None) -> dict:
    return {"label": label, "value": value, "note": note, "state": {True: "ok", False: "bad", None: ""}[passed]}


def _metric_tile(run: dict) -> dict | None:
    evaluation = record.summary(run, "Evaluator")
    metric = findings.main_metric(evaluation)
    if not metric:
        return None
    checks = [row for row in findings.checks(evaluation) if row.metric == metric and row.slice == findings.OVERALL]
    level = next((check for check in checks if check.kind != "change"), None)
    value = (evaluation.get("metrics") or {}).get(findings.OVERALL, {}).get(metric)
    note = level.verdict() if level else "no threshold"
    return _tile(metric, figures.metric(metric, value), note, level.passed if level else None)


def _blessing_tile(run: dict) -> dict | None:
    blessed, why, _ = findings.blessing(run)
    return None if blessed is None else _tile("blessing", "blessed" if blessed else "not blessed", why, blessed)


def _model_tile(run: dict) -> dict | None:
    models = [model for model in findings.edge_models(run) if model.scheme != "float32"]
    if not models:
        return None
    model = next((model for model in models if model.gated), models[0])
    change = f"{model.metric or 'quality'} {figures.signed(model.delta.get('value'))}" if model.delta else ""
    note = figures.joined([change, figures.size(model.size_bytes)], ", ")
    return _tile(model.scheme, f"{figures.ratio(model.size_ratio)} size", note, model.passed if model.gated else None)


def _push_tile(run: dict) -> dict | None:
    push, cached = record.summary(run, "Pusher"), record.node(run, "Pusher").get("status") == "cached"
    if push.get("version") is None:
        return None
    note = "new" if push.get("pushed") and not cached else "as before"
    return _tile("pushed", f"version {push['version']}", note, True)


def overall_checks(evaluation: dict) -> dict:
    """Return the checks on the overall metrics, and the overall metrics that have none."""
    checks = [check for check in findings.checks(evaluation) if check.slice == findings.OVERALL]
    judged = {check.metric for check in checks if check.kind != "change"} | {"example_count"}
    overall = (evaluation.get("metrics") or {}).get(findings.OVERALL) or {}
    return {"checks": checks, "free_metrics": {name: value for name, value in overall.items() if name not in judged}}


def slice_table(run: dict) -> dict:
    """Return the table of slices: its metrics, its rows with a bar per metric, and how many were left off."""
    rows = findings.slices(run)
    evaluation = record.summary(run, "Evaluator")
    metric = findings.main_metric(evaluation)
    names = list(dict.fromkeys([metric, *(name for row in rows[:1] for name in row.metrics)])) if rows else []
    overall = rows[0].metrics if rows and rows[0].name == findings.OVERALL else {}
    large = [row for row in rows if not row.small] or rows  # tiny slices would stretch the scale
    scales = {name: _farthest(large, name, overall.get(name)) for name in names}
    table = [
        {"slice": row, "cells": [_cell(row, name, overall.get(name), scales[name]) for name in names]}
        for row in rows[:MAX_SLICES]
    ]
    left_off = max(0, len(rows) - MAX_SLICES)
    return {"slice_metrics": names, "slice_rows": table, "slices_left_off": left_off, "main_metric": metric}


def _cell(row: findings.Slice, name: str, overall: float | None, scale: float) -> dict:
    """Return one metric of a slice: its value, its change against the baseline, its bar against the overall value."""
    value, before = row.metrics.get(name), row.baseline.get(name)
    lower_is_better = name in findings.LOWER_IS_BETTER
    bar = None if row.name == findings.OVERALL else charts.deviation(value, overall, scale, lower_is_better)
    return {"metric": name, "value": value, "change": value - before if _both(value, before) else None, "bar": bar}


def _farthest(rows: list[findings.Slice], name: str, overall: float | None) -> float:
    """Return the largest distance of a slice's metric from the overall value."""
    values = [row.metrics.get(name) for row in rows]
    return max((abs(value - overall) for value in values if _both(value, overall)), default=0.0)


def _both(one: object, other: object) -> bool:
    """Say whether both are finite numbers."""
    return all(figures.is_number(value) and math.isfinite(value) for value in (one, other))


def plots(evaluation: dict) -> dict:
    """Return the calibration plot and the confusion table, None where the evaluation has none."""
    found = evaluation.get("plots") or {}
    matrix, classes = found.get("confusion") or [], [str(name) for name in found.get("classes") or []]
    pairs = sorted(
        (
            (rows[j], classes[i], classes[j], rows[j] / (sum(rows) or 1))
            for i, rows in enumerate(matrix)
            for j in range(len(rows))
            if i != j and rows[j]
        ),
        reverse=True,
    )
    confusion = None
    if matrix and len(classes) == len(matrix):
        rows = [
            {
                "name": classes[i],
                "counts": counts,
                "total": sum(counts),
                "recall": counts[i] / sum(counts) if sum(counts) else None,
            }
            for i, counts in enumerate(matrix)
        ]
        confusion = {"classes": classes, "rows": rows, "pairs": pairs[:5], "drawn": len(classes) <= MAX_CLASSES}
    return {"calibration": charts.calibration(found.get("calibration") or []), "confusion": confusion}


def feature_cards(run: dict, run_dir: Path) -> dict:
    """Return a card per feature with its drawing, and what could not be read, in words."""
    output = (record.node(run, "StatisticsGen").get("outputs") or {}).get("statistics") or {}
    if not output.get("uri"):
        return {"features": [], "features_left_off": 0, "data_problems": [], "data_splits": []}
    features, problems = statistics.read_features(locate(str(output["uri"]), run_dir))
    marked = {
        anomaly.get("feature"): anomaly for anomaly in record.summary(run, "ExampleValidator").get("anomalies") or []
    }
    features.sort(key=lambda feature: feature.name not in marked)  # stable: the schema's order within both
    cards = []
    for feature in features[:MAX_FEATURES]:
        shown = statistics.top_values(feature)
        first = next(iter(feature.splits.values()))
        cards.append(
            {
                "feature": feature,
                "anomaly": marked.get(feature.name),
                "histogram": charts.histogram(statistics.common_bins(feature)),
                "top": shown,
                "tallest": max((share for value in shown for share in value.shares.values()), default=0.0) or 1.0,
                "ranks": charts.ranks(first.ranks),
                "covered": {split: statistics.covered(feature, split, shown) for split in feature.splits},
            }
        )
    splits = list(dict.fromkeys(split for feature in features for split in feature.splits))
    return {
        "features": cards,
        "features_left_off": max(0, len(features) - MAX_FEATURES),
        "data_problems": problems,
        "data_splits": splits,
    }


def locate(uri: str, run_dir: Path) -> Path:
    """Return the folder of an artifact; a relative URI counts from the current folder, or from one above the run."""
    path = Path(uri.removeprefix("file://"))
    if path.is_absolute() or path.exists():
        return path
    return next((base / path for base in run_dir.resolve().parents if (base / path).exists()), path)


def artifacts(run: dict) -> list[dict]:
    """Return every output of every node: {"node", "name", "type", "digest", "mlmd_id", "uri"}."""
    listed = []
    for node in run.get("nodes") or []:
        for name, output in (node.get("outputs") or {}).items():
            values = {key: str(output.get(key) or "") for key in ("type", "digest", "mlmd_id", "uri")}
            listed.append({"node": node["id"], "name": name, **values})
    return listed
