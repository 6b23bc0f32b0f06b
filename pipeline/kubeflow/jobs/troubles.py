"""Why a worker pod waits or has failed, read from its status, in words and as a coded error.

Sources: kubernetes/api core/v1/types.go (PodStatus, ContainerState, PodCondition); kubelet's images/types.go for the
reasons of a container that waits.
"""

from __future__ import annotations

from dataclasses import dataclass

from pipeline.errors import HeadraceError
from pipeline.kubeflow.jobs.api import quota_exceeded
from pipeline.kubeflow.jobs.manifest import LASTING, Kind

PULLING = ("ErrImagePull", "ImagePullBackOff", "ErrImageNeverPull", "RegistryUnavailable")
WRONG_FROM_THE_START = ("InvalidImageName", "CreateContainerConfigError", "CreateContainerError", "RunContainerError")
RESTART_ATTEMPT = "jobset.sigs.k8s.io/restart-attempt"
KILLED, MOST_SIGNALS = 137, 128

QUOTA, SCHEDULING, IMAGE, REFUSED = "HR-KFP-073", "HR-KFP-079", "HR-KFP-082", "HR-KFP-089"
OUT_OF_MEMORY, LASTING_FAULT, EVICTED, FAILED = "HR-KFP-078", "HR-KFP-076", "HR-KFP-087", "HR-KFP-077"
BY_WEIGHT = (
    OUT_OF_MEMORY,
    LASTING_FAULT,
    EVICTED,
    FAILED,
)  # the first of them explains the others: peers fail after it


@dataclass(frozen=True)
class Trouble:
    """What is wrong with one worker.

    Args:
        code: of the error, if it comes to that.
        worker: its number.
        says: what Kubernetes says of it.
        attempt: which start of all workers it was.
        ended_at: when, as Kubernetes writes it; empty for a worker that waits.
    """

    code: str
    worker: str
    says: str
    attempt: int = 0
    ended_at: str = ""

    def __str__(self) -> str:
        """Return it as a line of the step's log."""
        return f"worker {self.worker}: {self.says}"

    @property
    def has_failed(self) -> bool:
        """Whether the worker has ended."""
        return self.code in BY_WEIGHT


def worker_of(pod: dict, kind: Kind) -> str:
    """Return the number of the worker that runs in a pod; `?` when the operator has not said."""
    return (pod["metadata"].get("labels") or {}).get(kind.index_label, "?")


def trouble_of(pod: dict, kind: Kind) -> Trouble | None:
    """Return what is wrong with a pod; None when nothing is."""
    status = pod.get("status") or {}
    worker = worker_of(pod, kind)
    attempt = int((pod["metadata"].get("labels") or {}).get(RESTART_ATTEMPT, 0))
    if status.get("phase") == "Failed":
        code, says, at = _failure(status)
        return Trouble(code, worker, says, attempt, at)
    state = _container(status).get("state") or {}
    if waits := state.get("waiting"):
        reason, says = waits.get("reason", ""), _joined(waits.get("reason"), waits.get("message"))
        if reason in PULLING:
            return Trouble(IMAGE, worker, says, attempt)
        if reason in WRONG_FROM_THE_START:
            return Trouble(IMAGE if reason == "InvalidImageName" else REFUSED, worker, says, attempt)
    scheduled = _condition(status, "PodScheduled")
    if scheduled.get("status") == "False" and scheduled.get("reason") != "SchedulingGated":  # Kueue opens the gate
        return Trouble(SCHEDULING, worker, _joined(scheduled.get("reason"), scheduled.get("message")), attempt)
    return None


def refused_pod(message: str) -> Trouble:
    """Return why a pod was not even created, from what its operator met."""
    return Trouble(QUOTA if "exceeded quota" in message else REFUSED, "?", message)


def has_started(pod: dict) -> bool:
    """Say whether a pod's container runs or has run: only then does it have a log."""
    state = _container(pod.get("status") or {}).get("state") or {}
    return "running" in state or "terminated" in state


