"""The two documents as typed messages. Strict, so that the other checks read fields that exist and have their type.

Sources: kubeflow/pipelines backend/src/apiserver/template/v2_template.go NewV2SpecTemplate (documents, strict
protojson, schema version, root), backend/src/v2/compiler/visitor.go GetDeploymentConfig,
backend/src/v2/compiler/argocompiler/container.go containerExecutorTask (platform configuration).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pipeline.errors import bounded
from pipeline.kubeflow.gate.finding import Finding
from pipeline.kubeflow.gate.schema import messages
from pipeline.kubeflow.package import SCHEMA_VERSION, Package

MAX_DEPTH = 90  # protobuf reads 100 levels; also ends documents that contain themselves through a YAML anchor
EXECUTORS = "deploymentSpec.executors"
PLATFORM = "platforms.kubernetes.deploymentSpec.executors"


@dataclass(frozen=True)
class Dag:
    """A component that holds tasks: `where` it stands, its message, and its tasks by name."""

    where: str
    component: Any
    tasks: Mapping[str, Any]

    @property
    def name(self) -> str:
        """The name of the component; `root` for the pipeline itself."""
        return self.where.removeprefix("components.")

    def place(self, task: str) -> str:
        """Return where a task stands."""
        return f"{self.where}.dag.tasks.{task}"


@dataclass(frozen=True)
class Spec:
    """The parsed documents: PipelineSpec, its components, ExecutorSpecs and KubernetesExecutorConfigs by name."""

    pipeline: Any
    components: Mapping[str, Any]
    executors: Mapping[str, Any]
    platform: Mapping[str, Any]

    @functools.cached_property
    def dags(self) -> list[Dag]:
        """The components that hold tasks, root first."""
        named = {"root": self.pipeline.root, **{f"components.{name}": c for name, c in self.components.items()}}
        return [
            Dag(where, c, _in_order(c.dag.tasks))
            for where, c in named.items()
            if c.WhichOneof("implementation") == "dag"
        ]

    @property
    def containers(self) -> dict[str, Any]:
        """The containers by executor label."""
        return {label: e.container for label, e in self.executors.items() if e.WhichOneof("spec") == "container"}

    def component_of(self, task: Any) -> Any:
        """Return the component of a task, or None."""
        return self.components.get(task.component_ref.name)

    def executor_kind(self, task: Any) -> str | None:
        """Return `container`, `importer`, ... for a task that one executor runs."""
        component = self.component_of(task)
        executor = self.executors.get(component.executor_label) if component is not None else None
        return executor.WhichOneof("spec") if executor is not None else None


def is_exit(task: Any) -> bool:
    """Say whether a task runs when others are completed, failed or not."""
    policy = task.trigger_policy
    return policy.strategy == policy.ALL_UPSTREAM_TASKS_COMPLETED


def _in_order(messages_by_name: Mapping[str, Any]) -> dict[str, Any]:
    """Protobuf's maps have an order of their own on each run."""
    return dict(sorted(messages_by_name.items()))


def parse(package: Package) -> tuple[Spec | None, list[Finding]]:
    """Return the documents as messages, and what keeps them from being parsed; without a pipeline there is no spec."""
    odd = list(_not_plain(package.pipeline, "")) + list(_not_plain(package.platform, ""))
    if odd:
        return None, odd
    schema, _ = messages()
    findings: list[Finding] = []
    pipeline = _message(package.pipeline, schema.PipelineSpec(), "pipeline-schema", "pipeline", findings)
    if pipeline is None:
        return None, findings
    deployment = _message(
        _plain(pipeline.deployment_spec), schema.PipelineDeploymentConfig(), "deployment-schema", EXECUTORS, findings
    )
    if pipeline.schema_version != SCHEMA_VERSION:
        what = f"{pipeline.schema_version!r}, and KFP 2.14 to 2.17 take {SCHEMA_VERSION} only"
        findings.append(Finding("schema-version", "schemaVersion", what))
    if pipeline.root.WhichOneof("implementation") != "dag":
        findings.append(Finding("root", "root", "no dag: the pipeline has no tasks"))
    if deployment is None:
        return None, findings
    platform = _platform(package.platform, findings)
    return Spec(pipeline, _in_order(pipeline.components), _in_order(deployment.executors), platform), findings


def _not_plain(value: Any, where: str, depth: int = 0) -> Iterator[Finding]:
    """YAML knows dates, keys that are no text, infinity and loops; JSON, which the server makes of it, does not."""
    what = ""
    if depth > MAX_DEPTH:
        what = f"deeper than {MAX_DEPTH} levels"
    elif isinstance(value, dict):
        for key, item in value.items():
            if isinstance(key, str):
                yield from _not_plain(item, f"{where}.{key}".lstrip("."), depth + 1)
            else:
                what = f"the key {key!r} is a {type(key).__name__}, not a text"
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _not_plain(item, f"{where}[{index}]", depth + 1)
    elif isinstance(value, float) and not math.isfinite(value):
        what = f"{value} is no JSON number"
    elif not isinstance(value, str | bool | int | float | None):
        what = f"{value!r} is a {type(value).__name__}; quote it if a text is meant"
    if what:
        yield Finding("plain-values", where or "document", bounded(what, 160))


def _message(value: Any, message: Any, rule: str, where: str, findings: list[Finding]) -> Any:
    from google.protobuf import json_format

    try:
        return json_format.ParseDict(value, message)
    except (json_format.ParseError, TypeError, ValueError, AttributeError) as error:
        # AttributeError: json_format asks a text for .items() where it expects a mapping
        findings.append(Finding(rule, where, bounded(error, 300)))
        return None


def _plain(message: Any) -> dict:
    from google.protobuf import json_format

    return json_format.MessageToDict(message)


def _platform(document: Any, findings: list[Finding]) -> dict[str, Any]:
    if not document:
        return {}
    schema, kubernetes = messages()
    parsed = _message(document, schema.PlatformSpec(), "platform-schema", "platforms", findings)
    if parsed is None:
        return {}
    if list(parsed.platforms) != ["kubernetes"]:
        what = f"platforms {sorted(parsed.platforms)}: the server reads `kubernetes` and drops the rest without a word"
        findings.append(Finding("platform-schema", "platforms", what))
        return {}
    configs = {}
    for label, values in _in_order(parsed.platforms["kubernetes"].deployment_spec.executors).items():
        config = _message(
            _plain(values), kubernetes.KubernetesExecutorConfig(), "platform-schema", f"{PLATFORM}.{label}", findings
        )
        if config is not None:
            configs[label] = config
    return configs
