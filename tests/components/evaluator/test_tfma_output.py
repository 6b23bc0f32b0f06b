"""TFMA's own loaders read what was written."""

import pytest

from components.evaluator.evaluate import evaluate
from pipeline.config.model import EvaluateConfig

pytestmark = pytest.mark.tf

CONFIG = EvaluateConfig(
    metrics=["auc", "log_loss"],
    slices=[["carrier", "month"]],
    thresholds={"auc": {"min": 0.99}},
    slice_thresholds={"auc": {"min": 0.5}},
    change={"auc": {"min": 0.0}},
    min_slice_examples=1,
)


@pytest.fixture(scope="module")
def tfma():
    """Import TFMA once."""
    import tensorflow_model_analysis

    return tensorflow_model_analysis


def values(metrics):
    """Return TFMA's metric dictionary as plain floats."""
    return {name: value["doubleValue"] for name, value in metrics.items()}


def test_tfma_loads_the_metrics_of_each_slice(world, tmp_path, tfma):
    found = evaluate(world.model, world.examples, world.transformed, None, CONFIG, "binary", "late", str(tmp_path))
    loaded = tfma.load_eval_result(str(tmp_path))
    assert values(loaded.get_metrics_for_slice()) == pytest.approx(found.metrics["overall"])
    key = (("carrier", "OO"), ("month", 12))
    assert values(loaded.get_metrics_for_slice(key)) == pytest.approx(found.metrics["carrier=OO,month=12"])
    assert [list(spec.feature_keys) for spec in loaded.config.slicing_specs] == [[], ["carrier", "month"]]
    assert loaded.model_location == world.model and loaded.data_location == world.examples


def test_tfma_loads_the_validation_with_its_failures(world, tmp_path, tfma):
    evaluate(world.model, world.examples, world.transformed, None, CONFIG, "binary", "late", str(tmp_path))
    result = tfma.load_validation_result(str(tmp_path))
    assert not result.validation_ok and not result.missing_thresholds
    [entry] = result.metric_validations_per_slice
    [failure] = entry.failures
    assert failure.metric_key.name == "auc"
    assert failure.metric_threshold.value_threshold.lower_bound.value == 0.99
    counts = {
        tuple(d.slicing_spec.feature_keys): d.num_matching_slices for d in result.validation_details.slicing_details
    }
    assert counts == {(): 1, ("carrier", "month"): 3}


def test_tfma_loads_candidate_baseline_and_difference(world, tmp_path, tfma):
    evaluate(world.model, world.examples, world.transformed, world.model, CONFIG, "binary", "late", str(tmp_path))
    candidate = values(tfma.load_eval_result(str(tmp_path)).get_metrics_for_slice())
    baseline = values(tfma.load_eval_result(str(tmp_path), model_name="baseline").get_metrics_for_slice())
    assert candidate["auc"] == baseline["auc"] and candidate["auc_diff"] == 0
    assert [spec.is_baseline for spec in tfma.load_eval_result(str(tmp_path)).config.model_specs] == [False, True]


def test_no_bound_at_all_reads_as_missing_thresholds(world, tmp_path, tfma):
    config = EvaluateConfig(metrics=["accuracy"])
    evaluate(world.model, world.examples, world.transformed, None, config, "binary", "late", str(tmp_path))
    result = tfma.load_validation_result(str(tmp_path))
    assert result.validation_ok and result.missing_thresholds
