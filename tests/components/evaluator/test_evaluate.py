"""The evaluation of a served model whose probabilities are known."""

import json
import math

import numpy as np
import pytest
from sklearn import metrics as oracle

from components import examples
from components.evaluator.component import Evaluator
from components.evaluator.evaluate import evaluate
from components.evaluator.predictions import load_rows
from components.reporting import Listener, listening
from pipeline.config.model import EvaluateConfig
from pipeline.errors import HeadraceError
from tests.components.evaluator.conftest import BY_CARRIER, WEIGHTS, save_served

pytestmark = pytest.mark.tf

CONFIG = EvaluateConfig(
    metrics=["auc", "accuracy"], slices=[["carrier"], ["carrier", "month"]], thresholds={"auc": {"min": 0.6}}
)


@pytest.fixture(scope="module")
def other_models(tmp_path_factory):
    """Models that differ from the world's own: by name."""
    root = tmp_path_factory.mktemp("models")
    save_served(root / "worse", WEIGHTS * np.array([[0.2], [-1], [1]], np.float32))
    save_served(root / "renamed", WEIGHTS, names=("x0", "x1", "humidity"))
    save_served(root / "nan", WEIGHTS * np.float32("nan"))
    save_served(root / "three", np.tile(WEIGHTS, 3), by_carrier=np.tile(BY_CARRIER, 3))
    return {path.name: str(path) for path in root.iterdir()}


def run(world, out, model=None, baseline=None, config=CONFIG, **changed):
    """Evaluate the world's model, or another one."""
    where = {"examples_uri": world.examples, "transformed_uri": world.transformed} | changed
    return evaluate(
        model or world.model,
        where["examples_uri"],
        where["transformed_uri"],
        baseline,
        config,
        "binary",
        "late",
        str(out),
    )


def test_metrics_and_slices_are_those_of_the_known_probabilities(world, tmp_path):
    found = run(world, tmp_path)
    for name, rows in {
        "overall": np.full(len(world.labels), True),
        "carrier=OO": world.carrier == "OO",
        "carrier=AA,month=10": world.carrier == "AA",
    }.items():
        labels, scores = world.labels[rows], world.probabilities[rows, 0]
        assert found.metrics[name]["auc"] == pytest.approx(oracle.roc_auc_score(labels, scores), abs=1e-6)
        assert found.metrics[name]["accuracy"] == pytest.approx(((scores > 0.5) == labels).mean())
        assert found.metrics[name]["example_count"] == rows.sum()
    assert len(found.metrics) == 7
    assert found.blessed and found.baseline_metrics is None


def test_predictions_are_kept_in_the_order_of_the_rows(world, tmp_path):
    run(world, tmp_path)
    rows = load_rows(str(tmp_path))
    assert rows.predictions == pytest.approx(world.probabilities, abs=1e-5)
    assert rows.labels.tolist() == world.labels.tolist()
    assert rows.slices["carrier=B6"].tolist() == np.flatnonzero(world.carrier == "B6").tolist()


def test_a_better_baseline_blocks_the_blessing(world, other_models, tmp_path):
    config = EvaluateConfig(metrics=["auc"], change={"auc": {"min": 0.0}})
    found = run(world, tmp_path, model=other_models["worse"], baseline=world.model, config=config)
    assert not found.blessed
    error = found.refusal()
    change = found.metrics["overall"]["auc"] - found.baseline_metrics["overall"]["auc"]
    assert error.code == "HR-EVAL-001"
    assert error.seen == [f"auc against the baseline {change:+.4g}, bound >= 0"]
    with np.load(tmp_path / "predictions.npz") as saved:
        assert saved["baseline_predictions"] == pytest.approx(world.probabilities, abs=1e-5)


def test_a_baseline_that_reads_other_features_is_named_with_the_way_out(world, other_models, tmp_path):
    with pytest.raises(HeadraceError) as caught:
        run(world, tmp_path, baseline=other_models["renamed"])
    assert caught.value.code == "HR-EVAL-003"
    assert "humidity" in caught.value.seen[0]
    assert "--set evaluate.baseline=none" in caught.value.fix[0]


def test_a_baseline_with_other_classes_is_refused(world, other_models, tmp_path):
    with pytest.raises(HeadraceError) as caught:
        run(world, tmp_path, baseline=other_models["three"])
    assert caught.value.code == "HR-EVAL-003" and "3 outputs" in caught.value.seen[0]


