"""What a child job is: whose it is, what it runs, and the name and labels that it is found by again."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from components.digest import value_digest
from pipeline.config.kubernetes import StepConfig, WorkersConfig
from pipeline.errors import HeadraceError

MAX_LABEL = 63  # of a label's value, and of one part of a DNS name
RUN, NODE, PIPELINE, JOB = "headrace/run", "headrace/node", "headrace/pipeline", "headrace/job"
OWNER_VARIABLES = ("HEADRACE_POD_NAME", "HEADRACE_POD_UID", "HEADRACE_NAMESPACE")


@dataclass(frozen=True)
class Owner:
    """The pod of the step: when it is deleted, Kubernetes deletes the child job too."""

    pod_name: str
    pod_uid: str
    namespace: str

    def reference(self) -> dict:
        """Return it as an ownerReference.

        `blockOwnerDeletion` stays off: it asks for a permission on pods' finalizers that the step does not need.
        """
        return {
            "apiVersion": "v1",
            "kind": "Pod",
            "name": self.pod_name,
            "uid": self.pod_uid,
            "controller": False,
            "blockOwnerDeletion": False,
        }


@dataclass(frozen=True)
class ChildJob:
    """Training on several pods, for one node of one run.

    Args:
        run_id: run of the pipeline.
        node_id: TFX node id.
        pipeline: name of the pipeline.
        namespace: where the job runs: that of the step.
        image: image of the worker pods.
        command: what each worker runs, once the bootstrap has set its environment.
        workers: how many, and what kind of job.
        step: settings of the pod: resources, accelerator, selectors, tolerations, secrets, volumes, shared memory.
        timeout_s: seconds after which the job has failed.
        owner: the step's pod.
        env: further variables of the workers; they win over those of `step`.
        service_account: of the worker pods, for access to the pipeline root; empty for the namespace's default.
        image_pull_secrets: names of secrets.
    """

    run_id: str
    node_id: str
    pipeline: str
    namespace: str
    image: str
    command: list[str]
    workers: WorkersConfig
    step: StepConfig
    timeout_s: int
    owner: Owner
    env: Mapping[str, str] = field(default_factory=dict)
    service_account: str = ""
    image_pull_secrets: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Name of the job: the same for the same run, node and work, so that a second attempt finds the first one's.

        A pod is called NAME-worker-0-INDEX-abcde, in at most 63 characters.
        Source: kubernetes-sigs/jobset pkg/webhooks/jobset_webhook.go, ValidateCreate.
        """
        work = [self.image, list(self.command), dict(self.env), self.workers.model_dump(), self.step.model_dump()]
        digest = value_digest([self.run_id, self.node_id, *work])[:12]
        appended = len(f"-worker-0-{self.workers.replicas - 1}-abcde")
        room = MAX_LABEL - appended - len(f"hr--{digest}")
        node = re.sub(r"[^a-z0-9]+", "-", self.node_id.lower())[:room].strip("-")
        return f"hr-{node}-{digest}"

    @property
    def labels(self) -> dict[str, str]:
        """Labels of the job and its pods; the network policies select by the first two."""
        return {
            "app.kubernetes.io/part-of": "headrace",
            "app.kubernetes.io/component": "worker",
            RUN: label_value(self.run_id),
            NODE: label_value(self.node_id),
            PIPELINE: label_value(self.pipeline),
            JOB: self.name,
        }

    @property
    def pods(self) -> str:
        """Label selector of the job's pods."""
        return f"{JOB}={self.name}"

    def made(self, found: Mapping) -> bool:
        """Say whether a job of that name is of this run and node."""
        labels = found["metadata"].get("labels") or {}
        return all(labels.get(key) == self.labels[key] for key in (RUN, NODE))

    def owns(self, found: Mapping) -> bool:
        """Say whether a job is this step's: a later attempt may have taken it over."""
        owners = found["metadata"].get("ownerReferences") or []
        return self.made(found) and any(owner.get("uid") == self.owner.pod_uid for owner in owners)


def this_pod(environ: Mapping[str, str] = os.environ) -> Owner:
    """Return the pod that the step runs in.

    Raises:
        HeadraceError: HR-KFP-070 when the variables that name it are missing.
    """
    missing = [name for name in OWNER_VARIABLES if not environ.get(name)]
    if missing:
        raise HeadraceError(
            "HR-KFP-070",
            "the step does not know its own pod, so that nothing would remove its child job",
            seen=[f"not set: {', '.join(missing)}"],
            expected="a pod that Kubeflow started for a step with `workers`",
            fix=["headrace kubeflow compile TASK -o FILE   sets them; publish the result and run it again"],
        )
    return Owner(*(environ[name] for name in OWNER_VARIABLES))


def label_value(text: str) -> str:
    """Return a text as a label's value: at most 63 letters, digits, `-`, `_` and `.`, ends alphanumeric."""
    return re.sub(r"[^A-Za-z0-9._-]", "-", text)[:MAX_LABEL].strip("-._")
