"""Evaluation of a model on the eval examples: metrics by slice, bounds, the latest blessed model on the same rows."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np

from components import examples
from components.evaluator import predictions, tfma_output
from components.evaluator.calibration import calibration_bins
from components.evaluator.confusion import class_names, confusion_matrix
from components.evaluator.metrics import check_names, compute, decide
from components.evaluator.slices import OVERALL, Slice, find_slices
from components.evaluator.thresholds import Check, check, needed_metrics
from pipeline.config.model import EvaluateConfig
from pipeline.errors import HeadraceError


@dataclass(frozen=True)
class Evaluation:
    """What an evaluation found.

    Args:
        metrics: by slice, then by name.
        checks: every bound and whether it held.
        baseline_metrics: the same metrics of the baseline, None without one.
        plots: `calibration` (binary) or `confusion` and `classes` (multiclass).
    """

    metrics: dict[str, dict[str, float]]
    checks: list[Check]
    baseline_metrics: dict[str, dict[str, float]] | None
    plots: dict

    @property
    def blessed(self) -> bool:
        """Whether every bound held."""
        return all(check.passed for check in self.checks)

    def summary(self) -> dict:
        """Return plain JSON values; NaN as null."""
        return plain(
            {
                "metrics": self.metrics,
                "checks": [asdict(check) for check in self.checks],
                "baseline_metrics": self.baseline_metrics,
                "blessed": self.blessed,
                "plots": self.plots,
            }
        )

    def refusal(self) -> HeadraceError | None:
        """Return the error that lists each broken bound, None when the model is blessed."""
        failed = [str(check) for check in self.checks if not check.passed]
        if not failed:
            return None
        return HeadraceError(
            "HR-EVAL-001",
            f"the model was not blessed: {len(failed)} of {len(self.checks)} bounds do not hold",
            seen=failed,
            expected="every bound of evaluate.thresholds, slice_thresholds and change to hold",
            fix=[
                "train longer or with other features: headrace run TASK --set train.epochs=N",
                "lower the bound if it is wrong: evaluate in task.yaml, then headrace run TASK --from Evaluator",
            ],
        )


def evaluate(
    model_uri: str,
    examples_uri: str,
    transformed_uri: str,
    baseline_model_uri: str | None,
    config: EvaluateConfig,
    problem: str,
    label: str,
    out_uri: str,
) -> Evaluation:
    """Evaluate the candidate, and the baseline if there is one, on every eval example.

    Args:
        examples_uri: raw Examples: what the models read, and where slice columns come from.
        transformed_uri: the same rows in the same order after Transform: where labels come from.
        label: name of the label, raw and transformed.
        out_uri: folder that gets `predictions.npz` and TFMA's files.

    Raises: HR-EVAL-002, -003, -004, -005, -006.
    """
    names = needed_metrics(config)
    check_names(names, problem)
    labels = examples.read_dense(transformed_uri, "eval", [label])[label].astype(np.int64).reshape(-1)
    models = {"candidate": model_uri} | ({"baseline": baseline_model_uri} if baseline_model_uri else {})
    found = predictions.predict(models, examples_uri, len(labels))
    candidate, baseline = found["candidate"], found.get("baseline")
    _check_rows(labels, candidate, problem)
    if baseline is not None and baseline.shape != candidate.shape:
        raise _other_classes(baseline, candidate)
    columns = sorted({name for spec in config.slices for name in spec})
    raw = _raw_columns(examples_uri, [*columns, label] if problem == "multiclass" else columns)
    slices = find_slices({name: raw[name] for name in columns}, config.slices, len(labels))

    metrics = metrics_by_slice(names, problem, labels, candidate, slices)
    baseline_metrics = None if baseline is None else metrics_by_slice(names, problem, labels, baseline, slices)
    checks = check(config, metrics, baseline_metrics) + _finite(candidate)
    evaluation = Evaluation(metrics, checks, baseline_metrics, _plots(problem, labels, candidate, raw.get(label)))

    os.makedirs(out_uri, exist_ok=True)
    rows = predictions.EvalRows(labels, candidate, predictions.slices_by_name(slices))
    predictions.save_rows(out_uri, rows, baseline)
    locations = {"data": examples_uri, **models}
    tfma_output.write(
        out_uri, config, problem, label, slices, metrics, baseline_metrics, checks, locations, candidate.shape[1]
    )
    return evaluation


def metrics_by_slice(
    names: Sequence[str], problem: str, labels: np.ndarray, values: np.ndarray, slices: Sequence[Slice]
) -> dict[str, dict[str, float]]:
    """Return the metrics of every slice by its name."""
    return {found.name: compute(names, problem, labels[found.rows], values[found.rows]) for found in slices}


def plain(value):
    """Return the value with every NaN and infinity as None: JSON has neither."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _raw_columns(examples_uri: str, names: list[str]) -> dict[str, np.ndarray]:
    return examples.read_labels_for_slicing(examples_uri, "eval", names) if names else {}


def _plots(problem: str, labels: np.ndarray, values: np.ndarray, raw_labels: np.ndarray | None) -> dict:
    if problem == "binary":
        return {"calibration": calibration_bins(labels, values[:, 0])}
    classes = values.shape[1]
    matrix = confusion_matrix(labels, decide(problem, values), classes)
    return {"confusion": matrix.tolist(), "classes": class_names(labels, raw_labels, classes)}


def _finite(values: np.ndarray) -> list[Check]:
    """Fail a model that predicts NaN or infinity, whatever the bounds say."""
    share = float(np.isfinite(values).all(axis=1).mean())
    return [Check("finite_predictions", OVERALL, share, {"min": 1.0}, "value", False)] if share < 1 else []


def _check_rows(labels: np.ndarray, values: np.ndarray, problem: str) -> None:
    if not len(labels) or len(labels) != len(values):
        raise HeadraceError(
            "HR-EVAL-005",
            "the transformed examples are not the rows of the raw examples",
            seen=[f"{len(labels):,} transformed and {len(values):,} raw eval examples"],
            expected="the same number, at least one",
            fix="run Transform again: headrace run TASK --from Transform --fresh",
        )
    classes = 2 if problem == "binary" else values.shape[1]
    wrong = np.flatnonzero((labels < 0) | (labels >= classes))
    if len(wrong):
        raise HeadraceError(
            "HR-EVAL-005",
            f"{len(wrong):,} eval labels are classes that the model does not know",
            seen=[f"label {labels[row]} in eval row {row:,}" for row in wrong],
            expected=f"0 to {classes - 1}",
            fix="a class that training never saw: move its examples to train, or take them out of the data",
        )


def _other_classes(baseline: np.ndarray, candidate: np.ndarray) -> HeadraceError:
    return HeadraceError(
        "HR-EVAL-003",
        "the latest blessed model knows other classes than the candidate",
        seen=[f"{baseline.shape[1]} outputs in the baseline, {candidate.shape[1]} in the candidate"],
        fix="evaluate without it: headrace run TASK --from Evaluator --set evaluate.baseline=none",
    )
