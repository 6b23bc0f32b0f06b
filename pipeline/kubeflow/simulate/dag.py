"""The order of tasks, as Argo runs the DAG that Kubeflow compiles to.

Source: kubeflow/pipelines backend/src/v2/compiler/argocompiler/dag.go: a task needs `Succeeded` of all that it depends
on; an exit task is a hook of the task that it depends on. A DAG of Argo fails fast: after a failure nothing new starts.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from pipeline.kubeflow.simulate.condition import holds
from pipeline.kubeflow.simulate.inputs import Finished, Scope, dag_outputs, resolve_inputs
from pipeline.kubeflow.simulate.model import FAILED, OMITTED, SKIPPED, SUCCEEDED, StepError, StepResult
from pipeline.kubeflow.simulate.plan import dependencies, is_exit
from pipeline.kubeflow.simulate.run import Run
from pipeline.kubeflow.simulate.step import run_step


async def run_dag(run: Run, component: Mapping, scope: Scope) -> Finished:
    """Run the tasks of a DAG and return how it ended."""
    tasks = component["dag"]["tasks"]
    needed = dependencies(tasks)
    waiting = sorted(tasks)
    running: dict[asyncio.Task, str] = {}
    try:
        while True:
            for name in [name for name in waiting if _ready(tasks[name], needed[name], scope)]:
                waiting.remove(name)
                running[asyncio.create_task(_run_task(run, name, tasks[name], scope))] = name
            if not running:
                break
            done, _ = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                scope.finished[running.pop(task)] = task.result()
    finally:
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
    for name in waiting:
        scope.finished[name] = Finished(OMITTED, "CANCELED")
        run.ended(StepResult(f"{scope.prefix}{name}", OMITTED))
    return _ended(component["dag"], scope)


def _ready(task: Mapping, needed: list[str], scope: Scope) -> bool:
    states = [scope.finished[one].state if one in scope.finished else "" for one in needed]
    if is_exit(task):
        return all(state in (SUCCEEDED, FAILED) for state in states)
    failed = any(found.state == FAILED for found in scope.finished.values())
    return not failed and all(state == SUCCEEDED for state in states)


async def _run_task(run: Run, key: str, task: Mapping, scope: Scope) -> Finished:
    name = f"{scope.prefix}{key}"
    component = run.plan.component_of(task)
    try:
        inputs = resolve_inputs(key, task, component, scope, run.values)
        condition = task.get("triggerPolicy", {}).get("condition", "")
        if condition and not holds(condition, inputs["parameterValues"]):
            run.ended(StepResult(name, SKIPPED, message=condition))
            return Finished(SKIPPED, "CANCELED")
        if "dag" not in component:
            return await run_step(run, name, task, component, inputs)
    except StepError as error:
        run.ended(StepResult(name, FAILED, message=str(error)))
        return Finished(FAILED, "RUNNING")  # the driver published nothing, so that its DAG waits for it
    artifacts = {outer: listed["artifacts"][0] for outer, listed in inputs["artifacts"].items()}
    inner = Scope(f"{name}.", next(run.execution_ids), inputs["parameterValues"], artifacts)
    return await run_dag(run, component, inner)


def _ended(dag: Mapping, scope: Scope) -> Finished:
    found = scope.finished.values()
    if not any(task.state == FAILED for task in found):
        parameters, artifacts = dag_outputs(dag, scope)
        return Finished(SUCCEEDED, "COMPLETE", parameters, artifacts)
    return Finished(FAILED, "RUNNING" if any(task.known_state == "RUNNING" for task in found) else FAILED)
