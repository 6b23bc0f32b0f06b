"""A child job from its start to its removal, on a cluster in memory through the real client."""

from dataclasses import replace

import pytest

from pipeline.errors import HeadraceError
from pipeline.kubeflow.jobs.child import Owner
from pipeline.kubeflow.jobs.manifest import jobset
from pipeline.kubeflow.jobs.run import run_child_job
from tests.pipeline.kubeflow.jobs.conftest import QUICK, Running, child_job
from tests.pipeline.kubeflow.jobs.fake_kubernetes import EVENTS, JOBSETS, PODS, TFJOBS, Fault

EVICTION = {
    "type": "DisruptionTarget",
    "status": "True",
    "reason": "PreemptionByScheduler",
    "message": "a higher class",
}


def succeed(cluster, workers=2):
    for index in range(workers):
        cluster.starts(index)
    for index in range(workers):
        cluster.ends(index)


def second_attempt(job):
    return replace(job, owner=Owner("flights-trainer-2", "uid-2", "team"))


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
    first = child_job()
    cluster.create(JOBSETS, "team", jobset(first))
    running = Running(second_attempt(first), cluster.api())
    cluster.wait_for(lambda: cluster.of(JOBSETS)[0]["metadata"]["ownerReferences"][0]["uid"] == "uid-2")
    succeed(cluster)
    assert running.end() is None
    assert running.lines == [f"taking over JobSet {first.name} of an earlier attempt"]
    assert len(cluster.requests("create", JOBSETS)) == 1


def test_a_job_that_has_succeeded_in_an_earlier_attempt_is_taken_as_done(cluster):
    job = child_job()
    cluster.create(JOBSETS, "team", jobset(job))
    succeed(cluster)
    run_child_job(second_attempt(job), cluster.api(), lambda line: None, QUICK)
    cluster.wait_for(lambda: cluster.deleted.count((JOBSETS, job.name)) == 1)


def test_a_job_that_has_failed_in_an_earlier_attempt_is_started_anew(cluster):
    job = child_job()
    cluster.create(JOBSETS, "team", jobset(job))
    before = cluster.of(JOBSETS)[0]["metadata"]["uid"]
    cluster.ends(0, exit_code=4)
    running = Running(second_attempt(job), cluster.api())
    cluster.wait_for(lambda: [j for j in cluster.of(JOBSETS) if j["metadata"]["uid"] != before])
    succeed(cluster)
    assert running.end() is None
    assert running.lines[0] == f"{job.name} has failed in an earlier attempt: starting it anew"


def test_a_job_of_someone_else_under_the_name_is_refused_and_left(cluster):
    job = child_job()
    body = jobset(job)
    body["metadata"]["labels"] = {"headrace/run": "another"}
    cluster.create(JOBSETS, "team", body)
    with pytest.raises(HeadraceError) as error:
        run_child_job(job, cluster.api(), lambda line: None, QUICK)
    assert error.value.code == "HR-KFP-075"
    assert error.value.seen == ["its labels: headrace/run=another headrace/node="]
    assert len(cluster.of(JOBSETS)) == 1 and not cluster.deleted


def test_a_job_that_never_goes_away_is_reported(cluster):
    job = child_job()
    cluster.lingers = True
    cluster.create(JOBSETS, "team", jobset(job))
    cluster.delete(JOBSETS, "team", job.name, {})
    with pytest.raises(HeadraceError) as error:
        run_child_job(job, cluster.api(), lambda line: None, replace(QUICK, leave_s=0.1))
    assert error.value.code == "HR-KFP-088"
    assert error.value.seen == ["still there after 0.1 s"]


def test_a_later_attempt_that_takes_the_job_over_keeps_it(cluster):
    job = child_job()
    first = Running(job, cluster.api())
    cluster.starts(0)
    second = Running(second_attempt(job), cluster.api())
    error = first.end()
    assert (error.code, error.what) == ("HR-KFP-088", f"the child job {job.name} was taken over by a later attempt")
    assert len(cluster.of(JOBSETS)) == 1
    succeed(cluster)
    assert second.end() is None


def test_a_job_that_somebody_deletes_is_reported(cluster):
    job = child_job()
    running = Running(job, cluster.api())
    cluster.starts(0)
    cluster.delete(JOBSETS, "team", job.name, {})
    error = running.end()
    assert (error.code, error.what) == ("HR-KFP-088", f"the child job {job.name} was deleted")


