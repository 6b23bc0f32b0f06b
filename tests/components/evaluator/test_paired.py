"""Intervals of paired differences against the slow textbook computation."""

import numpy as np
import pytest

from components.evaluator.metrics import compute
from components.evaluator.paired import auc_influence, delta


def two_models(rows, classes=2, seed=0, noise=0.15):
    """Labels, and the predictions of two models that mostly agree."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, classes, rows)
    logits = rng.normal(size=(rows, classes)) + 1.5 * np.eye(classes)[labels]
    both = [logits, logits + noise * rng.normal(size=logits.shape)]
    first, second = (np.exp(x) / np.exp(x).sum(axis=1, keepdims=True) for x in both)
    return (labels, first[:, 1:], second[:, 1:]) if classes == 2 else (labels, first, second)


def delong_by_definition(labels, first, second):
    """Variance of the difference of two AUCs from all pairs of rows: DeLong et al. 1988, equations 4 to 6."""
    ones, zeros = np.flatnonzero(labels == 1), np.flatnonzero(labels == 0)
    pairs = [(s[ones, None], s[None, zeros]) for s in (first, second)]
    psi = [(a > b) + 0.5 * (a == b) for a, b in pairs]
    tens, ones_ = np.array([m.mean(axis=1) for m in psi]), np.array([m.mean(axis=0) for m in psi])
    covariance = np.cov(tens) / len(ones) + np.cov(ones_) / len(zeros)
    return covariance[0, 0] + covariance[1, 1] - 2 * covariance[0, 1]


def test_the_auc_interval_is_delongs():
    labels, first, second = two_models(400)
    first, second = first.round(2), second.round(2)  # ties
    found = delta("auc", "binary", labels, first, second)
    half = 1.959964 * np.sqrt(delong_by_definition(labels, first[:, 0], second[:, 0]))
    assert (found.high - found.low) / 2 == pytest.approx(half, rel=0.01)  # n instead of n - 1
    areas = [compute(["auc"], "binary", labels, p)["auc"] for p in (first, second)]
    assert found.value == pytest.approx(areas[1] - areas[0])


def test_influences_have_mean_zero_in_each_class():
    labels, first, _ = two_models(200, seed=4)
    influence = auc_influence(labels == 1, first[:, 0])
    assert influence[labels == 1].mean() == pytest.approx(0, abs=1e-12)
    assert influence[labels == 0].mean() == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize(
    ("metric", "classes"),
    [
        ("accuracy", 2),
        ("precision", 2),
        ("recall", 2),
        ("log_loss", 2),
        ("calibration", 2),
        ("auc", 2),
        ("accuracy", 4),
        ("precision", 4),
        ("recall", 4),
        ("log_loss", 4),
        ("auc", 4),
    ],
)
def test_the_interval_is_that_of_resampled_rows(metric, classes):
    labels, first, second = two_models(800, classes, seed=classes, noise=0.5)
    problem = "binary" if classes == 2 else "multiclass"
    found = delta(metric, problem, labels, first, second)
    rng = np.random.default_rng(11)
    resampled = []
    for _ in range(600):
        rows = rng.integers(0, len(labels), len(labels))
        values = [compute([metric], problem, labels[rows], p[rows])[metric] for p in (first, second)]
        resampled.append(values[1] - values[0])
    low, high = np.percentile(resampled, [2.5, 97.5])
    width = high - low
    assert found.low == pytest.approx(low, abs=0.15 * width) and found.high == pytest.approx(high, abs=0.15 * width)


def test_equal_predictions_have_no_interval():
    labels, first, _ = two_models(100)
    for metric in ("auc", "accuracy", "log_loss"):
        found = delta(metric, "binary", labels, first, first)
        assert (found.value, found.low, found.high) == (0, 0, 0)


def test_the_interval_is_the_same_each_time():
    labels, first, second = two_models(300)
    assert delta("accuracy", "binary", labels, first, second) == delta("accuracy", "binary", labels, first, second)


def test_a_metric_that_is_not_defined_has_a_nan_interval():
    found = delta("auc", "binary", np.ones(4, np.int64), np.full((4, 1), 0.5), np.full((4, 1), 0.4))
    assert np.isnan([found.value, found.low, found.high]).all()
