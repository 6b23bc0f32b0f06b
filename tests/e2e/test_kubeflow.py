"""The compiled pipeline, executed step by step against real databases, ends as the local run does."""

import json
import subprocess
import sys

import numpy as np
import pytest

from components import examples
from tests.e2e import lineage
from tests.e2e.cluster import Cluster, explained, random_kills, statuses
from tests.object_store import BUCKET
from tests.pipeline.kubeflow import databases

pytestmark = [pytest.mark.tf, pytest.mark.slow, pytest.mark.cluster, pytest.mark.timeout(1800)]

BACKENDS = ("mysql", "postgresql")


@pytest.fixture(scope="module", params=BACKENDS)
def cluster(request, tmp_path_factory):
    if reason := databases.missing(request.param):
        pytest.skip(reason)
    folder = tmp_path_factory.mktemp(request.param)
    (folder / "root").mkdir()
    with databases.server(request.param, folder / "db") as database:
        yield Cluster(database, str(folder / "root"), folder / "work")


@pytest.fixture(scope="module")
def digits(tmp_path_factory):
    """The digits task run locally, once."""
    return local_run(tmp_path_factory.mktemp("local"), "digits")


def local_run(folder, task):
    command = [sys.executable, "-m", "pipeline.cli"]
    subprocess.run([*command, "data", task, "--to", str(folder / "data")], cwd=folder, check=True)
    done = subprocess.run([*command, "run", task, "--json"], cwd=folder, check=True, capture_output=True, text=True)
    del done
    [record] = (folder / "runs" / task).glob("*/run.json")
    return folder, json.loads(record.read_text())


def local_store(folder, task):
    from tfx.orchestration import metadata

    with metadata.Metadata(metadata.sqlite_metadata_connection_config(f"{folder}/runs/{task}/metadata.sqlite")) as m:
        return m.store


def answers(model_dir, examples_uri):
    import tensorflow as tf

    records = [r for batch in examples.read_serialized(examples_uri, "eval") for r in batch][:200]
    model = tf.saved_model.load(model_dir)
    return model.signatures["serving_default"](tf.constant(records))["outputs"].numpy()


def outcomes(store, run_id):
    from pipeline.recording import read_outcome

    [context] = [c for c in store.get_contexts_by_type("pipeline_run") if c.name == run_id]
    kinds = {kind.id: kind.name for kind in store.get_execution_types()}
    return {
        kinds[e.type_id].rpartition(".")[2]: read_outcome(e.custom_properties).summary
        for e in store.get_executions_by_context(context.id)
    }


def compare(cluster, result, local, task):
    """Hold a simulated run against a local one: lineage, blessing, metrics, served answers."""
    folder, record = local
    ours, theirs = local_store(folder, task), cluster.store()
    here, there = lineage.graph(ours, record["run_id"]), lineage.graph(theirs, result.run_id)
    lineage.digests(here), lineage.digests(there)
    assert there == here
    summaries = {node["id"]: node["summary"] for node in record["nodes"]}
    played = outcomes(theirs, result.run_id)
    assert played["Evaluator"]["blessed"] is summaries["Evaluator"]["blessed"] is True
    assert played["Evaluator"]["metrics"]["overall"] == pytest.approx(
        summaries["Evaluator"]["metrics"]["overall"], abs=1e-6
    )
    assert played["Pusher"]["version"] == 1
    raw = next(node["outputs"]["examples"]["uri"] for node in record["nodes"] if node["id"] == "ExampleGen")
    np.testing.assert_allclose(
        answers(f"{cluster.root}/{task}/serving/1", raw),
        answers(str(folder / "runs" / task / "serving" / "1"), raw),
        atol=1e-6,
    )


def test_digits_ends_as_the_local_run_does_and_is_not_run_twice(cluster, digits):
    folder, _ = digits
    package = cluster.compile("digits", f"data.path={folder}/data/digits")
    result = cluster.play(package)
    assert result.state == "SUCCEEDED", explained(result)
    compare(cluster, result, digits, "digits")
    again = cluster.play(package)
    assert again.state == "SUCCEEDED", explained(again)
    found = statuses(again)
    del found["prepare"], found["latestblessedmodel"]
    assert set(found.values()) == {"CACHED"}


def test_steps_that_are_killed_at_random_are_tried_again_and_end_the_same(finished, tmp_path, s3_environ, object_store):
    if reason := databases.missing("mysql"):
        pytest.skip(reason)
    kill, killed = random_kills(seed=3)
    result = play_in_object_store(finished, tmp_path, s3_environ, object_store, "2.17", kill)
    assert killed and any(len(step.attempts) > 1 for step in result.steps.values())


