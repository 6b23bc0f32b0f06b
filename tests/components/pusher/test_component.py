import itertools
import json
from types import SimpleNamespace

import pytest

from components.pusher.gate import refusal
from components.reporting import Listener, listening


@pytest.mark.parametrize("verdicts", list(itertools.product([True, False, None], repeat=3)))
def test_only_a_model_that_no_gate_refused_may_be_pushed(verdicts):
    reason = refusal(*verdicts)
    assert bool(reason) == (False in verdicts)
    assert len(reason.split("; ")) == max(1, verdicts.count(False))


@pytest.fixture
def artifacts(tmp_path):
    """Return a model and one artifact of each input and output, as the launcher would hand them over."""
    from tfx.types import standard_artifacts

    from components.artifacts import EdgeEvaluation

    model = standard_artifacts.Model()
    model.uri = str(tmp_path / "model")
    serving = tmp_path / "model" / "Format-Serving"
    serving.mkdir(parents=True)
    (serving / "saved_model.pb").write_bytes(b"graph")
    model_blessing, infra_blessing = standard_artifacts.ModelBlessing(), standard_artifacts.InfraBlessing()
    edge, pushed = EdgeEvaluation(), standard_artifacts.PushedModel()
    pushed.uri = str(tmp_path / "pushed")
    for blessing in (model_blessing, infra_blessing):
        blessing.set_int_custom_property("blessed", 1)
    edge.passed = 1
    return SimpleNamespace(
        model=model, model_blessing=model_blessing, infra_blessing=infra_blessing, edge_evaluation=edge, pushed=pushed
    )


def run(artifacts, base, **inputs):
    from components.pusher.component import Pusher

    listener = Listener()
    given = {name: getattr(artifacts, name) for name in ("model_blessing", "infra_blessing", "edge_evaluation")}
    with listening(listener):
        Pusher.test_call(
            model=artifacts.model,
            pushed_model=artifacts.pushed,
            config=json.dumps({"push": {"base_dir": str(base)}}),
            **{**given, **inputs},
        )
    assert listener.outcome.stop is None
    return listener.outcome.summary


def test_a_model_that_passed_is_pushed_and_marked_as_tfx_marks_it(artifacts, tmp_path):
    base = tmp_path / "serving"
    summary = run(artifacts, base)
    assert summary == {"version": 1, "path": str(base / "1"), "pushed": True, "reason": ""}
    assert artifacts.pushed.get_int_custom_property("pushed") == 1
    assert artifacts.pushed.get_string_custom_property("pushed_destination") == str(base / "1")
    assert artifacts.pushed.get_string_custom_property("pushed_version") == "1"
    assert json.loads((tmp_path / "pushed" / "pushed.json").read_text()) == summary
    again = run(artifacts, base)
    assert (again["pushed"], again["version"], again["path"]) == (False, 1, str(base / "1"))
    assert artifacts.pushed.get_int_custom_property("pushed") == 1


@pytest.mark.parametrize("gate", ["model_blessing", "infra_blessing", "edge_evaluation"])
def test_a_model_that_failed_one_gate_is_not_pushed_and_the_summary_says_why(artifacts, tmp_path, gate):
    if gate == "edge_evaluation":
        artifacts.edge_evaluation.passed = 0
    else:
        getattr(artifacts, gate).set_int_custom_property("blessed", 0)
    summary = run(artifacts, tmp_path / "serving")
    assert (summary["pushed"], summary["version"], summary["path"]) == (False, None, "")
    assert summary["reason"]
    assert artifacts.pushed.get_int_custom_property("pushed") == 0
    assert not (tmp_path / "serving").exists()


def test_a_pipeline_without_gates_pushes(artifacts, tmp_path):
    summary = run(artifacts, tmp_path / "serving", model_blessing=None, infra_blessing=None, edge_evaluation=None)
    assert summary["pushed"]