def test_a_candidate_that_cannot_read_the_examples_is_its_own_fault(world, other_models, tmp_path):
    with pytest.raises(HeadraceError) as caught:
        run(world, tmp_path, model=other_models["renamed"])
    assert caught.value.code == "HR-EVAL-004" and "humidity" in caught.value.seen[0]


def test_a_model_that_is_not_there_is_refused(world, tmp_path):
    with pytest.raises(HeadraceError) as caught:
        run(world, tmp_path, model=str(tmp_path / "nowhere"))
    assert caught.value.code == "HR-EVAL-004"


def test_a_model_that_predicts_nan_is_never_blessed(world, other_models, tmp_path):
    found = run(world, tmp_path, model=other_models["nan"], config=EvaluateConfig(metrics=["accuracy"]))
    assert not found.blessed and "finite_predictions 0" in found.refusal().seen[0]
    assert math.isnan(found.metrics["overall"]["accuracy"])
    assert json.loads(json.dumps(found.summary(), allow_nan=False))["metrics"]["overall"]["accuracy"] is None


def test_transformed_examples_of_other_rows_are_refused(world, tmp_path):
    import pyarrow as pa

    examples.write_split([pa.RecordBatch.from_pydict({"late": pa.array([0, 1])})], str(tmp_path / "few"), "eval")
    with pytest.raises(HeadraceError) as caught:
        run(world, tmp_path, transformed_uri=str(tmp_path / "few"))
    assert caught.value.code == "HR-EVAL-005" and "2 transformed and 600 raw" in caught.value.seen[0]


def test_a_label_beyond_the_classes_is_refused_with_its_row(world, tmp_path):
    import pyarrow as pa

    labels = world.labels.copy()
    labels[17] = 2
    examples.write_split([pa.RecordBatch.from_pydict({"late": pa.array(labels)})], str(tmp_path / "two"), "eval")
    with pytest.raises(HeadraceError) as caught:
        run(world, tmp_path, transformed_uri=str(tmp_path / "two"))
    assert caught.value.code == "HR-EVAL-005" and caught.value.seen == ["label 2 in eval row 17"]


def test_a_misspelt_slice_column_is_refused(world, tmp_path):
    with pytest.raises(HeadraceError) as caught:
        run(world, tmp_path, config=EvaluateConfig(slices=[["carier"]]))
    assert caught.value.code == "HR-EVAL-006"


def component_outcome(world, tmp_path, config):
    """Run the TFX component as its executor does; return blessing artifact and outcome."""
    from tfx.types import standard_artifacts

    def artifact(kind, uri, number=0):
        found = kind()
        found.uri, found.id = str(uri), number
        return found

    blessing = artifact(standard_artifacts.ModelBlessing, tmp_path / "blessing")
    model = artifact(standard_artifacts.Model, world.model, 41)
    baseline = artifact(standard_artifacts.Model, world.model, 40)
    baseline.set_string_custom_property("digest", "abc")
    with listening(Listener()) as listener:
        Evaluator.test_call(
            examples=artifact(standard_artifacts.Examples, world.examples),
            transformed_examples=artifact(standard_artifacts.Examples, world.transformed),
            model=model,
            evaluation=artifact(standard_artifacts.ModelEvaluation, tmp_path / "evaluation"),
            blessing=blessing,
            config=json.dumps({"evaluate": config.model_dump(mode="json"), "problem": "binary", "label": "late"}),
            baseline_model=baseline,
        )
    return blessing, listener.outcome


def test_the_component_blesses_as_tfx_does(world, tmp_path):
    blessing, outcome = component_outcome(world, tmp_path, CONFIG)
    assert [path.name for path in (tmp_path / "blessing").iterdir()] == ["BLESSED"]
    assert blessing.get_int_custom_property("blessed") == 1
    assert blessing.get_string_custom_property("current_model") == world.model
    assert blessing.get_int_custom_property("current_model_id") == 41
    assert blessing.get_int_custom_property("baseline_model_id") == 40
    assert outcome.stop is None and outcome.summary["baseline"]["digest"] == "abc"
    assert len(outcome.summary["plots"]["calibration"]) == 20


def test_the_component_stops_the_run_without_raising_when_a_bound_breaks(world, tmp_path):
    blessing, outcome = component_outcome(world, tmp_path, EvaluateConfig(thresholds={"accuracy": {"min": 0.99}}))
    assert [path.name for path in (tmp_path / "blessing").iterdir()] == ["NOT_BLESSED"]
    assert blessing.get_int_custom_property("blessed") == 0
    assert outcome.stop.code == "HR-EVAL-001" and "bound >= 0.99" in outcome.stop.seen[0]
    assert (tmp_path / "evaluation" / "predictions.npz").exists()
