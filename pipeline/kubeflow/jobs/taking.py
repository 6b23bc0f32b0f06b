"""How a step comes by its child job: creates it, or takes over the one that an earlier attempt has left."""

from __future__ import annotations

import time
from collections.abc import Callable

from pipeline.errors import HeadraceError
from pipeline.kubeflow.jobs.api import KubernetesApi
from pipeline.kubeflow.jobs.child import NODE, RUN, ChildJob
from pipeline.kubeflow.jobs.manifest import Kind, kind_of, manifest

LEAVE_S = 300.0  # workers have 30 s to end; a node that is lost needs minutes
POLL_S = 1.0


def place_of(kind: Kind) -> str:
    """Return where the API has the jobs of a kind."""
    return f"apis/{kind.api}/{kind.plural}"


def ended(found: dict, kind: Kind) -> str:
    """Return the condition of a job that has ended: `Failed`, or `kind.succeeded`; empty while it goes on."""
    return next((name for name in (kind.succeeded, "Failed") if condition(found, name)), "")


def condition(found: dict, name: str) -> dict:
    """Return the condition of that type if it holds; an empty one otherwise."""
    conditions = (found.get("status") or {}).get("conditions") or []
    return next((each for each in conditions if each["type"] == name and each["status"] == "True"), {})


def take(
    job: ChildJob, api: KubernetesApi, say: Callable[[str], None], leave_s: float = LEAVE_S, poll_s: float = POLL_S
) -> dict:
    """Return the job: new, or an earlier attempt's that runs or has succeeded, which is this step's from then on.

    Raises:
        HeadraceError: HR-KFP-071, HR-KFP-075 for a job of someone else under this name, HR-KFP-088 when an earlier one
            does not go away, and those of the API.
    """
    kind, body = kind_of(job), manifest(job)
    place = place_of(kind)
    until = time.monotonic() + leave_s
    while True:
        if created := api.create(place, job.namespace, body):
            say(f"started {kind.kind} {job.name}: {job.workers.replicas} workers")
            return created
        found = api.get(place, job.namespace, job.name)
        if found and not job.made(found):
            raise _foreign(job, kind, found)
        if found and not found["metadata"].get("deletionTimestamp"):
            if ended(found, kind) == "Failed":
                say(f"{job.name} has failed in an earlier attempt: starting it anew")
                api.delete(place, job.namespace, job.name, found["metadata"]["uid"])
            elif taken := _own(job, api, place, found):
                say(f"taking over {kind.kind} {job.name} of an earlier attempt")
                return taken
        if time.monotonic() >= until:
            raise _in_the_way(job, kind, leave_s)
        time.sleep(poll_s)


def remove(job: ChildJob, api: KubernetesApi, say: Callable[[str], None]) -> None:
    """Delete the job, unless a later attempt has taken it over; what cannot be done is said, and left to Kubernetes."""
    place = place_of(kind_of(job))
    try:
        found = api.get(place, job.namespace, job.name)
        if found and job.owns(found):
            api.delete(place, job.namespace, job.name, found["metadata"]["uid"])
    except HeadraceError as error:
        say(f"{job.name} could not be deleted ({error.what}): it goes with the step's pod")


def _own(job: ChildJob, api: KubernetesApi, place: str, found: dict) -> dict | None:
    """Return the job with the step's pod as its owner; None when it has changed meanwhile.

    Without it, Kubernetes would delete the job with the pod of the attempt that has started it.
    """
    metadata = {
        "resourceVersion": found["metadata"]["resourceVersion"],
        "ownerReferences": [job.owner.reference()],
    }
    return api.patch(place, job.namespace, job.name, {"metadata": metadata})


def _foreign(job: ChildJob, kind: Kind, found: dict) -> HeadraceError:
    labels = found["metadata"].get("labels") or {}
    return HeadraceError(
        "HR-KFP-075",
        f"another's {kind.kind} has the name {job.name}",
        seen=[f"its labels: {RUN}={labels.get(RUN, '')} {NODE}={labels.get(NODE, '')}"],
        expected=f"{RUN}={job.labels[RUN]} {NODE}={job.labels[NODE]}",
        fix=[f"kubectl get {kind.plural} {job.name} -o yaml   shows whose it is; delete it if nobody needs it"],
    )


def _in_the_way(job: ChildJob, kind: Kind, waited_s: float) -> HeadraceError:
    return HeadraceError(
        "HR-KFP-088",
        f"the {kind.kind} {job.name} of an earlier attempt does not go away",
        seen=[f"still there after {waited_s:g} s"],
        expected="its pods ended, within their grace period",
        fix=[f"kubectl get pods -l headrace/job={job.name}", "a pod on a lost node goes when the node is deleted"],
    )
