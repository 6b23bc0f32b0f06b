"""Metrics against scikit-learn, Keras's formulas and loops over rows."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics as oracle

from components.evaluator.metrics import auc, compute, decide, midranks
from pipeline.errors import HeadraceError

BINARY = ["auc", "accuracy", "precision", "recall", "log_loss", "calibration"]
MULTICLASS = ["auc", "accuracy", "precision", "recall", "log_loss"]
# few distinct scores make many ties
scored_rows = st.lists(st.tuples(st.integers(0, 1), st.integers(0, 10).map(lambda i: i / 10)), min_size=1, max_size=60)


@st.composite
def class_rows(draw):
    """Labels of up to five classes and probabilities that sum to one."""
    classes = draw(st.integers(2, 5))
    rows = draw(st.integers(1, 40))
    rng = np.random.default_rng(draw(st.integers(0, 2**31)))
    return rng.integers(0, classes, rows), rng.dirichlet(np.ones(classes), rows)


def binary_by_loop(rows):
    """Every binary metric, one row after another."""
    pairs = [(p > q) + 0.5 * (p == q) for y, p in rows for z, q in rows if y == 1 and z == 0]
    positive = [(y, p) for y, p in rows if p > 0.5]
    hits, labels = sum(y for y, _ in positive), sum(y for y, _ in rows)
    clipped = [(y, min(max(p, 1e-7), 1 - 1e-7)) for y, p in rows]
    nan = float("nan")
    return {
        "auc": sum(pairs) / len(pairs) if pairs else nan,
        "accuracy": sum((p > 0.5) == (y == 1) for y, p in rows) / len(rows),
        "precision": hits / len(positive) if positive else nan,
        "recall": hits / labels if labels else nan,
        "log_loss": -sum(math.log((p if y else 1 - p) + 1e-7) for y, p in clipped) / len(rows),
        "calibration": sum(p for _, p in rows) / labels if labels else nan,
        "example_count": len(rows),
    }


@given(scored_rows)
@settings(max_examples=150, deadline=None)
def test_binary_metrics_are_those_of_a_loop_over_rows(rows):
    labels, scores = np.array([y for y, _ in rows]), np.array([p for _, p in rows])
    assert compute(BINARY, "binary", labels, scores[:, None]) == pytest.approx(binary_by_loop(rows), nan_ok=True)


@given(scored_rows.filter(lambda rows: len({y for y, _ in rows}) == 2))
@settings(max_examples=100, deadline=None)
def test_auc_is_scikit_learns_with_ties(rows):
    labels, scores = np.array([y for y, _ in rows]), np.array([p for _, p in rows])
    assert auc(labels, scores) == pytest.approx(oracle.roc_auc_score(labels, scores))


@given(class_rows())
@settings(max_examples=100, deadline=None)
def test_multiclass_metrics_are_scikit_learns_macro_averages(rows):
    labels, probabilities = rows
    found = compute(MULTICLASS, "multiclass", labels, probabilities)
    predicted, occurs = probabilities.argmax(axis=1), np.unique(labels)
    macro = {"labels": occurs, "average": "macro", "zero_division": 0}
    areas = [
        oracle.roc_auc_score(labels == c, probabilities[:, c]) if len(occurs) > 1 else float("nan") for c in occurs
    ]
    losses = [-math.log(p[y] / p.sum()) for y, p in zip(labels, np.clip(probabilities, 1e-7, 1 - 1e-7), strict=True)]
    expected = {
        "auc": np.mean(areas),
        "accuracy": oracle.accuracy_score(labels, predicted),
        "precision": oracle.precision_score(labels, predicted, **macro),
        "recall": oracle.recall_score(labels, predicted, **macro),
        "log_loss": np.mean(losses),
        "example_count": len(labels),
    }
    assert found == pytest.approx(expected, nan_ok=True)


def test_log_loss_is_that_of_keras_also_where_probabilities_do_not_sum_to_one():
    import tensorflow as tf
    import tf_keras

    rng = np.random.default_rng(3)
    labels, probabilities = rng.integers(0, 4, 50), rng.random((50, 4)).astype(np.float32)
    probabilities[:3] = 0  # what a dequantized softmax may give
    keras = tf_keras.losses.sparse_categorical_crossentropy(labels, tf.constant(probabilities)).numpy().mean()
    assert compute(["log_loss"], "multiclass", labels, probabilities)["log_loss"] == pytest.approx(keras, rel=1e-5)
    ones, scores = rng.integers(0, 2, 50), rng.random(50).astype(np.float32)
    scores[:2] = [0, 1]
    keras = tf_keras.losses.binary_crossentropy(ones.astype(np.float32), scores).numpy()
    # Keras works in float32, where 1 - 1e-7 is 1.19e-7 short of one
    assert compute(["log_loss"], "binary", ones, scores[:, None])["log_loss"] == pytest.approx(float(keras), rel=5e-3)


def test_midranks_are_scipys():
    from scipy.stats import rankdata

    values = np.random.default_rng(0).integers(0, 9, 100)
    assert midranks(values).tolist() == rankdata(values).tolist()


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_one_prediction_that_is_not_finite_leaves_no_metric_defined(bad):
    found = compute(BINARY, "binary", np.array([0, 1, 1]), np.array([[0.1], [bad], [0.9]]))
    assert all(math.isnan(found[name]) for name in BINARY)
    assert found["example_count"] == 3


def test_a_single_class_has_an_accuracy_but_no_auc():
    found = compute(["auc", "accuracy", "recall"], "binary", np.array([0, 0]), np.array([[0.1], [0.9]]))
    assert math.isnan(found["auc"]) and math.isnan(found["recall"]) and found["accuracy"] == 0.5


def test_no_rows_give_nan_and_a_count_of_zero():
    found = compute(["accuracy"], "binary", np.zeros(0, np.int64), np.zeros((0, 1)))
    assert math.isnan(found["accuracy"]) and found["example_count"] == 0


def test_exactly_one_half_is_not_positive_as_in_keras():
    assert decide("binary", np.array([[0.5], [0.5001]])).tolist() == [0, 1]


def test_calibration_of_a_multiclass_problem_is_refused():
    with pytest.raises(HeadraceError) as caught:
        compute(["accuracy", "calibration"], "multiclass", np.array([0]), np.array([[0.5, 0.5]]))
    assert caught.value.code == "HR-EVAL-002" and caught.value.seen == ["calibration"]
