"""What Kubernetes, Argo and registries accept as a name.

Sources: argoproj/argo-workflows pkg/apis/workflow/v1alpha1/validation_utils.go (tasks and templates, arguments);
kubernetes/kubernetes staging/src/k8s.io/apimachinery/pkg/util/validation/validation.go (labels, subdomains, qualified
names, variables); distribution/reference regexp.go (images); kubeflow/pipelines
backend/src/apiserver/template/v2_template.go and validation/length.go (pipelines).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from pipeline.kubeflow.gate.finding import Finding
from pipeline.kubeflow.gate.spec import Spec, is_exit

_PART = r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?"
_DOMAIN = rf"{_PART}(?:\.{_PART})*"
_WORD = r"[A-Za-z0-9](?:[-_.A-Za-z0-9]*[A-Za-z0-9])?"
LABEL = re.compile(rf"(?=.{{1,63}}$){_PART}")
SUBDOMAIN = re.compile(rf"(?=.{{1,253}}$){_DOMAIN}")
LABEL_VALUE = re.compile(rf"(?=.{{0,63}}$)(?:{_WORD})?")
QUALIFIED = re.compile(rf"(?:(?=[^/]{{1,253}}/){_DOMAIN}/)?(?=[^/]{{1,63}}$){_WORD}")
VARIABLE = re.compile(r"[-._a-zA-Z][-._a-zA-Z0-9]*")
IMAGE = re.compile(
    r"(?P<name>(?:(?:[a-zA-Z0-9][-.a-zA-Z0-9]*|\[[0-9a-fA-F:]+\])(?::[0-9]+)?/)?"
    r"[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*(?:/[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*)*)"
    r"(?::(?P<tag>\w[-.\w]{0,127}))?(?:@(?P<digest>sha256:[0-9a-f]{64}))?",
    re.ASCII,
)

PIPELINE = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")  # the server's own pattern is not anchored
PIPELINE_CHARS = 128
TASK = re.compile(r"[a-zA-Z0-9][-a-zA-Z0-9]*")
TASK_CHARS = 128
ARGUMENT = re.compile(r"[-a-zA-Z0-9_]+")
DRIVER = "-driver"  # the server runs TASK-driver before TASK
RESERVED = ("root", "entrypoint")


def check_names(spec: Spec) -> Iterator[Finding]:
    """Pipeline, task and component names, and those that the server derives from them (argocompiler/dag.go)."""
    name = spec.pipeline.pipeline_info.name
    if not PIPELINE.fullmatch(name) or len(name) > PIPELINE_CHARS:
        what = f"{name!r} is not 1 to {PIPELINE_CHARS} of a-z, 0-9 and `-`, without `-` at the ends"
        yield Finding("pipeline-name", "pipelineInfo.name", what, fix="set `name` in task.yaml")
    for dag in spec.dags:
        for task, message in dag.tasks.items():
            if not TASK.fullmatch(task) or len(task) + len(DRIVER) > TASK_CHARS:
                what = f"{task!r} is not 1 to {TASK_CHARS - len(DRIVER)} of a-z, A-Z, 0-9 and, not at the start, `-`"
                yield Finding("task-name", dag.place(task), what)
            elif f"{task}{DRIVER}" in dag.tasks:
                what = f"the server adds a task of the name {task}{DRIVER}, which is there"
                yield Finding("task-name", dag.place(task), what)
            elif is_exit(message) and len(f"exit-hook-{dag.name}-{task}") > TASK_CHARS:
                what = f"the server adds a template exit-hook-{dag.name}-{task}, which is longer than {TASK_CHARS}"
                yield Finding("task-name", dag.place(task), what)
    for component, message in spec.components.items():
        holds_tasks = message.WhichOneof("implementation") == "dag"
        allowed = TASK if holds_tasks else ARGUMENT  # of tasks the server makes a template, of others an argument
        if component in RESERVED or component.startswith("system-"):
            what = f"the server uses the name {component!r} itself"
            yield Finding("component-name", f"components.{component}", what)
        elif not allowed.fullmatch(component) or holds_tasks and len(component) > TASK_CHARS:
            what = f"{component!r} does not match {allowed.pattern}" + f", {TASK_CHARS} at most" * holds_tasks
            yield Finding("component-name", f"components.{component}", what)
