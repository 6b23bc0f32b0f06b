"""A fake cluster, the code connected to it, and a job of two workers."""

import threading

import pytest

from pipeline.config.kubernetes import StepConfig, WorkersConfig
from pipeline.errors import HeadraceError
from pipeline.kubeflow.jobs.child import ChildJob, Owner
from pipeline.kubeflow.jobs.run import run_child_job
from pipeline.kubeflow.jobs.waits import Patience
from tests.pipeline.kubeflow.jobs.fake_kubernetes import FakeKubernetes

QUICK = Patience(schedule_s=0.3, setup_s=0.3, leave_s=3.0, look_s=0.1, window_s=2.0)


def child_job(*, workers=None, step=None, **changes):
    values = {
        "run_id": "3f0c5a",
        "node_id": "Trainer",
        "pipeline": "flights",
        "namespace": "team",
        "image": "registry.example/headrace@sha256:" + "a" * 64,
        "command": ["python", "-m", "pipeline.kubeflow.worker", "--folder", "/pipeline/jobs/3f0c5a"],
        "workers": WorkersConfig(**{"max_restarts": 0, **(workers or {})}),
        "step": StepConfig(**(step or {})),
        "timeout_s": 60,
        "owner": Owner("flights-trainer-1", "uid-1", "team"),
    }
    return ChildJob(**(values | changes))


class Running:
    """`run_child_job` in a thread: its lines, and its error once it has ended."""

    def __init__(self, job, api, patience=QUICK):
        self.lines, self.error = [], None
        self.thread = threading.Thread(target=self._run, args=(job, api, patience), daemon=True)
        self.thread.start()

    def _run(self, job, api, patience):
        try:
            run_child_job(job, api, self.lines.append, patience)
        except HeadraceError as error:
            self.error = error

    def end(self, timeout_s=30):
        self.thread.join(timeout_s)
        assert not self.thread.is_alive(), f"still runs; {self.lines}"
        return self.error


@pytest.fixture
def cluster():
    with FakeKubernetes().serving() as server:
        yield server


@pytest.fixture
def real_pods():
    with FakeKubernetes(run_pods=True).serving() as server:
        yield server
