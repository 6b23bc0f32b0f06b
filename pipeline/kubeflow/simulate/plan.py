"""A package as what the player needs, with everything refused that it cannot play."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pipeline.errors import HeadraceError
from pipeline.kubeflow import gate
from pipeline.kubeflow.gate.spec import parse
from pipeline.kubeflow.package import Package

EXIT = "ALL_UPSTREAM_TASKS_COMPLETED"


@dataclass(frozen=True)
class Plan:
    """The two documents as canonical JSON: camelCase names, enumerations as words.

    Args:
        name: the pipeline's name.
        root: the root component.
        components: by name.
        containers: by executor label.
        platform: Kubernetes executor configuration by executor label.
    """

    name: str
    root: Mapping
    components: Mapping[str, Mapping]
    containers: Mapping[str, Mapping]
    platform: Mapping[str, Mapping]

    def component_of(self, task: Mapping) -> Mapping:
        """Return the component that a task runs."""
        return self.components[task["componentRef"]["name"]]

    def labels(self) -> list[str]:
        """Return the executors that tasks of the pipeline run."""
        used = (self.component_of(task) for dag in self._dags(self.root) for task in dag.values())
        return sorted({component["executorLabel"] for component in used if "executorLabel" in component})

    def _dags(self, component: Mapping) -> Iterator[Mapping[str, Mapping]]:
        tasks = component["dag"]["tasks"]
        yield tasks
        for task in tasks.values():
            inner = self.component_of(task)
            if "dag" in inner:
                yield from self._dags(inner)


def read_plan(package: Package) -> Plan:
    """Check a package as the server does and return its plan.

    Raises:
        HeadraceError: HR-KFP-004 to HR-KFP-016 for what Kubeflow refuses too; HR-KFP-090 for what the player does not
            play: loops and importers.
    """
    from google.protobuf import json_format

    # a parameter without a default is what this run may give: the server's own check follows
    gate.refuse_errors(finding for finding in gate.check(package) if finding.rule != "default-missing")
    spec, _ = parse(package)
    assert spec is not None  # the gate has refused a package that cannot be parsed
    for dag in spec.dags:
        for name, task in dag.tasks.items():
            iterator = task.WhichOneof("iterator")
            if iterator:
                raise unplayed(f"task {name} is a loop ({iterator})")
            kind = spec.executor_kind(task)
            if kind not in (None, "container"):
                raise unplayed(f"task {name} is an {kind}")

    def plain(messages: Mapping) -> dict:
        return {name: json_format.MessageToDict(message) for name, message in messages.items()}

    return Plan(
        spec.pipeline.pipeline_info.name,
        json_format.MessageToDict(spec.pipeline.root),
        plain(spec.components),
        plain(spec.containers),
        plain(spec.platform),
    )


def dependencies(tasks: Mapping[str, Mapping]) -> dict[str, list[str]]:
    """Return what each task of a DAG waits for: what it names, and the producers of its inputs.

    Source: kubeflow/pipelines backend/src/v2/compiler/argocompiler/dag.go addImplicitDependencies.
    """
    found = {}
    for name, task in tasks.items():
        inputs = task.get("inputs", {})
        producers = [
            source[kind]["producerTask"]
            for group in ("parameters", "artifacts")
            for source in inputs.get(group, {}).values()
            for kind in ("taskOutputParameter", "taskOutputArtifact")
            if kind in source
        ]
        found[name] = list(dict.fromkeys([*task.get("dependentTasks", []), *producers]))
    return found


def is_exit(task: Mapping) -> bool:
    """Say whether a task runs when those before it have ended, whatever way."""
    return task.get("triggerPolicy", {}).get("strategy") == EXIT


def unplayed(what: str) -> HeadraceError:
    """Return the error for what Kubeflow plays and this player does not."""
    return HeadraceError(
        "HR-KFP-090",
        f"cannot be played without a cluster: {what}",
        seen=[what],
        expected="container steps, sub-DAGs, exit tasks, and conditions that compare parameters",
        fix=["run the package on a cluster: headrace kubeflow run"],
    )
