"""Tasks of a dag: order, exit tasks, loops, conditions on importers, retries.

Sources: kubeflow/pipelines backend/src/v2/compiler/argocompiler/dag.go DAG, task, iteratorTask and
addImplicitDependencies; container.go getTaskRetryStrategyFromInput; argoproj/argo-workflows
pkg/apis/workflow/v1alpha1/validation_utils.go validateNoCycles and workflow/controller/operator.go
processNodeRetries (whole factor, deadline of all attempts together).
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from pipeline.kubeflow.gate.finding import Finding
from pipeline.kubeflow.gate.references import cycles
from pipeline.kubeflow.gate.spec import Dag, Spec, is_exit


def check_tasks(spec: Spec) -> Iterator[Finding]:
    """All dags, root and nested."""
    for dag in spec.dags:
        yield from _order(dag)
        yield from _exit_tasks(dag, spec)
        for name, task in dag.tasks.items():
            yield from _loop(task, dag.place(name))
            yield from _retry(spec, task, dag.place(name))
            if task.trigger_policy.condition and spec.executor_kind(task) == "importer":
                what = "a condition on an importer, whose one pod has no driver to judge it"
                yield Finding("importer-condition", f"{dag.place(name)}.triggerPolicy.condition", what)


def upstream(task: Any) -> list[str]:
    """Return the tasks that a task waits for, by name or for their outputs, each once."""
    parameters = task.inputs.parameters.values()
    artifacts = task.inputs.artifacts.values()
    producers = [
        *(p.task_output_parameter.producer_task for p in parameters if p.WhichOneof("kind") == "task_output_parameter"),
        *(a.task_output_artifact.producer_task for a in artifacts if a.WhichOneof("kind") == "task_output_artifact"),
    ]
    return list(dict.fromkeys((*task.dependent_tasks, *producers)))


def _order(dag: Dag) -> Iterator[Finding]:
    for name, task in dag.tasks.items():
        for other in task.dependent_tasks:
            if other not in dag.tasks:
                what = f"no task {other!r} in the same dag"
                yield Finding("dependent-task", f"{dag.place(name)}.dependentTasks", what)
            elif is_exit(dag.tasks[other]):
                what = f"waits for the exit task {other!r}, which stands outside of the order"
                yield Finding("exit-task", f"{dag.place(name)}.dependentTasks", what)
    for cycle in cycles({name: upstream(task) for name, task in dag.tasks.items()}):
        yield Finding("task-cycle", dag.place(cycle[0]), f"waits for itself: {' -> '.join(cycle)}")


def _exit_tasks(dag: Dag, spec: Spec) -> Iterator[Finding]:
    """An exit task becomes a hook on each task that it depends on; a task has room for one hook."""
    hooks: dict[str, list[str]] = defaultdict(list)
    for name, task in dag.tasks.items():
        if not is_exit(task):
            continue
        where = f"{dag.place(name)}.dependentTasks"
        guarded = list(task.dependent_tasks)
        if len(guarded) != 1:
            what = f"an exit task runs once for each task in it, and here are {len(guarded)}: it takes exactly one"
            yield Finding("exit-task", where, what, fix="put the tasks that it guards into one dag")
            continue
        hooks[guarded[0]].append(name)
        other = dag.tasks.get(guarded[0])
        if other is not None and (other.HasField("parameter_iterator") or spec.executor_kind(other) == "importer"):
            what = (
                f"{guarded[0]!r} is a loop or an importer, on which the server hangs no exit task: it would never run"
            )
            yield Finding("exit-task", where, what)
    for guarded, names in hooks.items():
        if len(names) > 1:
            what = f"{' and '.join(names)} are exit tasks of {guarded!r}: the server keeps only one"
            yield Finding("exit-task", dag.place(names[0]), what)
    if all(is_exit(task) for task in dag.tasks.values()):
        yield Finding("exit-task", f"{dag.where}.dag.tasks", "no task besides exit tasks")


def _loop(task: Any, where: str) -> Iterator[Finding]:
    if task.HasField("artifact_iterator"):
        yield Finding("artifact-iterator", f"{where}.artifactIterator", "KFP has not implemented loops over artifacts")
    if not task.HasField("parameter_iterator"):
        return
    items = task.parameter_iterator.items
    place = f"{where}.parameterIterator.items"
    kind = items.WhichOneof("kind")
    if kind == "input_parameter" and items.input_parameter not in task.inputs.parameters:
        yield Finding("iterator-items", place, f"no input {items.input_parameter!r} of the task")
    elif kind is None or kind == "raw" and not _is_json_list(items.raw):
        yield Finding("iterator-items", place, f"{items.raw!r} is no JSON list")


def _is_json_list(text: str) -> bool:
    try:
        return isinstance(json.loads(text), list)
    except ValueError:
        return False


def _retry(spec: Spec, task: Any, where: str) -> Iterator[Finding]:
    """Argo counts backoffMaxDuration from the start of the first attempt, and ends the later ones when it is over."""
    if not task.HasField("retry_policy"):
        return
    policy = task.retry_policy
    longest = policy.backoff_max_duration.seconds
    wrong = [f"maxRetryCount {policy.max_retry_count} is negative"] if policy.max_retry_count < 0 else []
    if policy.backoff_factor < 0 or not policy.backoff_factor.is_integer():
        wrong.append(f"backoffFactor {policy.backoff_factor}, where Argo takes a whole number")
    for name in ("backoff_duration", "backoff_max_duration"):
        duration = getattr(policy, name)
        if duration.nanos or duration.seconds < 0:
            wrong.append(f"{name} of {duration.seconds}.{duration.nanos:09d} s, where the server takes whole seconds")
    if not wrong and policy.max_retry_count and not longest:
        wrong.append("no backoffMaxDuration: the server makes it 0 seconds, so that Argo never tries again")
    for what in wrong:
        yield Finding("retry-policy", f"{where}.retryPolicy", what)
    component = spec.component_of(task)
    config = spec.platform.get(component.executor_label) if component is not None else None
    if config is not None and 0 < longest < config.active_deadline_seconds:
        what = (
            f"{longest} s from the start of the first attempt, which alone may take {config.active_deadline_seconds} s"
        )
        yield Finding("retry-policy", f"{where}.retryPolicy.backoffMaxDuration", what, "warning")