def test_a_worker_killed_for_memory_is_named_with_its_last_lines(cluster):
    running = Running(child_job(), cluster.api())
    cluster.starts(1)
    cluster.writes(1, *(f"line {number}" for number in range(30)))
    cluster.ends(1, exit_code=137, reason="OOMKilled")
    error = running.end()
    assert (error.code, error.family) == ("HR-KFP-078", "user")
    assert error.seen[0] == "worker 1: OOMKilled, exit code 137"
    assert [line for line in running.lines if "|" in line] == [f"worker 1 | line {n}" for n in range(10, 30)]
    cluster.wait_for(lambda: not cluster.of(JOBSETS))


@pytest.mark.parametrize(
    "end, code, seen",
    [
        ({"exit_code": 1}, "HR-KFP-077", "worker 1: exit code 1"),
        ({"exit_code": 137}, "HR-KFP-077", "worker 1: exit code 137 (signal 9)"),
        ({"exit_code": 2}, "HR-KFP-076", "worker 1: exit code 2"),
        ({"exit_code": 3}, "HR-KFP-076", "worker 1: exit code 3"),
        ({"pod_reason": "Evicted"}, "HR-KFP-087", "worker 1: Evicted"),
        ({"exit_code": 143, "conditions": [EVICTION]}, "HR-KFP-087", "worker 1: PreemptionByScheduler: a higher class"),
        ({"pod_reason": "UnexpectedAdmissionError"}, "HR-KFP-077", "worker 1: UnexpectedAdmissionError"),
    ],
)
def test_why_a_worker_has_failed_is_said_in_words(cluster, end, code, seen):
    running = Running(child_job(), cluster.api())
    cluster.starts(1)
    cluster.ends(1, **end)
    error = running.end()
    assert (error.code, error.seen[0]) == (code, seen)
    assert seen in running.lines


def test_the_worker_that_explains_the_others_is_named_first(cluster):
    """Peers of a worker that is killed end with errors of their own, sometimes before it is seen to be dead."""
    running = Running(child_job(workers={"replicas": 3, "max_restarts": 0}), cluster.api())
    for index in range(3):
        cluster.starts(index)
    with cluster.changed:
        cluster.set_status(
            cluster.pod(0), "Failed", {"terminated": {"exitCode": 1, "finishedAt": "2026-01-01T00:00:00Z"}}
        )
        cluster.ends(2, exit_code=137, reason="OOMKilled")
    error = running.end()
    assert error.code == "HR-KFP-078"
    assert error.seen[:2] == ["worker 2: OOMKilled, exit code 137", "worker 0: exit code 1"]


def test_workers_that_are_started_again_may_still_succeed(cluster):
    running = Running(child_job(workers={"max_restarts": 1}), cluster.api())
    cluster.starts(0)
    cluster.writes(0, "first start")
    cluster.wait_for(lambda: "first start" in running.lines)
    cluster.ends(1, pod_reason="Evicted")
    cluster.wait_for(lambda: "worker 1: Evicted" in running.lines)
    cluster.starts(0)
    cluster.writes(0, "second start")
    cluster.starts(1)
    cluster.ends(0)
    cluster.ends(1)
    assert running.end() is None
    assert running.lines[1:] == ["first start", "worker 1: Evicted", "second start"]


@pytest.mark.parametrize(
    "happens, code, seen",
    [
        (
            lambda cluster: cluster.unschedulable(1, "0/3 nodes are available: 3 Insufficient nvidia.com/gpu."),
            "HR-KFP-079",
            "worker 1: Unschedulable: 0/3 nodes are available: 3 Insufficient nvidia.com/gpu.",
        ),
        (
            lambda cluster: cluster.waits(1, "ImagePullBackOff", 'Back-off pulling image "x"'),
            "HR-KFP-082",
            'worker 1: ImagePullBackOff: Back-off pulling image "x"',
        ),
        (lambda cluster: cluster.waits(1, "InvalidImageName"), "HR-KFP-082", "worker 1: InvalidImageName"),
        (
            lambda cluster: cluster.waits(1, "CreateContainerConfigError", 'secret "keys" not found'),
            "HR-KFP-089",
            'worker 1: CreateContainerConfigError: secret "keys" not found',
        ),
    ],
)
def test_a_worker_that_waits_in_vain_is_reported_and_the_job_deleted(cluster, happens, code, seen):
    running = Running(child_job(), cluster.api())
    happens(cluster)
    error = running.end()
    assert (error.code, error.seen) == (code, [seen])
    assert running.lines[1:] == [seen]
    cluster.wait_for(lambda: not cluster.of(JOBSETS))


