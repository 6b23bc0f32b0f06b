"""What quantization costs, on rows whose answers are known, and the gate on it."""

import json
import shutil

import numpy as np
import pytest
from sklearn import metrics as oracle

from components.evaluator.edge import broken_limits, drop, evaluate_edge
from components.evaluator.edge_component import EdgeEvaluator
from components.evaluator.evaluate import evaluate
from components.reporting import Listener, listening
from pipeline.config.model import EdgeEvaluateConfig, EvaluateConfig
from pipeline.errors import HeadraceError

pytestmark = pytest.mark.tf

EVALUATE = EvaluateConfig(metrics=["auc", "accuracy"], slices=[["carrier"]], min_slice_examples=100)
EDGE = EdgeEvaluateConfig(metric="auc", max_drop=0.02)


@pytest.fixture(scope="module")
def evaluation(world, tmp_path_factory):
    """Folder of the float model's evaluation."""
    folder = str(tmp_path_factory.mktemp("evaluation"))
    evaluate(world.model, world.examples, world.transformed, None, EVALUATE, "binary", "late", folder)
    return folder


@pytest.fixture(scope="module")
def report(world, evaluation, tmp_path_factory):
    """The report of the world's TFLite files, and its folder."""
    folder = tmp_path_factory.mktemp("edge")
    found = evaluate_edge(world.quantized, world.transformed, evaluation, EDGE, EVALUATE, "binary", "late", str(folder))
    return found, folder


def test_every_model_has_the_float_models_metrics_and_slices(world, report):
    found, _ = report
    assert [model.scheme for model in found.models] == ["float32", "int8"]
    for model in found.models:
        assert {name: set(values) for name, values in model.metrics.items()} == {
            name: {"auc", "accuracy", "example_count"} for name in ("overall", "carrier=AA", "carrier=B6", "carrier=OO")
        }
    exact, int8 = found.models
    area = oracle.roc_auc_score(world.labels, world.probabilities[:, 0])
    assert exact.metrics["overall"]["auc"] == pytest.approx(area, abs=1e-6)
    assert int8.metrics["overall"]["auc"] == pytest.approx(area, abs=0.01)


def test_the_difference_lies_in_its_interval(report):
    found, _ = report
    for model in found.models:
        expected = model.metrics["overall"]["auc"] - found.float_metrics["overall"]["auc"]
        assert model.delta.value == pytest.approx(expected)
        assert model.delta.low <= model.delta.value <= model.delta.high
    assert found.models[0].agreement == 1.0 and 0.95 < found.models[1].agreement <= 1.0
    assert found.models[0].latency_ratio == 1.0 and all(model.latency_us > 0 for model in found.models)


def test_the_report_is_written_as_json(report):
    found, folder = report
    assert json.loads((folder / "report.json").read_text()) == found.summary()


def test_each_limit_has_its_line():
    float_metrics = {
        "overall": {"accuracy": 0.9, "example_count": 1000},
        "carrier=AA": {"accuracy": 0.9, "example_count": 200},
        "carrier=OO": {"accuracy": 0.9, "example_count": 20},
        "carrier=XX": {"accuracy": float("nan"), "example_count": 200},
    }
    lost = {name: values | {"accuracy": values["accuracy"] - 0.1} for name, values in float_metrics.items()}
    config = EdgeEvaluateConfig(metric="accuracy", max_drop=0.005, max_slice_drop=0.05)
    assert broken_limits(config, 200, lost, float_metrics) == [
        "accuracy drops by 0.1000, limit 0.005",
        "accuracy drops by 0.1000 in carrier=AA, limit 0.05",
    ]
    assert broken_limits(config, 200, float_metrics, float_metrics) == []


def test_a_drop_has_the_direction_of_its_metric():
    assert drop("auc", {"auc": 0.7}, {"auc": 0.8}) == pytest.approx(0.1)
    assert drop("log_loss", {"log_loss": 0.5}, {"log_loss": 0.4}) == pytest.approx(0.1)
    assert drop("calibration", {"calibration": 0.8}, {"calibration": 1.1}) == pytest.approx(0.1)
    assert drop("auc", {"auc": float("nan")}, {"auc": 0.8}) == float("inf")


def test_only_gated_schemes_stop_the_run(world, evaluation, tmp_path):
    edge = EdgeEvaluateConfig(metric="auc", max_drop=0.0, max_size_ratio=0.5, gate=["float32"])
    found = evaluate_edge(
        world.quantized, world.transformed, evaluation, edge, EVALUATE, "binary", "late", str(tmp_path)
    )
    int8 = found.models[1]
    assert int8.reasons and not int8.passed and not int8.gated
    assert int8.reasons[-1] == "size 1.00 of the float32 file, limit 0.5"


def test_a_gate_on_a_scheme_that_was_not_made_is_refused(world, evaluation, tmp_path):
    edge = EdgeEvaluateConfig(metric="auc", gate=["float16"])
    with pytest.raises(HeadraceError) as caught:
        evaluate_edge(world.quantized, world.transformed, evaluation, edge, EVALUATE, "binary", "late", str(tmp_path))
    assert caught.value.code == "HR-EDGE-005" and "float16" in caught.value.what


def test_predictions_of_other_rows_are_refused(world, evaluation, tmp_path):
    shutil.copytree(evaluation, tmp_path / "e")
    with np.load(tmp_path / "e" / "predictions.npz") as saved:
        arrays = dict(saved)
    np.savez(tmp_path / "e" / "predictions.npz", **arrays | {"labels": 1 - arrays["labels"]})
    uris = (world.quantized, world.transformed, str(tmp_path / "e"))
    with pytest.raises(HeadraceError) as caught:
        evaluate_edge(*uris, EDGE, EVALUATE, "binary", "late", str(tmp_path))
    assert caught.value.code == "HR-EDGE-005"
    (tmp_path / "e" / "predictions.npz").unlink()
    with pytest.raises(HeadraceError) as caught:
        evaluate_edge(*uris, EDGE, EVALUATE, "binary", "late", str(tmp_path))
    assert "no predictions" in caught.value.what


@pytest.mark.parametrize(("limit", "passed"), [(0.02, 1), (-1.0, 0)])
def test_the_component_reports_the_gate(world, evaluation, tmp_path, limit, passed, monkeypatch):
    from tfx.types import standard_artifacts

    from components.artifacts import EdgeEvaluation, QuantizedModels

    def artifact(kind, uri):
        found = kind()
        found.uri = str(uri)
        return found

    edge = EDGE.model_dump(mode="json")
    if limit < 0:  # nothing real loses enough here: let every drop count
        monkeypatch.setattr("components.evaluator.edge.drop", lambda *_: 1.0)
    output = artifact(EdgeEvaluation, tmp_path)
    with listening(Listener()) as listener:
        EdgeEvaluator.test_call(
            transformed_examples=artifact(standard_artifacts.Examples, world.transformed),
            evaluation=artifact(standard_artifacts.ModelEvaluation, evaluation),
            quantized=artifact(QuantizedModels, world.quantized),
            edge_evaluation=output,
            config=json.dumps(
                {
                    "edge_evaluate": edge,
                    "evaluate": EVALUATE.model_dump(mode="json"),
                    "problem": "binary",
                    "label": "late",
                }
            ),
        )
    assert output.passed == passed
    assert (listener.outcome.stop is None) == bool(passed)
    if not passed:
        assert listener.outcome.stop.code == "HR-EDGE-001"
        assert listener.outcome.stop.seen[0] == "int8: auc drops by 1.0000, limit 0.02"
