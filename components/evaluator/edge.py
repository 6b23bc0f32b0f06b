"""What quantization costs: each TFLite model on all eval rows, with the float model's metrics and slices beside it."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass

import numpy as np

from components import examples, reporting
from components.evaluator import tflite
from components.evaluator.evaluate import plain
from components.evaluator.metrics import check_names, compute, decide
from components.evaluator.paired import Delta, delta
from components.evaluator.predictions import EvalRows, load_rows
from components.evaluator.slices import OVERALL
from components.evaluator.thresholds import Metrics, needed_metrics
from pipeline.config.model import EdgeEvaluateConfig, EvaluateConfig
from pipeline.errors import HeadraceError


@dataclass(frozen=True)
class EdgeModel:
    """One TFLite model beside the float model.

    Args:
        size_ratio: size over the float32 TFLite file's; `latency_ratio` likewise.
        latency_us: median of one call, batch 1, one thread, on this machine.
        metrics: by slice, then by name.
        delta: of the gated metric overall, this model minus the float SavedModel, with its 95 % interval.
        agreement: share of rows on which both decide alike.
        gated: whether its reasons stop the run.
        reasons: every limit it broke.
    """

    scheme: str
    size_bytes: int
    size_ratio: float
    latency_us: float
    latency_ratio: float
    metrics: dict[str, dict[str, float]]
    delta: Delta
    agreement: float
    gated: bool
    passed: bool
    reasons: list[str]


@dataclass(frozen=True)
class EdgeReport:
    """All TFLite models of one float model, and its own metrics."""

    metric: str
    models: list[EdgeModel]
    float_metrics: dict[str, dict[str, float]]

    @property
    def passed(self) -> bool:
        """Whether every gated model holds its limits."""
        return all(model.passed for model in self.models if model.gated)

    def summary(self) -> dict:
        """Return plain JSON values; NaN as null."""
        return plain(
            {
                "metric": self.metric,
                "models": [asdict(model) for model in self.models],
                "float": {"metrics": self.float_metrics},
            }
        )

    def refusal(self) -> HeadraceError | None:
        """Return the error that lists each broken limit of a gated model, None when all hold."""
        broken = [f"{m.scheme}: {reason}" for m in self.models if m.gated for reason in m.reasons]
        if not broken:
            return None
        return HeadraceError(
            "HR-EDGE-001",
            "a quantized model loses too much against the float model",
            seen=broken,
            expected="the limits of edge_evaluate.max_drop, max_slice_drop and max_size_ratio to hold",
            fix=[
                "calibrate on more examples: headrace run TASK --set quantize.calibration_examples=1000",
                "accept the loss: raise the limit of edge_evaluate in task.yaml, or take the scheme out of its gate",
            ],
        )


def evaluate_edge(
    quantized_uri: str,
    transformed_uri: str,
    evaluation_uri: str,
    config: EdgeEvaluateConfig,
    evaluate_config: EvaluateConfig,
    problem: str,
    label: str,
    out_uri: str,
) -> EdgeReport:
    """Run every TFLite model on every transformed eval example, compare, and write `report.json`.

    Args:
        quantized_uri: folder of `<scheme>.tflite` and `manifest.json`.
        evaluation_uri: folder of the Evaluator's `predictions.npz`: labels, the float model's predictions, slices.
        evaluate_config: its metrics, and the smallest slice that is judged.

    Raises: HR-EVAL-002, HR-EDGE-005.
    """
    check_names([config.metric], problem)
    with open(os.path.join(quantized_uri, "manifest.json"), encoding="utf-8") as file:
        made = json.load(file)["models"]
    _check_gate(config, [model["scheme"] for model in made])
    rows = load_rows(evaluation_uri)
    features = examples.read_dense(transformed_uri, "eval")
    _check_rows(rows, features[label])
    paths = {model["scheme"]: os.path.join(quantized_uri, model["path"]) for model in made}
    predictions = _predict_all(paths, features)
    reporting.progress(0.9, "latency")
    latencies = tflite.latencies_us(paths, features)

    names = list(dict.fromkeys([*needed_metrics(evaluate_config), config.metric]))
    float_metrics = _by_slice(names, problem, rows, rows.predictions)
    decided = decide(problem, rows.predictions)
    models = []
    for model in made:
        scheme, values = model["scheme"], predictions[model["scheme"]]
        metrics = _by_slice(names, problem, rows, values)
        gated = scheme in config.gate
        reasons = broken_limits(config, evaluate_config.min_slice_examples, metrics, float_metrics)
        if scheme == "int8" and config.max_size_ratio is not None and model["size_ratio"] > config.max_size_ratio:
            reasons.append(f"size {model['size_ratio']:.2f} of the float32 file, limit {config.max_size_ratio:g}")
        models.append(
            EdgeModel(
                scheme=scheme,
                size_bytes=model["size_bytes"],
                size_ratio=model["size_ratio"],
                latency_us=latencies[scheme],
                latency_ratio=latencies[scheme] / latencies["float32"],
                metrics=metrics,
                delta=delta(config.metric, problem, rows.labels, rows.predictions, values),
                agreement=float((decide(problem, values) == decided).mean()),
                gated=gated,
                passed=not reasons,
                reasons=reasons,
            )
        )
    report = EdgeReport(config.metric, models, float_metrics)
    os.makedirs(out_uri, exist_ok=True)
    with open(os.path.join(out_uri, "report.json"), "w", encoding="utf-8") as file:
        json.dump(report.summary(), file, indent=2)
    return report


def broken_limits(
    config: EdgeEvaluateConfig, min_slice_examples: int, metrics: Metrics, float_metrics: Metrics
) -> list[str]:
    """Return a line for each drop beyond its limit: overall, and in the worst of the slices large enough to judge."""
    reasons = []
    overall = drop(config.metric, metrics[OVERALL], float_metrics[OVERALL])
    if not overall <= config.max_drop:
        reasons.append(f"{config.metric} drops by {overall:.4f}, limit {config.max_drop:g}")
    judged = [
        name
        for name, values in float_metrics.items()
        if name != OVERALL and values["example_count"] >= min_slice_examples and not np.isnan(values[config.metric])
    ]
    slices = {name: drop(config.metric, metrics[name], float_metrics[name]) for name in judged}
    for name, lost in sorted(slices.items(), key=lambda item: -item[1]):
        if not lost <= config.max_slice_drop:
            reasons.append(f"{config.metric} drops by {lost:.4f} in {name}, limit {config.max_slice_drop:g}")
    return reasons


def drop(metric: str, values: Mapping[str, float], float_values: Mapping[str, float]) -> float:
    """Return how much worse `values` are, negative when better; infinity when the metric is not defined."""
    value, reference = values[metric], float_values[metric]
    if value != value or reference != reference:
        return float("inf")
    if metric == "log_loss":
        return value - reference
    if metric == "calibration":
        return abs(value - 1) - abs(reference - 1)
    return reference - value


def _predict_all(paths: Mapping[str, str], features: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return each model's predictions, float32 [n, k]; models run side by side: the interpreter frees Python's lock."""
    found = {}
    with ThreadPoolExecutor(min(len(paths), os.cpu_count() or 1)) as pool:
        results = pool.map(lambda path: tflite.predict(path, features), paths.values())
        for scheme, values in zip(paths, results, strict=True):
            found[scheme] = values
            reporting.progress(0.9 * len(found) / len(paths), f"{scheme}  {len(values):,} rows")
    return found


def _by_slice(names: list[str], problem: str, rows: EvalRows, values: np.ndarray) -> dict[str, dict[str, float]]:
    return {
        name: compute(names, problem, rows.labels[members], values[members]) for name, members in rows.slices.items()
    }


def _check_gate(config: EdgeEvaluateConfig, made: list[str]) -> None:
    missing = [scheme for scheme in config.gate if scheme not in made]
    if missing or config.metric == "example_count":
        raise HeadraceError(
            "HR-EDGE-005",
            f"edge_evaluate.gate names {missing[0]}, which was not made" if missing else "example_count cannot drop",
            seen=[f"made: {', '.join(made)}"],
            fix="edge_evaluate.gate takes schemes of quantize.schemes, edge_evaluate.metric a metric of quality",
        )


def _check_rows(rows: EvalRows, labels: np.ndarray) -> None:
    if not np.array_equal(rows.labels, labels.reshape(-1)):
        raise HeadraceError(
            "HR-EDGE-005",
            "the Evaluator's predictions belong to other rows than the transformed eval examples",
            seen=[f"{len(rows.labels):,} predictions, {len(labels):,} examples"],
            fix="run the Evaluator again: headrace run TASK --from Evaluator",
        )
