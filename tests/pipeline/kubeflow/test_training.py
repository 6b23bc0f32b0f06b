"""What the Trainer's step is told of its child job when the pipeline is compiled, and the job that it makes of it."""

import json
from types import SimpleNamespace

import pytest

from pipeline.config.kubernetes import KubernetesConfig, StepConfig
from pipeline.kubeflow import training

ENVIRON = {"HEADRACE_POD_NAME": "flights-trainer-1", "HEADRACE_POD_UID": "uid-1", "HEADRACE_NAMESPACE": "team"}


class Stop(Exception):
    """Training ends where the job would start."""


@pytest.fixture
def started(monkeypatch, tmp_path):
    """Start a training; return the job, and the plan that its workers read."""

    def start(**step):
        from pipeline.kubeflow.jobs import run

        found = []

        def stop(job, on_line):
            found.append(job)
            raise Stop

        monkeypatch.setattr(run, "run_child_job", stop)
        cluster = KubernetesConfig(
            pipeline_root=f"{tmp_path}/", image_pull_secrets=["registry"], service_account="trainers"
        )
        settings = StepConfig(image="registry.example/headrace", **{"workers": {"replicas": 3}, **step})
        encoded = training.encode_job(settings, cluster)
        place = training.in_child_job(encoded, "flights", "run-7", ENVIRON, lambda text: text, tmp_path)
        with pytest.raises(Stop):
            place(None, SimpleNamespace(to_dict=lambda: {"epochs": 3}))
        return found[0], json.loads((tmp_path / "flights/jobs/run-7/plan.json").read_text())

    return start


def test_workers_get_the_settings_the_account_and_the_pull_secrets_of_the_cluster(started, tmp_path):
    job, plan = started(memory="8Gi", secret_env={"KEY": "store/key"})
    assert (job.workers.replicas, job.step.memory, job.step.secret_env) == (3, "8Gi", {"KEY": "store/key"})
    assert (job.service_account, job.image_pull_secrets) == ("trainers", ("registry",))
    assert (job.run_id, job.node_id, job.pipeline, job.namespace) == ("run-7", "Trainer", "flights", "team")
    assert (job.owner.pod_name, job.owner.pod_uid) == ("flights-trainer-1", "uid-1")
    assert job.command == ["python", "-m", "pipeline.kubeflow.worker", "--folder", f"{tmp_path}/flights/jobs/run-7"]
    assert plan == {"epochs": 3}


def test_workers_run_the_steps_image_unless_they_have_their_own(started):
    assert started()[0].image == "registry.example/headrace"
    assert started(workers={"image": "registry.example/tpu"})[0].image == "registry.example/tpu"


@pytest.mark.parametrize("pod_s, job_s", [(None, 86_280), (3600, 3480), (600, 540), (1, 1)])
def test_the_job_ends_before_the_steps_pod_is_ended(started, pod_s, job_s):
    assert started(timeout_s=pod_s)[0].timeout_s == job_s
