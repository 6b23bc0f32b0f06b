"""A run is started once, followed step by step, and ends the command as it ended."""

import pytest

from pipeline.errors import HeadraceError
from pipeline.kubeflow.publish import runs
from pipeline.kubeflow.publish.experiments import experiment_id
from pipeline.kubeflow.publish.versions import publish
from tests.pipeline.kubeflow.publish.fake_kfp import Fault


@pytest.fixture
def published(api, package):
    return publish(api, package, "v14")


def begin(api, published, **parameters):
    return runs.start(api, published, parameters, experiment_id(api, "headrace"), "headrace-runner")


def refused(call, *arguments, **named):
    with pytest.raises(HeadraceError) as error:
        call(*arguments, **named)
    return error.value


def test_a_run_is_of_the_published_version_with_its_parameters(kfp_server, api, published):
    started = begin(api, published, **{"train-epochs": 5})
    (run,) = kfp_server.runs.values()
    assert run["run_id"] == started.run_id
    assert run["pipeline_version_reference"]["pipeline_version_id"] == published.version_id
    assert run["runtime_config"] == {"parameters": {"train-epochs": 5}}  # no pipeline_root: Kubeflow's own pages only
    assert run["service_account"] == "headrace-runner"
    assert [one["display_name"] for one in kfp_server.experiments.values()] == ["headrace"]


def test_an_experiment_is_made_once(kfp_server, api, published):
    begin(api, published), begin(api, published)
    assert (len(kfp_server.experiments), len(kfp_server.runs)) == (1, 2)


@pytest.mark.parametrize("path, created", [("runs", "runs"), ("experiments", "experiments")])
def test_an_answer_lost_after_the_start_starts_no_second_run(kfp_server, api, published, path, created):
    kfp_server.faults = [Fault("POST", path, "drop")]
    started = begin(api, published)
    assert len(getattr(kfp_server, created)) == 1
    assert started.run_id in kfp_server.runs


def test_a_parameter_that_the_pipeline_lacks_is_the_servers_word(kfp_server, api, published):
    error = refused(begin, api, published, nonsense=1)
    assert error.code == "HR-KFP-062"
    assert "parameter nonsense is not found" in error.seen[0]


def test_following_tells_each_change_of_each_step_once(kfp_server, api, published):
    started = begin(api, published)
    kfp_server.progress = [
        ("PENDING", {}),
        ("RUNNING", {"prepare": ("RUNNING", "")}),
        ("RUNNING", {"prepare": ("SUCCEEDED", ""), "examplegen": ("RUNNING", "")}),
        ("RUNNING", {"prepare": ("SUCCEEDED", ""), "examplegen": ("RUNNING", "")}),
        ("SUCCEEDED", {"prepare": ("SUCCEEDED", ""), "examplegen": ("SUCCEEDED", "")}),
    ]
    told = []
    ended = runs.follow(api, started.run_id, told.append, 30, poll_s=0.01)
    assert ended.state == "SUCCEEDED"
    assert [(step.name, step.state) for step in told] == [
        ("prepare", "RUNNING"), ("prepare", "SUCCEEDED"), ("examplegen", "RUNNING"), ("examplegen", "SUCCEEDED"),
    ]  # fmt: skip


@pytest.mark.parametrize("state", ["FAILED", "CANCELED", "SKIPPED"])
def test_a_run_that_does_not_succeed_names_its_steps(kfp_server, api, published, state):
    started = begin(api, published)
    kfp_server.progress = [(state, {"prepare": ("SUCCEEDED", ""), "trainer": ("FAILED", "OOMKilled (exit code 137)")})]
    error = refused(runs.follow, api, started.run_id, lambda step: None, 30, poll_s=0.01)
    assert (error.code, error.exit_code) == ("HR-KFP-065", 4)
    assert error.seen == ["trainer: OOMKilled (exit code 137)"]
    assert error.fix == [f"headrace kubeflow logs TASK {started.run_id} trainer"]


def test_following_ends_at_its_deadline(kfp_server, api, published):
    started = begin(api, published)
    kfp_server.progress = [("RUNNING", {"trainer": ("RUNNING", "")})]
    error = refused(runs.follow, api, started.run_id, lambda step: None, 0.1, poll_s=0.02)
    assert (error.code, list(error.seen)) == ("HR-KFP-066", ["trainer RUNNING"])


def test_following_outlives_a_server_that_is_busy(kfp_server, api, published):
    started = begin(api, published)
    kfp_server.progress = [("SUCCEEDED", {})]
    kfp_server.faults = [Fault("GET", f"runs/{started.run_id}", 503, 2)]
    assert runs.follow(api, started.run_id, print, 30).state == "SUCCEEDED"


def test_the_latest_runs_come_first_and_those_of_other_pipelines_not_at_all(kfp_server, api, published):
    seconds = iter(range(2_000_000_000, 2_000_001_000))
    kfp_server.clock = lambda: next(seconds)
    first, second = begin(api, published), begin(api, published)
    other = kfp_server.create_pipeline("digits", "", {})
    kfp_server.create_version(other["pipeline_id"], "x", {}, {"root": {}})
    foreign = {**kfp_server.runs[first.run_id], "pipeline_version_reference": {"pipeline_id": other["pipeline_id"]}}
    kfp_server.runs_post([], {}, {**foreign, "runtime_config": {}})
    found = runs.latest_runs(api, published.pipeline_id, 10)
    assert [run.run_id for run in found] == [second.run_id, first.run_id]
    assert runs.latest_run(api, "flights", published.pipeline_id).run_id == second.run_id


def test_what_does_not_exist_is_said(api, published):
    assert refused(runs.find_run, api, "nope").code == "HR-KFP-059"
    assert refused(runs.latest_run, api, "flights", published.pipeline_id).code == "HR-KFP-059"