def test_a_worker_whose_node_comes_in_time_goes_on(cluster):
    running = Running(child_job(), cluster.api(), replace(QUICK, schedule_s=30))
    cluster.unschedulable(0, "0/3 nodes are available")
    cluster.wait_for(lambda: len(running.lines) == 2)
    succeed(cluster)
    assert running.end() is None


@pytest.mark.parametrize(
    "message, code",
    [
        ('pods "x" is forbidden: exceeded quota: gpus, requested: requests.nvidia.com/gpu=1, used: 4', "HR-KFP-073"),
        ('pods "x" is forbidden: violates PodSecurity "restricted:latest"', "HR-KFP-089"),
    ],
)
def test_pods_that_cannot_be_created_are_explained_by_events(cluster, message, code):
    cluster.create_pods = False
    job = child_job()
    cluster.warns("FailedCreate", f"{job.name}-worker-0", "of a job before", at="2020-01-01T00:00:00Z")
    cluster.warns("FailedCreate", "of-someone-else", "exceeded quota", at="2100-01-01T00:00:00Z")
    running = Running(job, cluster.api())
    cluster.wait_for(lambda: cluster.of(JOBSETS))
    cluster.warns("FailedCreate", f"{job.name}-worker-0", message, at="2100-01-01T00:00:00Z")
    error = running.end()
    assert error.code == code
    assert message in error.seen[0]
    assert running.lines[1:] == [f"worker ?: {message}"]
    assert cluster.requests("list", EVENTS)[0] == {"fieldSelector": "type=Warning"}


def test_a_job_that_takes_too_long_is_ended_with_the_last_lines_of_all(cluster):
    running = Running(child_job(timeout_s=1), cluster.api())
    cluster.starts(1)
    cluster.writes(1, "still at it")
    error = running.end()
    assert (error.code, sorted(error.seen)) == ("HR-KFP-080", ["worker 0: Pending", "worker 1: Running"])
    assert "worker 1 | still at it" in running.lines
    cluster.wait_for(lambda: not cluster.of(JOBSETS))


def test_a_queue_that_holds_the_job_back_is_said_once(cluster):
    cluster.create_pods = False
    job = child_job(workers={"queue": "gpus"})
    running = Running(job, cluster.api())
    cluster.wait_for(lambda: cluster.of(JOBSETS))
    for _ in range(2):
        with cluster.changed:
            cluster.conclude(JOBSETS, cluster.objects[JOBSETS, "team", job.name], "Suspended", "Queued", "")
    cluster.wait_for(lambda: len(running.lines) == 2)
    with cluster.changed:
        cluster.conclude(JOBSETS, cluster.objects[JOBSETS, "team", job.name], "Completed", "Done", "")
    assert running.end() is None
    assert running.lines[1:] == [f"{job.name} waits in the queue gpus"]


def test_a_chief_whose_log_may_not_be_read_still_trains(cluster):
    cluster.faults.append(
        Fault("log", PODS, 403, 'pods "x" is forbidden: User "runner" cannot get "pods/log"', count=9)
    )
    running = Running(child_job(), cluster.api())
    succeed(cluster)
    assert running.end() is None
    assert running.lines[1].startswith("the chief's log cannot be read: HR-KFP-074")


def test_settings_that_do_not_fit_are_said_before_the_cluster_is_asked(cluster):
    slice_of_two_hosts = {"replicas": 3, "tpu_accelerator": "tpu-v6e-slice", "tpu_topology": "2x4"}
    with pytest.raises(HeadraceError) as error:
        run_child_job(child_job(workers=slice_of_two_hosts), cluster.api())
    assert error.value.code == "HR-KFP-071"
    assert cluster.log == []


def test_a_job_whose_api_is_away_is_left_for_the_next_attempt(cluster):
    cluster.faults.append(Fault("watch", JOBSETS, 503, count=99))
    running = Running(child_job(), cluster.api(retry_s=0.2))
    error = running.end()
    assert (error.code, error.family) == ("HR-KFP-081", "transient")
    assert len(cluster.of(JOBSETS)) == 1 and cluster.requests("delete", JOBSETS) == []


def test_a_removal_that_is_refused_does_not_hide_how_the_job_ended(cluster):
    cluster.faults.append(Fault("delete", JOBSETS, 403, "no", count=9))
    job = child_job()
    running = Running(job, cluster.api())
    cluster.starts(1)
    cluster.ends(1, exit_code=1)
    assert running.end().code == "HR-KFP-077"
    refused = f"{job.name} could not be deleted (Kubernetes refused to delete jobsets): it goes with the step's pod"
    assert running.lines[-1] == refused
