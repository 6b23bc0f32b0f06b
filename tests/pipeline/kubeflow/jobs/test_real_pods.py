"""Child jobs whose pods are processes of this machine, and a step that is asked to end."""

import json
import signal
import subprocess
import sys

import pytest

from tests.pipeline.kubeflow.jobs.conftest import Running, child_job
from tests.pipeline.kubeflow.jobs.fake_kubernetes import JOBSETS, PODS, PROJECT

# each worker shows what it was told, and waits for the other one at the addresses in TF_CONFIG
WORKER = """
import json, os, socket, sys
config = json.loads(os.environ["TF_CONFIG"])
index, workers = config["task"]["index"], config["cluster"]["worker"]
host, port = workers[index].split(":")
with socket.create_server((host, int(port))) as server:
    server.settimeout(30)
    if index == 0:
        with server.accept()[0] as peer:
            print("peer says", peer.makefile().readline().strip(), flush=True)
    else:
        for _ in range(300):
            try:
                peer = socket.create_connection(tuple(workers[0].split(":")), timeout=1)
                break
            except OSError:
                import time; time.sleep(0.1)
        peer.sendall(json.dumps(config).encode() + b"\\n")
        peer.close()
print("config", json.dumps(config), flush=True)
print("secret", os.environ.get("KEY", "none"), flush=True)
"""

STEP = """
import signal, sys
from kubernetes import client
from pipeline.kubeflow.jobs.api import KubernetesApi
from pipeline.kubeflow.jobs.run import run_child_job
from pipeline.kubeflow.step import exit_with
from tests.pipeline.kubeflow.jobs.conftest import child_job

configuration = client.Configuration(host=sys.argv[1])
configuration.retries = False
api = KubernetesApi(client.ApiClient(configuration))
job = child_job(command=["python", "-c", "import time; print('training', flush=True); time.sleep(60)"])
work = lambda: run_child_job(job, api, lambda line: print(line, flush=True))
exit_with(work) if sys.argv[2] == "step" else work()
"""


@pytest.mark.parametrize("backend", ["jobset", "tfjob"])
def test_two_workers_find_each_other_at_the_addresses_that_each_was_told(real_pods, backend):
    real_pods.secrets["store/key"] = "s3cret"
    job = child_job(
        command=["python", "-c", WORKER], workers={"backend": backend}, step={"secret_env": {"KEY": "store/key"}}
    )
    running = Running(job, real_pods.api())
    assert running.end(30) is None, running.lines
    shown = {line.partition(" ")[0]: line.partition(" ")[2] for line in running.lines[1:]}
    chief, peer = json.loads(shown["config"]), json.loads(shown["peer"].removeprefix("says "))
    assert chief["task"] == {"type": "worker", "index": 0} and peer["task"] == {"type": "worker", "index": 1}
    assert chief["cluster"] == peer["cluster"] and len(set(chief["cluster"]["worker"])) == 2
    assert shown["secret"] == "s3cret"
    real_pods.wait_for(lambda: not real_pods.of(JOBSETS) and not real_pods.of(PODS))


def test_a_worker_that_fails_ends_its_peers(real_pods):
    command = ["sh", "-c", 'echo begins; test "$JOB_COMPLETION_INDEX" = 1 && exit 3; exec sleep 60']
    running = Running(child_job(command=command), real_pods.api())
    error = running.end(30)
    assert (error.code, error.seen[0]) == ("HR-KFP-076", "worker 1: exit code 3")
    assert "worker 1 | begins" in running.lines
    real_pods.wait_for(lambda: not real_pods.of(PODS) and not real_pods.processes)


@pytest.mark.parametrize("kind, code", [("plain", 128 + signal.SIGTERM), ("step", 5)])
def test_a_step_that_is_asked_to_end_takes_its_job_with_it(real_pods, kind, code):
    command = [sys.executable, "-c", STEP, real_pods.host, kind]
    with subprocess.Popen(command, cwd=PROJECT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as step:
        lines = []
        for line in step.stdout:
            lines.append(line.strip())
            if line.strip() == "training":
                break
        else:
            pytest.fail(f"{lines} {step.stderr.read()}")
        assert real_pods.processes
        step.send_signal(signal.SIGTERM)
        rest, errors = step.communicate(timeout=30)
    assert step.returncode == code, (rest, errors)
    assert ("HR-KFP-030" in errors) == (kind == "step")
    real_pods.wait_for(lambda: not real_pods.of(JOBSETS) and not real_pods.processes)