def waiting_error(trouble: Trouble, waited_s: float) -> HeadraceError:
    """Return the error of a worker that waits for what does not come."""
    if trouble.code == QUOTA:
        return quota_exceeded(trouble.says)
    what, expected, fix = {
        SCHEDULING: (
            "no node takes a worker",
            "enough nodes with what the pod asks for, or an autoscaler that adds them",
            [
                "kubectl get events --field-selector reason=FailedScheduling",
                "kubernetes.steps.Trainer: cpu, memory, accelerator, node_selector, tolerations; fewer workers",
            ],
        ),
        IMAGE: (
            "a worker's image cannot be pulled",
            "an image that the nodes can pull, with kubernetes.image_pull_secrets where it is private",
            ["kubernetes.steps.Trainer.workers.image, or image, names it by digest", "docker manifest inspect IMAGE"],
        ),
        REFUSED: (
            "a worker's pod or container is refused",
            "secrets, ConfigMaps and volumes that exist, and a pod that the cluster's rules admit",
            ["kubectl get secrets,configmaps,pvc", "headrace config show TASK   prints what the step names"],
        ),
    }[trouble.code]
    waited = f", after {waited_s:.0f} s" if waited_s >= 1 else ""
    return HeadraceError(trouble.code, what + waited, seen=[str(trouble)], expected=expected, fix=fix)


def failure_error(failures: list[Trouble], job: str, says: str) -> HeadraceError:
    """Return the error of a job that has failed.

    Args:
        failures: all that were seen.
        job: its name.
        says: what its operator says.
    """
    last = max((trouble.attempt for trouble in failures), default=0)
    ranked = sorted(
        (trouble for trouble in failures if trouble.attempt == last),
        key=lambda trouble: (BY_WEIGHT.index(trouble.code), trouble.ended_at),
    )
    code = ranked[0].code if ranked else FAILED
    what, expected, fix = {
        OUT_OF_MEMORY: (
            "a worker used more memory than its limit and was killed",
            "a training that fits into the memory of the pod",
            ["--set kubernetes.steps.Trainer.memory=...", "--set train.batch_size=...   a smaller one needs less"],
        ),
        LASTING_FAULT: (
            "a worker found a fault that another attempt meets again",
            "workers that end with exit code 0",
            ["the worker's own error stands in the log above, with its code and what to do"],
        ),
        EVICTED: (
            "a worker was evicted or preempted, more often than workers.max_restarts allows",
            "nodes that keep the workers until the end",
            [
                "--set kubernetes.steps.Trainer.workers.max_restarts=...",
                "node_selector: nodes that are no spot machines",
            ],
        ),
        FAILED: (
            f"the child job {job} has failed",
            "workers that end with exit code 0",
            [
                "the log above has each failed worker's last lines",
                "--set kubernetes.steps.Trainer.workers.max_restarts=...",
            ],
        ),
    }[code]
    return HeadraceError(code, what, [*map(str, ranked), *([f"{job}: {says}"] if says else [])], expected, fix)


def _failure(status: dict) -> tuple[str, str, str]:
    """Return code, words and time of a failed pod."""
    ended = (_container(status).get("state") or {}).get("terminated") or {}
    at = ended.get("finishedAt") or ""
    disrupted = _condition(status, "DisruptionTarget")
    if ended.get("reason") == "OOMKilled":
        return OUT_OF_MEMORY, f"OOMKilled, exit code {ended.get('exitCode', KILLED)}", at
    if disrupted.get("status") == "True":
        return EVICTED, _joined(disrupted.get("reason"), disrupted.get("message")), at
    if status.get("reason") in ("Evicted", "Preempting", "Shutdown", "NodeLost", "Terminated"):
        return EVICTED, _joined(status.get("reason"), status.get("message")), at
    if not ended:
        return FAILED, _joined(status.get("reason"), status.get("message")) or "failed before it had started", at
    exit_code = ended.get("exitCode", 0)
    signal = f" (signal {exit_code - MOST_SIGNALS})" if exit_code > MOST_SIGNALS else ""
    says = _joined(f"exit code {exit_code}{signal}", ended.get("message"))
    return LASTING_FAULT if exit_code in LASTING else FAILED, says, at


def _container(status: dict) -> dict:
    return next(iter(status.get("containerStatuses") or []), {})


def _condition(status: dict, kind: str) -> dict:
    return next((each for each in status.get("conditions") or [] if each["type"] == kind), {})


def _joined(*parts: str | None) -> str:
    return ": ".join(part for part in parts if part)
