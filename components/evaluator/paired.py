"""How sure the difference of a metric between two models on the same rows is: 95 % intervals of paired data."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from components.evaluator.metrics import binary_log_losses, class_log_losses, compute, decide, midranks

RESAMPLES = 1000
SEED = 17
Z = 1.959964  # 97.5 % of the normal distribution


@dataclass(frozen=True)
class Delta:
    """Second model minus first: the value and its 95 % interval."""

    value: float
    low: float
    high: float


def delta(metric: str, problem: str, labels: np.ndarray, first: np.ndarray, second: np.ndarray) -> Delta:
    """Return how much the metric changes from the first model's predictions [n, k] to the second's.

    - auc: DeLong's paired variance, over all classes at once for the macro average.
    - accuracy, precision, recall: percentile bootstrap of the rows. They depend on a row only through its label and the
      two decisions, so that resampling rows is one multinomial draw over those few combinations: exact, and cheap.
    - log_loss: mean of the rows' differences; calibration: ratio estimator (both models share the denominator).

    Source: DeLong, DeLong and Clarke-Pearson, Biometrics 44 (1988), in the O(n log n) form of Sun and Xu, IEEE Signal
    Processing Letters 21 (2014); Efron and Tibshirani, An Introduction to the Bootstrap (1993), ch. 13; Cochran,
    Sampling Techniques (1977), ch. 6.
    """
    values = [compute([metric], problem, labels, predictions)[metric] for predictions in (first, second)]
    value = values[1] - values[0]
    if value != value:
        return Delta(value, value, value)
    if metric in ("accuracy", "precision", "recall"):
        low, high = _bootstrap(metric, problem, labels, decide(problem, first), decide(problem, second))
        return Delta(value, low, high)
    before, after = (_influence(metric, problem, labels, p.astype(np.float64)) for p in (first, second))
    margin = Z * np.sqrt(((after - before) ** 2).sum()) / len(labels)
    return Delta(value, value - margin, value + margin)


def auc_influence(positive: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """Return each row's influence on the AUC, [n]: mean zero, and sum of squares / n² is DeLong's variance.

    It is DeLong's structural component less its mean, over the share of the row's class.
    """
    ones, zeros = int(positive.sum()), int((~positive).sum())
    ranks, influence = midranks(scores), np.empty(len(scores))
    for rows, others, sign in ((positive, zeros, 1.0), (~positive, ones, -1.0)):
        placement = sign * (ranks[rows] - midranks(scores[rows])) / others
        influence[rows] = (placement - placement.mean()) * len(scores) / rows.sum()
    return influence


def _influence(metric: str, problem: str, labels: np.ndarray, predictions: np.ndarray) -> np.ndarray:
    if metric == "auc":
        if problem == "binary":
            return auc_influence(labels == 1, predictions[:, 0])
        return np.mean([auc_influence(labels == c, predictions[:, c]) for c in np.unique(labels)], axis=0)
    if metric == "log_loss":
        binary = problem == "binary"
        losses = binary_log_losses(labels, predictions[:, 0]) if binary else class_log_losses(labels, predictions)
        return losses - losses.mean()
    if metric == "calibration":
        scores, share = predictions[:, 0], labels.mean()
        return (scores - scores.mean() / share * labels) / share
    raise AssertionError(f"{metric} has no interval")


def _bootstrap(
    metric: str, problem: str, labels: np.ndarray, first: np.ndarray, second: np.ndarray
) -> tuple[float, float]:
    classes = int(max(labels.max(), first.max(), second.max())) + 1
    code = (labels * classes + first) * classes + second
    codes, counts = np.unique(code, return_counts=True)
    label, decisions = codes // classes**2, (codes // classes % classes, codes % classes)
    draws = np.random.default_rng(SEED).multinomial(len(labels), counts / len(labels), size=RESAMPLES)
    found = [_from_counts(metric, problem, draws, label, decided, classes) for decided in decisions]
    low, high = np.nanpercentile(found[1] - found[0], [2.5, 97.5])
    return float(low), float(high)


def _from_counts(
    metric: str, problem: str, draws: np.ndarray, label: np.ndarray, decided: np.ndarray, classes: int
) -> np.ndarray:
    """Return the metric of each resample, [resamples], from how often each combination was drawn."""
    if metric == "accuracy":
        return draws[:, label == decided].sum(axis=1) / draws.sum(axis=1)
    each = np.arange(classes)
    actual = draws @ (label[:, None] == each)
    hits = draws @ ((label == decided)[:, None] & (label[:, None] == each))
    whole = draws @ (decided[:, None] == each) if metric == "precision" else actual
    with np.errstate(invalid="ignore", divide="ignore"):
        if problem == "binary":
            return hits[:, 1] / whole[:, 1]
        shares = hits / np.maximum(whole, 1)
        return np.where(actual > 0, shares, 0.0).sum(axis=1) / (actual > 0).sum(axis=1)
