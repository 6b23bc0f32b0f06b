"""What the steps of a run wrote: the logs of their pods, while Kubernetes still has them.

Source of the labels: kubeflow/pipelines backend/src/common/util/consts.go (`pipeline/runid`); of the pods' names in the
graph: backend/src/v2/compiler/argocompiler/container.go (`<workflow>.root.<step>.executor`) and Argo's annotation.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pipeline.errors import HeadraceError, bounded
from pipeline.kubeflow.publish.client import NOT_FOUND

RUN_LABEL = "pipeline/runid"
NODE = "workflows.argoproj.io/node-name"
CONTAINER = "main"
SINGLE_USER_NAMESPACE = "kubeflow"
TIMEOUT_S = (5.0, 60.0)


@dataclass(frozen=True)
class StepLog:
    """The log of one pod: a retried step has several."""

    step: str
    pod: str
    phase: str
    text: str


def kubernetes_api() -> Any:
    """Return the core API of the cluster that this process or the current kubeconfig context is in.

    Raises:
        HeadraceError: HR-KFP-069.
    """
    from kubernetes import client, config

    try:
        if "KUBERNETES_SERVICE_HOST" in os.environ:
            config.load_incluster_config()
        else:
            config.load_kube_config()
    except config.ConfigException as error:
        raise _unusable(bounded(error)) from None
    return client.CoreV1Api()


def step_logs(core: Any, namespace: str | None, run_id: str, step: str | None, tail: int | None, page: str) -> list:
    """Return the logs of one step, or of all steps, in the order in which their pods were begun.

    Args:
        core: the core API of the cluster.
        namespace: where the run's pods are.
        run_id: id of the run.
        step: name of a step; None for all.
        tail: only so many lines of each; None for all.
        page: address of the run's page.

    Raises:
        HeadraceError: HR-KFP-059 for a step that the run does not have, HR-KFP-064 when the pods are gone, HR-KFP-069.
    """
    where = namespace or SINGLE_USER_NAMESPACE
    listed = _asked(core.list_namespaced_pod, where, label_selector=f"{RUN_LABEL}={run_id}")
    pods = [(name, pod) for pod in listed.items if (name := _step_name(pod))]
    names = list(dict.fromkeys(name for name, _ in pods))
    if pods and step is not None and step not in names:
        raise HeadraceError(
            "HR-KFP-059",
            f"run {run_id} has no pod of a step {step!r}",
            seen=[f"steps with a pod: {', '.join(names)}"],
            expected="one of them; a step that was skipped or has not begun has no pod",
            fix=[f"headrace kubeflow logs TASK {run_id}   shows all"],
        )
    pods = sorted(
        (pair for pair in pods if step in (None, pair[0])), key=lambda pair: pair[1].metadata.creation_timestamp
    )
    found = [_read(core, where, name, pod, tail) for name, pod in pods]
    kept = [log for log in found if log is not None]
    if not kept:
        raise HeadraceError(
            "HR-KFP-064",
            f"the pods of run {run_id} are gone",
            seen=[f"no pod with the label {RUN_LABEL}={run_id} in namespace {where}"],
            expected="pods; Kubernetes keeps them until the workflow is deleted (by default a day after its end)",
            fix=[f"{page}   shows archived logs, where the installation archives them"],
        )
    return kept


def _step_name(pod: Any) -> str | None:
    """Return the step whose work a pod does; None for Kubeflow's drivers."""
    path = [part.partition("(")[0] for part in (pod.metadata.annotations or {}).get(NODE, "").split(".")]
    path = [part for part in path if part]  # a retried pod is executor(0)
    return path[-2] if len(path) > 2 and path[-1] == "executor" else None


def _read(core: Any, namespace: str, step: str, pod: Any, tail: int | None) -> StepLog | None:
    """Return the pod's log, empty before its container has begun; None when the pod has gone meanwhile."""
    from kubernetes.client.exceptions import ApiException

    arguments = {} if tail is None else {"tail_lines": tail}
    try:
        text = _asked(core.read_namespaced_pod_log, pod.metadata.name, namespace, container=CONTAINER, **arguments)
    except ApiException as error:
        if error.status == NOT_FOUND:
            return None
        text = ""  # 400: the container is waiting to start
    return StepLog(step, pod.metadata.name, pod.status.phase, text)


def _asked(call: Callable, *arguments, **named) -> Any:
    from kubernetes.client.exceptions import ApiException
    from urllib3.exceptions import HTTPError

    try:
        return call(*arguments, **named, _request_timeout=TIMEOUT_S)
    except ApiException as error:
        if error.status in (400, NOT_FOUND):
            raise
        raise _unusable(f"{error.status} {error.reason}: {bounded(error.body or '', 160)}") from None
    except HTTPError as error:
        raise _unusable(bounded(error, 200)) from None


def _unusable(seen: str) -> HeadraceError:
    return HeadraceError(
        "HR-KFP-069",
        "the pods' logs cannot be read from Kubernetes",
        seen=[seen],
        expected="a kubeconfig context that may get and list pods and pods/log",
        fix=["kubectl auth can-i get pods/log -n NAMESPACE", "kubectl config use-context NAME"],
    )
