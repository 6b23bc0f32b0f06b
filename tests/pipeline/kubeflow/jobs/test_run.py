"""A child job from its start to its removal, on a cluster in memory through the real client."""

import pytest

from tests.pipeline.kubeflow.jobs.conftest import Running, child_job
from tests.pipeline.kubeflow.jobs.fake_kubernetes import JOBSETS, PODS, TFJOBS, Fault


def succeed(cluster, workers=2):
    for index in range(workers):
        cluster.starts(index)
    for index in range(workers):
        cluster.ends(index)


@pytest.mark.parametrize("backend, plural", [("jobset", JOBSETS), ("tfjob", TFJOBS)])
def test_a_job_that_succeeds_passes_the_chiefs_log_on_in_order_and_is_deleted(cluster, backend, plural):
    job = child_job(workers={"backend": backend})
    running = Running(job, cluster.api())
    cluster.starts(0)
    cluster.starts(1)
    cluster.writes(0, *(f"step {number}" for number in range(50)))
    cluster.writes(1, "of another worker")
    cluster.ends(1)
    cluster.writes(0, "done")
    cluster.ends(0)
    assert running.end() is None
    assert running.lines[1:] == [*(f"step {number}" for number in range(50)), "done"]
    cluster.wait_for(lambda: (plural, job.name) in cluster.deleted)
    assert not cluster.of(PODS)


def test_a_job_of_an_earlier_attempt_is_taken_over_and_belongs_to_the_new_pod(cluster):
    from dataclasses import replace

    from pipeline.kubeflow.jobs.child import Owner
    from pipeline.kubeflow.jobs.manifest import jobset

    first = child_job()
    cluster.create(JOBSETS, "team", jobset(first))
    second = replace(first, owner=Owner("flights-trainer-2", "uid-2", "team"))
    running = Running(second, cluster.api())
    cluster.wait_for(lambda: cluster.of(JOBSETS)[0]["metadata"]["ownerReferences"][0]["uid"] == "uid-2")
    succeed(cluster)
    assert running.end() is None
    assert running.lines == [f"taking over JobSet {first.name} of an earlier attempt"]
    assert len(cluster.requests("create", JOBSETS)) == 1


def test_a_worker_killed_for_memory_is_named(cluster):
    running = Running(child_job(), cluster.api())
    cluster.starts(1)
    cluster.writes(1, "allocating")
    cluster.ends(1, exit_code=137, reason="OOMKilled")
    error = running.end()
    assert (error.code, error.family) == ("HR-KFP-078", "user")
    assert error.seen[0] == "worker 1: OOMKilled, exit code 137"
    assert "worker 1 | allocating" in running.lines
    cluster.wait_for(lambda: not cluster.of(JOBSETS))


def test_a_broken_log_is_resumed_without_a_line_lost_or_repeated(cluster):
    cluster.faults.append(Fault("log", PODS, "drop", after=3, count=2))
    running = Running(child_job(), cluster.api())
    cluster.starts(0)
    cluster.starts(1)
    cluster.writes(0, *("same", "same", "other", "same", "last"), stamp="2026-01-01T00:00:00.5Z")
    cluster.wait_for(lambda: len(cluster.requests("log", PODS)) >= 3)
    cluster.writes(0, "after")
    cluster.ends(0)
    cluster.ends(1)
    assert running.end() is None
    assert running.lines[1:] == ["same", "same", "other", "same", "last", "after"]
