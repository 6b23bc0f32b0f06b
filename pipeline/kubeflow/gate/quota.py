"""Whether each step fits into a ResourceQuota: one that does not is never given a pod, and its run waits for ever.

Looked at is the step's own container. The pods of drivers, the launcher's init container and Argo's sidecar take some
more; steps that run at the same time share the quota.

Source: kubernetes/kubernetes pkg/quota/v1/evaluator/core/pods.go (names, requests default to limits).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

from pipeline.kubeflow.gate.containers import requests_and_limits
from pipeline.kubeflow.gate.expressions import OPEN
from pipeline.kubeflow.gate.finding import Finding
from pipeline.kubeflow.gate.quantity import is_positive, parse_quantity
from pipeline.kubeflow.gate.spec import EXECUTORS, parse
from pipeline.kubeflow.package import Package

PODS = ("pods", "count/pods")
COMPUTE = ("cpu", "memory")


def fits_quota(package: Package, quota: Mapping[str, str]) -> list[Finding]:
    """Return which steps do not fit, or do not say what the quota asks for.

    Args:
        package: the compiled pipeline.
        quota: `spec.hard` of a ResourceQuota, such as `{"requests.cpu": "8", "requests.nvidia.com/gpu": "1"}`.
    """
    spec, findings = parse(package)
    if spec is None:
        return findings
    for name, hard in quota.items():
        try:
            allowed = parse_quantity(hard)
        except ValueError as error:
            findings.append(Finding("quota", f"quota.{name}", str(error), fix="kubectl get resourcequota -o yaml"))
            continue
        for label, container in spec.containers.items():
            findings += _step(container, name, allowed, hard, f"{EXECUTORS}.{label}.container.resources")
    return findings


def _step(container: Any, name: str, allowed: Fraction, hard: str, where: str) -> Iterator[Finding]:
    fix = "set kubernetes.steps.NODE lower, or have the quota raised"
    if name in PODS:
        if allowed < 1:
            yield Finding("quota", where, f"the quota allows {hard} {name}", fix=fix)
        return
    requests, limits = requests_and_limits(container)
    kind, _, resource = name.partition(".") if name not in COMPUTE else ("requests", ".", name)
    used = {"requests": limits | requests, "limits": limits}
    if kind not in used:
        return
    asked = used[kind].get(resource, "")
    if OPEN in asked:
        yield Finding("quota", where, f"{name} is known only when the step runs", "warning", fix)
    elif not asked and resource in COMPUTE:  # of other resources a pod that asks for none needs none
        what = f"nothing said of {name}: with this quota the pod is refused unless a LimitRange gives a default"
        yield Finding("quota", where, what, "warning", "set kubernetes.step.cpu and kubernetes.step.memory")
    elif is_positive(asked) and parse_quantity(asked) > allowed:
        yield Finding("quota", where, f"takes {asked} {name}, and the quota has {hard} in all", fix=fix)
