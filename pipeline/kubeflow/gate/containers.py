"""Containers: image, command, variables, resources, and sizes that Linux and Kubernetes set a limit to.

Sources: kubeflow/pipelines backend/src/v2/driver/driver.go initPodSpecPatch (image, command, resources, accelerator),
backend/src/v2/compiler/argocompiler/argo.go saveProtoToArguments and container.go addContainerDriverTemplate (what is
stored, and what is one argument of the driver); linux include/uapi/linux/binfmts.h MAX_ARG_STRLEN;
kubernetes/kubernetes pkg/apis/core/validation/validation.go ValidateResourceRequirements.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pipeline.kubeflow.gate.expressions import OPEN
from pipeline.kubeflow.gate.finding import Finding
from pipeline.kubeflow.gate.names import IMAGE, QUALIFIED, VARIABLE
from pipeline.kubeflow.gate.quantity import is_positive, parse_quantity
from pipeline.kubeflow.gate.spec import EXECUTORS, PLATFORM, Spec

MAX_ARGUMENT_BYTES = 131_072  # with the NUL at its end
MAX_WORKFLOW_BYTES = 1_048_576  # what etcd and Argo take with room for the status
TASK_COPIES = 4  # how often a resolved task is stored in a workflow
DRIVER_ONLY = ("argostub/createpvc", "argostub/deletepvc")  # tasks that the driver does itself, without a pod
SHORTEN = "shorten arguments and variables; what is long belongs into a file of the pipeline root"


def check_containers(spec: Spec, production: bool) -> Iterator[Finding]:
    """All containers of the deployment."""
    for label, container in spec.containers.items():
        where = f"{EXECUTORS}.{label}.container"
        if container.image in DRIVER_ONLY:
            continue
        yield from _image(container.image, f"{where}.image", production)
        if not container.command or not container.command[0]:
            what = "no command: the launcher stands before it, so that the entry point of the image is never used"
            yield Finding("command", f"{where}.command", what)
        for variable in container.env:
            if not VARIABLE.fullmatch(variable.name):
                yield Finding("env", f"{where}.env", f"{variable.name!r} is no name of a variable")
        yield from _resources(container, f"{where}.resources")


def _image(image: str, where: str, production: bool) -> Iterator[Finding]:
    found = IMAGE.fullmatch(image)
    if OPEN not in image and (not found or len(found["name"]) > 255):
        what = f"{image!r} is no image reference" if image else "no image"
        yield Finding("image", where, what, fix="set kubernetes.step.image to registry/name@sha256:...")
    elif not found or not found["digest"]:
        what = f"{image!r} is not pinned by digest: what runs can change without the pipeline changing"
        severity = "error" if production else "warning"
        yield Finding("image-digest", where, what, severity, "set kubernetes.step.image to registry/name@sha256:...")


def requests_and_limits(container: Any) -> tuple[dict[str, str], dict[str, str]]:
    """Return what a container asks for and may take at most, by resource name, as quantities.

    As the driver does: texts win over the old numbers, and an accelerator is a limit only.
    """
    resources = container.resources
    limits = {
        "cpu": resources.resource_cpu_limit or _number(resources.cpu_limit),
        "memory": resources.resource_memory_limit or _number(resources.memory_limit, "G"),
    }
    requests = {
        "cpu": resources.resource_cpu_request or _number(resources.cpu_request),
        "memory": resources.resource_memory_request or _number(resources.memory_request, "G"),
    }
    accelerator = resources.accelerator
    kind = accelerator.resource_type or accelerator.type
    if kind:
        limits[kind] = accelerator.resource_count or _number(accelerator.count)
    return {k: v for k, v in requests.items() if v}, {k: v for k, v in limits.items() if v}


def _number(value: float, unit: str = "") -> str:
    return f"{value:.12g}{unit}" if value else ""


def _resources(container: Any, where: str) -> Iterator[Finding]:
    requests, limits = requests_and_limits(container)
    fix = "set kubernetes.step.cpu, memory or accelerator, or those of kubernetes.steps.NODE"
    for kind, quantities in (("request", requests), ("limit", limits)):
        for name, text in quantities.items():
            if OPEN not in text and not is_positive(text):
                what = f"{name} {kind} {text!r} is no positive quantity such as 2, 500m or 8Gi"
                yield Finding("quantity", where, what, fix=fix)
    for name in requests:
        asked, most = requests[name], limits.get(name, requests[name])
        if is_positive(asked) and is_positive(most) and parse_quantity(asked) > parse_quantity(most):
            what = f"{name} request {asked} is more than the limit {most}"
            yield Finding("request-over-limit", where, what, fix=fix)
    yield from _accelerator(container.resources.accelerator, f"{where}.accelerator")


def _accelerator(accelerator: Any, where: str) -> Iterator[Finding]:
    """The driver makes the type the name of a resource as it stands; only names with a domain can be extended ones."""
    kind = accelerator.resource_type or accelerator.type
    count = accelerator.resource_count or _number(accelerator.count)
    fix = "set kubernetes.steps.NODE.accelerator to {resource: nvidia.com/gpu, count: 1}"
    if not kind and not count or OPEN in kind + count:
        return
    if "/" not in kind or not QUALIFIED.fullmatch(kind) or kind.startswith("kubernetes.io/"):
        what = f"{kind!r} is no resource of a node such as nvidia.com/gpu or google.com/tpu"
        yield Finding("accelerator", where, what, fix=fix)
    if not count or is_positive(count) and parse_quantity(count).denominator != 1:
        what = f"count {count!r}: accelerators are given whole" if count else "no count: the step would get none"
        yield Finding("accelerator", where, what, fix=fix)


def check_sizes(spec: Spec) -> Iterator[Finding]:
    """Single arguments against Linux, the workflow, which is estimated, against etcd."""
    for label, container in spec.containers.items():
        for field in ("command", "args"):
            for index, word in enumerate(getattr(container, field)):
                yield from _argument(len(word.encode()), f"{EXECUTORS}.{label}.container.{field}[{index}]")
    components = {f"components.{name}": component for name, component in spec.components.items()}
    components["root"] = spec.pipeline.root
    tasks = {dag.place(name): task for dag in spec.dags for name, task in dag.tasks.items()}
    containers = {f"{EXECUTORS}.{label}.container": container for label, container in spec.containers.items()}
    platform = {f"{PLATFORM}.{label}": config for label, config in spec.platform.items()}
    total = 0
    for stored, copies in ((components, 1), (containers, 1), (platform, 1), (tasks, TASK_COPIES)):
        sizes = _sizes(stored)
        total += copies * sum(sizes.values())
        for where, size in sizes.items():  # each is one argument of the driver
            yield from _argument(size, where)
    if total > MAX_WORKFLOW_BYTES:
        what = f"the workflow would take {total:,} bytes of {MAX_WORKFLOW_BYTES:,}"
        yield Finding("workflow-size", "pipeline", what, fix=SHORTEN)


def _argument(size: int, where: str) -> Iterator[Finding]:
    if size >= MAX_ARGUMENT_BYTES:
        what = f"{size:,} bytes in one argument, of which Linux takes {MAX_ARGUMENT_BYTES - 1:,}"
        yield Finding("argument-size", where, what, fix=SHORTEN)


def _sizes(stored: Mapping[str, Any]) -> dict[str, int]:
    from google.protobuf import json_format

    return {w: len(json_format.MessageToJson(m, indent=None).encode()) for w, m in stored.items()}
