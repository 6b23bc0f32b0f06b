"""What a worker's command finds in its environment."""

import json
import os
import socket
import subprocess
import sys

import pytest

from pipeline.errors import HeadraceError
from pipeline.kubeflow.jobs.bootstrap import Cluster, read_cluster, wait_for_peers, worker_environment

HOSTS = {"HEADRACE_WORKER_HOSTS": "hr-0.hr:2222,hr-1.hr:2222", "JOB_COMPLETION_INDEX": "1"}
TWO = Cluster(("hr-0.hr:2222", "hr-1.hr:2222"), 1)


def test_the_index_of_the_pod_is_the_workers_number():
    assert read_cluster(HOSTS) == TWO
    assert json.loads(TWO.tf_config()) == {
        "cluster": {"worker": ["hr-0.hr:2222", "hr-1.hr:2222"]},
        "task": {"type": "worker", "index": 1},
    }


def test_tfjobs_own_tf_config_is_kept_as_it_is():
    given = json.dumps({"cluster": {"worker": ["a:2222", "b:2222"]}, "task": {"type": "worker", "index": 0}})
    cluster = read_cluster({"TF_CONFIG": given})
    assert cluster == Cluster(("a:2222", "b:2222"), 0)
    assert worker_environment({"TF_CONFIG": given}, cluster)["TF_CONFIG"] == given


@pytest.mark.parametrize("given", [{}, {"HEADRACE_WORKER_HOSTS": "hr-0.hr:2222", "JOB_COMPLETION_INDEX": "0"}])
def test_a_single_worker_has_no_tf_config(given):
    assert "TF_CONFIG" not in worker_environment(given, read_cluster(given))


@pytest.mark.parametrize(
    "given",
    [
        {**HOSTS, "JOB_COMPLETION_INDEX": "2"},
        {**HOSTS, "JOB_COMPLETION_INDEX": "-1"},
        {**HOSTS, "JOB_COMPLETION_INDEX": ""},
        {**HOSTS, "HEADRACE_WORKER_HOSTS": "hr-0.hr:2222,"},
        {"TF_CONFIG": "{}"},
        {"TF_CONFIG": "no JSON"},
    ],
)
def test_variables_that_contradict_each_other_are_refused(given):
    with pytest.raises(HeadraceError) as error:
        read_cluster(given)
    assert error.value.code == "HR-KFP-086"


def test_tpu_workers_get_what_gke_has_not_set():
    tpu = {"HEADRACE_TPU": "1"}
    found = worker_environment(tpu, TWO)
    assert (found["TPU_WORKER_ID"], found["TPU_WORKER_HOSTNAMES"]) == ("1", "hr-0.hr,hr-1.hr")
    kept = worker_environment({**tpu, "TPU_WORKER_ID": "7", "TPU_WORKER_HOSTNAMES": "gke"}, TWO)
    assert (kept["TPU_WORKER_ID"], kept["TPU_WORKER_HOSTNAMES"]) == ("7", "gke")


def test_a_worker_waits_until_all_names_resolve():
    asked = []

    def resolve(host):
        asked.append(host)
        if host == "hr-1.hr" and asked.count(host) < 3:
            raise socket.gaierror

    wait_for_peers(TWO, resolve, timeout_s=10, poll_s=0.01)
    assert asked == ["hr-0.hr", "hr-1.hr", "hr-1.hr", "hr-1.hr"]


def test_peers_that_never_come_are_named():
    def resolve(host):
        raise socket.gaierror

    with pytest.raises(HeadraceError) as error:
        wait_for_peers(TWO, resolve, timeout_s=0.05, poll_s=0.01)
    assert (error.value.code, error.value.seen) == ("HR-KFP-085", ["hr-0.hr", "hr-1.hr"])


def start(*arguments, **environ):
    return subprocess.run(
        [sys.executable, "-m", "pipeline.kubeflow.jobs.bootstrap", *arguments],
        env={**os.environ, **environ},
        capture_output=True,
        text=True,
        timeout=60,
    )


def test_the_process_becomes_the_command_with_its_exit_code():
    hosts = {"HEADRACE_WORKER_HOSTS": "127.0.0.1:1,127.0.0.1:2", "JOB_COMPLETION_INDEX": "1"}
    code = "import os, sys; print(os.getpid(), os.environ['TF_CONFIG']); sys.exit(7)"
    done = start("--", sys.executable, "-c", code, **hosts)
    assert done.returncode == 7, done.stderr
    assert json.loads(done.stdout.split(" ", 1)[1])["task"] == {"type": "worker", "index": 1}


@pytest.mark.parametrize("arguments", [(), ("python",), ("--",), ("--", "no-such-command")])
def test_a_start_without_a_command_fails_for_good(arguments):
    done = start(*arguments)
    assert done.returncode == 2
    assert "HR-KFP-086" in done.stderr


def test_the_bootstrap_loads_nothing_beside_python_and_the_errors():
    code = (
        "import sys, pipeline.kubeflow.jobs.bootstrap; "
        "print([m for m in sys.modules if m.partition('.')[0] in ('tensorflow', 'kubernetes', 'pydantic', 'numpy')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == "[]"
