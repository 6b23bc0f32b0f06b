"""The same rows and the same EvalConfig through TensorFlow Model Analysis itself."""

import numpy as np
import pytest

from components.evaluator.evaluate import metrics_by_slice
from components.evaluator.slices import find_slices
from components.evaluator.tfma_output import eval_config
from components.evaluator.thresholds import check, needed_metrics
from pipeline.config.model import EvaluateConfig

pytestmark = [
    pytest.mark.slow,
    pytest.mark.tf,
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # TFMA turns arrays of one element into floats
]
ROWS = 300
AUC_TOLERANCE = 2e-3  # TFMA counts at 10,000 thresholds; ours is exact


def analyze(config, problem, label, predictions, carrier, classes=2):
    """Return TFMA's metrics by slice name."""
    import pandas as pd
    import tensorflow_model_analysis as tfma

    described = eval_config(config, problem, "late", False, classes)
    del described.model_specs[:]
    described.model_specs.add(label_key="late", prediction_key="p")
    frame = pd.DataFrame({"late": label, "p": predictions, "carrier": carrier})
    found = {}
    for key, by_output in tfma.analyze_raw_data(frame, described).slicing_metrics:
        name = ",".join(f"{column}={value}" for column, value in key) or "overall"
        values = by_output[""][""].items()
        found[name] = {metric.split("_auc")[-1] or "auc": value["doubleValue"] for metric, value in values}
    return found


def compare(ours, theirs):
    """Hold every metric that both have against each other."""
    assert set(ours) == set(theirs)
    for name, metrics in theirs.items():
        for metric, value in metrics.items():
            tolerance = AUC_TOLERANCE if metric == "auc" else 1e-5
            assert ours[name][metric] == pytest.approx(value, abs=tolerance), (name, metric)


def test_binary_metrics_are_tfmas():
    rng = np.random.default_rng(0)
    scores = rng.random(ROWS).astype(np.float32)
    label = (rng.random(ROWS) < scores).astype(np.int64)
    carrier = rng.choice(["AA", "OO"], ROWS)
    names = ["auc", "accuracy", "precision", "recall", "log_loss", "calibration"]
    config = EvaluateConfig(metrics=names, slices=[["carrier"]])
    slices = find_slices({"carrier": carrier}, config.slices)
    ours = metrics_by_slice(needed_metrics(config), "binary", label, scores[:, None], slices)
    theirs = analyze(config, "binary", label, scores, carrier)
    assert set(theirs["overall"]) == {*names, "example_count"}
    compare(ours, theirs)


def test_multiclass_metrics_are_tfmas():
    rng = np.random.default_rng(0)
    probabilities = rng.dirichlet(np.ones(4), ROWS).astype(np.float32)
    label = np.array([rng.choice(4, p=p / p.sum()) for p in probabilities.astype(float)])
    carrier = rng.choice(["AA", "OO"], ROWS)
    config = EvaluateConfig(metrics=["auc", "accuracy", "log_loss"], slices=[["carrier"]])
    slices = find_slices({"carrier": carrier}, config.slices)
    ours = metrics_by_slice(needed_metrics(config), "multiclass", label, probabilities, slices)
    theirs = analyze(config, "multiclass", label, [p.tolist() for p in probabilities], carrier, 4)
    assert set(theirs["overall"]) == {"auc", "accuracy", "log_loss", "example_count"}
    compare(ours, theirs)


@pytest.mark.parametrize(
    ("low", "slice_low", "change"), [(0.6, 0.5, -0.1), (0.71, 0.5, -0.1), (0.6, 0.53, -0.1), (0.6, 0.5, 0.0)]
)
def test_a_model_is_blessed_when_tfma_would_validate_it(low, slice_low, change):
    from tensorflow_model_analysis.evaluators.metrics_validator import validate_metrics
    from tensorflow_model_analysis.metrics.metric_types import MetricKey

    config = EvaluateConfig(
        metrics=["auc"],
        slices=[["carrier"]],
        thresholds={"auc": {"min": low}},
        slice_thresholds={"auc": {"min": slice_low}},
        change={"auc": {"min": change}},
    )
    metrics = {"overall": {"auc": 0.7, "example_count": 300.0}, "carrier=OO": {"auc": 0.52, "example_count": 300.0}}
    baseline = {"overall": {"auc": 0.75}, "carrier=OO": {"auc": 0.9}}
    described = eval_config(config, "binary", "late", True)
    validated = []
    for key, name in (((), "overall"), ((("carrier", "OO"),), "carrier=OO")):
        value, before = metrics[name]["auc"], baseline[name]["auc"]
        values = {
            MetricKey("auc", "candidate"): value,
            MetricKey("auc", "baseline"): before,
            MetricKey("auc", "candidate", is_diff=True): value - before,
        }
        validated.append(validate_metrics((key, values), described).validation_ok)
    assert all(found.passed for found in check(config, metrics, baseline)) == all(validated)
