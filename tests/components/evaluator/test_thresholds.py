"""Bounds on values, slices and changes."""

import math

from components.evaluator.thresholds import NO_BASELINE, check, needed_metrics
from pipeline.config.model import EvaluateConfig

CONFIG = EvaluateConfig(
    metrics=["accuracy"],
    thresholds={"auc": {"min": 0.6}},
    slice_thresholds={"auc": {"min": 0.55}},
    change={"auc": {"min": -0.01}},
    min_slice_examples=100,
)
METRICS = {
    "overall": {"auc": 0.7, "example_count": 1000},
    "carrier=AA": {"auc": 0.6, "example_count": 100},
    "carrier=OO": {"auc": 0.3, "example_count": 99},
}
NAN = float("nan")


def verdicts(metrics, baseline=None, config=CONFIG):
    """Return what each check says, by kind and slice."""
    return {(c.kind, c.slice): c.passed for c in check(config, metrics, baseline)}


def test_a_small_slice_is_shown_but_not_gated():
    assert verdicts(METRICS) == {("value", "overall"): True, ("value", "carrier=AA"): True, ("change", "overall"): True}


def test_a_slice_below_its_own_bound_fails():
    assert not verdicts(METRICS | {"carrier=AA": {"auc": 0.54, "example_count": 100}})[("value", "carrier=AA")]


def test_nan_fails_and_says_why():
    [overall, *_] = check(CONFIG, METRICS | {"overall": {"auc": NAN, "example_count": 1000}}, None)
    assert not overall.passed and overall.note == "not defined on these rows"


def test_a_change_without_a_baseline_passes_and_says_so():
    change = check(CONFIG, METRICS, None)[-1]
    assert change.passed and change.note == NO_BASELINE and math.isnan(change.value)


def test_a_change_is_candidate_minus_baseline():
    worse = {"overall": {"auc": 0.72}}
    change = check(CONFIG, METRICS, worse)[-1]
    assert not change.passed and round(change.value, 6) == -0.02
    assert verdicts(METRICS, {"overall": {"auc": 0.705}})[("change", "overall")]
    assert not verdicts(METRICS, {"overall": {"auc": NAN}})[("change", "overall")]


def test_both_sides_of_a_bound_count():
    config = EvaluateConfig(thresholds={"calibration": {"min": 0.9, "max": 1.1}})
    for value, holds in ((0.89, False), (0.9, True), (1.1, True), (1.11, False)):
        metrics = {"overall": {"calibration": value, "example_count": 1}}
        assert verdicts(metrics, config=config) == {("value", "overall"): holds}


def test_a_check_reads_as_a_sentence():
    first, second, third = check(CONFIG, METRICS, {"overall": {"auc": 0.72}})
    assert str(first) == "auc 0.7, bound >= 0.6"
    assert str(second) == "auc 0.6 in carrier=AA, bound >= 0.55"
    assert str(third) == "auc against the baseline -0.02, bound >= -0.01"


def test_a_bounded_metric_is_computed_although_it_is_not_listed():
    assert needed_metrics(CONFIG) == ["accuracy", "auc", "example_count"]
