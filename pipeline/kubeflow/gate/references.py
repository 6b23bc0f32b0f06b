"""Components and executors: each reference finds one, nothing is left over, and KFP can run each kind.

Sources: kubeflow/pipelines backend/src/v2/compiler/visitor.go dfs (references, circular components, kinds),
backend/src/v2/compiler/argocompiler/dag.go task (kinds, condition on an importer) and argo.go
hashComponentContainer (components whose containers are equal).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pipeline.kubeflow.gate.finding import Finding
from pipeline.kubeflow.gate.spec import EXECUTORS, Spec

RUNNABLE = ("container", "importer")


def check_references(spec: Spec) -> Iterator[Finding]:
    """References from tasks to components to executors, and what nothing refers to."""
    for dag in spec.dags:
        for task, message in dag.tasks.items():
            name = message.component_ref.name
            if name not in spec.components:
                what = f"no component {name!r}" if name else "names no component"
                yield Finding("component-ref", f"{dag.place(task)}.componentRef", what)
    for name, component in spec.components.items():
        where = f"components.{name}"
        kind = component.WhichOneof("implementation")
        if kind is None or kind == "executor_label" and not component.executor_label:
            yield Finding("implementation", where, "neither a dag nor an executorLabel: nothing to run")
        elif kind == "executor_label" and component.executor_label not in spec.executors:
            what = f"no executor {component.executor_label!r} in {EXECUTORS}"
            yield Finding("executor-label", f"{where}.executorLabel", what)
    for label, executor in spec.executors.items():
        kind = executor.WhichOneof("spec")
        if kind not in RUNNABLE:
            what = f"{kind or 'an empty'} executor: open-source Kubeflow runs container and importer only"
            yield Finding("implementation", f"{EXECUTORS}.{label}", what)
    yield from _unused(spec)
    yield from _component_cycles(spec)
    yield from _shared_containers(spec)


def _unused(spec: Spec) -> Iterator[Finding]:
    """What no task leads to never runs: the server takes it, and a reader is misled."""
    reached: set[str] = set()
    waiting = [spec.pipeline.root]
    while waiting:
        for task in waiting.pop().dag.tasks.values():
            name = task.component_ref.name
            if name in spec.components and name not in reached:
                reached.add(name)
                waiting.append(spec.components[name])
    labels = {spec.components[name].executor_label for name in reached}
    for where, names, used in (("components", spec.components, reached), (EXECUTORS, spec.executors, labels)):
        for name in names:
            if name not in used:
                yield Finding("unused", f"{where}.{name}", "no task leads to it", "warning")


def _component_cycles(spec: Spec) -> Iterator[Finding]:
    """A component that holds itself, directly or through others."""
    inside = {
        name: [task.component_ref.name for task in component.dag.tasks.values()]
        for name, component in spec.components.items()
    }
    for cycle in cycles(inside):
        yield Finding("component-cycle", f"components.{cycle[0]}", f"holds itself: {' -> '.join(cycle)}")


def _shared_containers(spec: Spec) -> Iterator[Finding]:
    """The server stores component specs by the hash of the container: of two with equal ones it keeps the first."""
    first: dict[bytes, tuple[str, Any]] = {}
    for name, component in sorted(spec.components.items()):
        container = spec.containers.get(component.executor_label)
        if container is None:
            continue
        key = container.SerializeToString(deterministic=True)
        other, same = first.setdefault(key, (name, component))
        if (
            same.input_definitions != component.input_definitions
            or same.output_definitions != component.output_definitions
        ):
            what = f"same container as {other} but other inputs or outputs: the server would use those of {other}"
            yield Finding(
                "shared-container", f"components.{name}", what, fix="let the arguments differ, such as by a name"
            )


def cycles(edges: dict[str, list[str]]) -> Iterator[list[str]]:
    """Yield each cycle that a walk along `edges` closes, its first name again at its end."""
    done: set[str] = set()
    for start in sorted(edges):
        path: list[str] = []
        walk = [(start, iter([start]))]  # a stack of its own: documents may be deeper than Python's
        while walk:
            following = next(walk[-1][1], None)
            if following is None:
                walk.pop()
                if path and walk:
                    done.add(path.pop())
            elif following in path:
                yield [*path[path.index(following) :], following]
            elif following not in done:
                path.append(following)
                walk.append((following, iter(edges.get(following, ()))))
