"""The JobSet to try training with is what the Trainer's step would make, and kustomize finds its image."""

import json

from pipeline.config.kubernetes import StepConfig, WorkersConfig
from pipeline.kubeflow.jobs.child import ChildJob, Owner
from pipeline.kubeflow.jobs.manifest import jobset
from tests.k8s.built import of_kind


def test_it_equals_what_the_code_makes_less_owner_and_names():
    (found,) = of_kind("training", "JobSet")
    (container,) = found["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]["containers"]
    job = ChildJob(
        run_id="r",
        node_id="Trainer",
        pipeline="p",
        namespace="n",
        image=container["image"],
        command=container["command"][4:],
        workers=WorkersConfig(replicas=2, max_restarts=1),
        step=StepConfig(cpu="1", memory="2Gi"),
        timeout_s=900,
        owner=Owner("pod", "uid", "n"),
    )
    made = json.loads(json.dumps(jobset(job)).replace(job.name, found["metadata"]["name"]))
    del made["metadata"]["namespace"], made["metadata"]["ownerReferences"]
    template = made["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]
    for metadata in (made["metadata"], template["metadata"]):
        metadata["labels"] = {key: value for key, value in metadata["labels"].items() if "headrace/" not in key}
    assert made == found


def test_its_program_is_python():
    (found,) = of_kind("training", "JobSet")
    (container,) = found["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]["containers"]
    compile(container["command"][-1], "command", "exec")


def test_its_image_is_pinned_in_the_one_place():
    (found,) = of_kind("training", "JobSet")
    (container,) = found["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]["containers"]
    (job,) = of_kind("data", "Job")
    assert container["image"] == job["spec"]["template"]["spec"]["containers"][0]["image"]
    assert container["image"].startswith("registry.invalid/")
