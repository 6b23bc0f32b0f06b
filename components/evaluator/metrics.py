"""Metrics of a classifier on arrays of labels and predictions: no row is visited in Python.

A metric that the rows do not define (one class only, nothing predicted positive, NaN among the predictions) is NaN, and
no threshold holds for NaN.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from pipeline.errors import HeadraceError

EPSILON = 1e-7  # tf_keras.backend.epsilon(), so that log_loss equals Keras's
THRESHOLD = 0.5  # as tf_keras.metrics.BinaryAccuracy and TFMA: positive when the prediction is above it

Metric = Callable[[np.ndarray, np.ndarray], float]


def compute(metric_names: Sequence[str], problem: str, labels: np.ndarray, predictions: np.ndarray) -> dict[str, float]:
    """Return the metrics by name; `example_count` always comes with them.

    Args:
        metric_names: names as in `pipeline.config.model.MetricName`.
        problem: `binary` (predictions [n, 1], the probability of label 1) or `multiclass` ([n, classes], one each).
        labels: int64 [n], the class of each row.
        predictions: float [n, k].

    Raises: HR-EVAL-002.
    """
    check_names(metric_names, problem)
    predictions = np.asarray(predictions, np.float64)
    judgeable = len(labels) > 0 and bool(np.isfinite(predictions).all())
    table = BINARY if problem == "binary" else MULTICLASS
    values = predictions[:, 0] if problem == "binary" else predictions
    found = {}
    for name in metric_names:
        if name != "example_count":
            found[name] = float(table[name](labels, values)) if judgeable else float("nan")
    return found | {"example_count": float(len(labels))}


def check_names(metric_names: Sequence[str], problem: str) -> None:
    """Refuse metrics that the problem does not have.

    Raises: HR-EVAL-002.
    """
    known = {*(BINARY if problem == "binary" else MULTICLASS), "example_count"}
    wrong = [name for name in metric_names if name not in known]
    if wrong:
        raise HeadraceError(
            "HR-EVAL-002",
            f"metric {wrong[0]!r} is not defined for a {problem} problem",
            seen=wrong,
            expected=f"one of {', '.join(sorted(known))}",
            fix="take it out of evaluate and edge_evaluate in task.yaml",
        )


def midranks(values: np.ndarray) -> np.ndarray:
    """Return ranks from 1, ties sharing their mean rank: float64 [n]."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return (last - (counts - 1) / 2.0)[inverse.reshape(-1)]


def auc(positive: np.ndarray, scores: np.ndarray) -> float:
    """Return the exact area under the ROC curve: P(score of a positive > of a negative), ties counting half.

    Args:
        positive: bool or 0/1 [n].
        scores: float [n].

    Source: Mann and Whitney 1947; Hanley and McNeil, Radiology 143 (1982).
    """
    positive = positive.astype(bool)
    ones = int(positive.sum())
    zeros = len(positive) - ones
    if not ones or not zeros:
        return float("nan")
    return (midranks(scores)[positive].sum() - ones * (ones + 1) / 2.0) / (ones * zeros)


def binary_log_losses(labels: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """Return each row's cross entropy in nats, [n].

    Source: tf_keras.backend.binary_crossentropy, which clips and then adds epsilon once more inside the logarithm.
    """
    p = np.clip(scores, EPSILON, 1 - EPSILON)
    return -np.log(np.where(labels == 1, p, 1 - p) + EPSILON)


def class_log_losses(labels: np.ndarray, predictions: np.ndarray) -> np.ndarray:
    """Return each row's cross entropy in nats, [n]; a row is scaled to sum to one after clipping, as Keras does.

    Dequantized probabilities do not sum to one, so the scaling matters to them.
    Source: tf_keras.backend.sparse_categorical_crossentropy (log of the clipped outputs fed to a softmax).
    """
    p = np.clip(predictions, EPSILON, 1 - EPSILON)
    return np.log(p.sum(axis=1)) - np.log(p[np.arange(len(labels)), labels])


def decide(problem: str, predictions: np.ndarray) -> np.ndarray:
    """Return the predicted class of each row, int64 [n], from predictions [n, k]."""
    if problem == "binary":
        return (predictions[:, 0] > THRESHOLD).astype(np.int64)
    return predictions.argmax(axis=1)


def ratio(part: float, whole: float) -> float:
    """Return part / whole, NaN when whole is zero."""
    return float(part / whole) if whole else float("nan")


def macro(part: np.ndarray, whole: np.ndarray, occurs: np.ndarray) -> float:
    """Return the mean of part / whole over the classes that occur; a class that is never predicted counts 0."""
    return float((part / np.maximum(whole, 1))[occurs].mean())


def _precision(labels: np.ndarray, scores: np.ndarray) -> float:
    predicted = scores > THRESHOLD
    return ratio((predicted & (labels == 1)).sum(), predicted.sum())


def _recall(labels: np.ndarray, scores: np.ndarray) -> float:
    return ratio(((scores > THRESHOLD) & (labels == 1)).sum(), (labels == 1).sum())


def _class_counts(labels: np.ndarray, predictions: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    classes, chosen = predictions.shape[1], predictions.argmax(axis=1)
    hits = np.bincount(labels[labels == chosen], minlength=classes)
    return hits, np.bincount(chosen, minlength=classes), np.bincount(labels, minlength=classes)


def _macro_precision(labels: np.ndarray, predictions: np.ndarray) -> float:
    hits, chosen, actual = _class_counts(labels, predictions)
    return macro(hits, chosen, actual > 0)


def _macro_recall(labels: np.ndarray, predictions: np.ndarray) -> float:
    hits, _, actual = _class_counts(labels, predictions)
    return macro(hits, actual, actual > 0)


def _macro_auc(labels: np.ndarray, predictions: np.ndarray) -> float:
    """One against the rest, averaged over the classes that occur; NaN with a single class."""
    return float(np.mean([auc(labels == c, predictions[:, c]) for c in np.unique(labels)]))


BINARY: dict[str, Metric] = {
    "auc": lambda y, p: auc(y == 1, p),
    "accuracy": lambda y, p: float(((p > THRESHOLD) == (y == 1)).mean()),
    "precision": _precision,
    "recall": _recall,
    "log_loss": lambda y, p: float(binary_log_losses(y, p).mean()),
    "calibration": lambda y, p: ratio(p.sum(), (y == 1).sum()),
}
# There is no multiclass calibration: the mean prediction and the mean label over all classes are both 1 / classes.
MULTICLASS: dict[str, Metric] = {
    "auc": _macro_auc,
    "accuracy": lambda y, p: float((p.argmax(axis=1) == y).mean()),
    "precision": _macro_precision,
    "recall": _macro_recall,
    "log_loss": lambda y, p: float(class_log_losses(y, p).mean()),
}