@pytest.mark.long
def test_the_oldest_kubeflow_stages_an_object_store_too(finished, tmp_path, s3_environ, object_store):
    if reason := databases.missing("mysql"):
        pytest.skip(reason)
    play_in_object_store(finished, tmp_path, s3_environ, object_store, "2.14")


def play_in_object_store(finished, tmp_path, s3_environ, object_store, profile, kill=None):
    """Play with the pipeline root on s3, hold the lineage against the local run, and return the result."""
    root = f"s3://{BUCKET}/root-{profile}"
    object_store.put(f"{finished.dir}/tumours.csv", f"{root}/tumours.csv")
    with databases.server("mysql", tmp_path / "db") as database:
        cluster = Cluster(database, root, tmp_path / "work")
        package = cluster.compile(finished.task, f"kubernetes.task_dir={finished.task}", env=s3_environ)
        result = cluster.play(package, profile=profile, kill=kill)
        assert result.state == "SUCCEEDED", explained(result)
        assert object_store.exists(f"{root}/tumours/serving/1/saved_model.pb")
        there = lineage.graph(cluster.store(), result.run_id)
        here = lineage.graph(local_store(finished.dir, "tumours"), finished.last()["run_id"])
        lineage.digests(here), lineage.digests(there)
        assert there == here
        return result


def test_bad_data_stops_the_run_once_with_its_own_code(finished, tmp_path):
    if reason := databases.missing("postgresql"):
        pytest.skip(reason)
    (tmp_path / "root").mkdir()
    rows = (finished.dir / "tumours.csv").read_text().splitlines()
    rows[7] = rows[7].replace("small", "tiny").replace("medium", "tiny").replace("large", "tiny")
    (tmp_path / "root" / "tumours.csv").write_text("\n".join(rows) + "\n")
    with databases.server("postgresql", tmp_path / "db") as database:
        cluster = Cluster(database, str(tmp_path / "root"), tmp_path / "work")
        result = cluster.play(cluster.compile(finished.task, f"kubernetes.task_dir={finished.task}"))
        assert result.state == "FAILED"
        assert result.steps["examplevalidator"].state == "FAILED"
        assert {attempt.exit_code for attempt in result.steps["examplevalidator"].attempts} == {3}
        assert "HR-DATA-201" in explained(result)
        assert not (tmp_path / "root" / "tumours" / "serving").exists()


@pytest.mark.long
@pytest.mark.parametrize("backend", BACKENDS)
def test_flights_ends_as_the_local_run_does(backend, tmp_path):
    if reason := databases.missing(backend):
        pytest.skip(reason)
    local = local_run(tmp_path, "flights")
    (tmp_path / "root").mkdir()
    with databases.server(backend, tmp_path / "db") as database:
        cluster = Cluster(database, str(tmp_path / "root"), tmp_path / "work")
        result = cluster.play(cluster.compile("flights", f"data.path={tmp_path}/data/flights/flights.csv"))
        assert result.state == "SUCCEEDED", explained(result)
        compare(cluster, result, local, "flights")


def test_a_step_trains_on_two_workers_of_a_child_job_and_the_model_is_pushed(finished, tmp_path):
    import yaml

    from tests.pipeline.kubeflow.jobs.fake_kubernetes import FakeKubernetes

    if reason := databases.missing("mysql"):
        pytest.skip(reason)
    (tmp_path / "root").mkdir()
    with databases.server("mysql", tmp_path / "db") as database, FakeKubernetes(run_pods=True).serving() as kubernetes:
        kubeconfig = {
            "clusters": [{"name": "c", "cluster": {"server": kubernetes.host}}],
            "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
            "users": [{"name": "u", "user": {}}],
            "current-context": "c",
        }
        (tmp_path / "kubeconfig").write_text(yaml.safe_dump(kubeconfig))
        cluster = Cluster(database, str(tmp_path / "root"), tmp_path / "work")
        package = cluster.compile(
            finished.task,
            f"kubernetes.task_dir={finished.task}",
            f"data.path={finished.dir}/tumours.csv",
            "kubernetes.steps={Trainer: {workers: {replicas: 2}}}",
            env={"KUBECONFIG": str(tmp_path / "kubeconfig")},
        )
        result = cluster.play(package)
        assert result.state == "SUCCEEDED", explained(result)
        assert [
            verb for verb, plural, *_ in kubernetes.log if plural == "jobsets" and verb in ("create", "delete")
        ] == [
            "create",
            "delete",
        ]
        log = (tmp_path / "work" / "run-0" / "steps" / "trainer" / "attempt-0.log").read_text()
        assert "worker 0:" in log
        played = outcomes(cluster.store(), result.run_id)
        assert played["Evaluator"]["blessed"] and played["Evaluator"]["metrics"]["overall"]["auc"] > 0.95
        assert played["Trainer"]["steps"] == finished.last()["nodes"]["Trainer"]["summary"]["steps"]
