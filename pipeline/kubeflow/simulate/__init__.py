"""Play a compiled package without a cluster, as Kubeflow's API server, driver, launcher and Argo would.

Each step is a real process with an empty working folder, a clean environment and code that it cannot change. What
differs from a cluster: images are not pulled (`python` is this interpreter), nothing is mounted (a mount path has to
exist on this machine), and the paths that are absolute in a pod (`/minio/...`, `/tmp/kfp/outputs`) stand in the
step's own folder below the work folder, so that a step has to take them from its ExecutorInput or its arguments.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from pipeline.kubeflow.package import Package
from pipeline.kubeflow.simulate.condition import Unsupported, check_condition
from pipeline.kubeflow.simulate.model import PROFILES, Artifact, Attempt, Event, Options, Result, StepResult

__all__ = ["PROFILES", "Artifact", "Attempt", "Event", "Options", "Result", "StepResult", "simulate"]


def simulate(package: Package, options: Options, on_event: Callable[[Event], None] = lambda event: None) -> Result:
    """Run a package to its end; a step that fails is a result, not an error.

    Args:
        package: the compiled pipeline.
        options: how to play it.
        on_event: told what happens while it runs.

    Raises:
        HeadraceError: before anything is started: HR-KFP-004 to HR-KFP-016 what Kubeflow would refuse, HR-KFP-090 what
            cannot be played, HR-KFP-091 parameters, HR-KFP-092 secrets, HR-KFP-093 mounts, HR-KFP-094 folders.
    """
    from pipeline.kubeflow.simulate.dag import run_dag
    from pipeline.kubeflow.simulate.inputs import Scope
    from pipeline.kubeflow.simulate.parameters import root_parameters
    from pipeline.kubeflow.simulate.plan import read_plan, unplayed
    from pipeline.kubeflow.simulate.pod import read_pods, write_files
    from pipeline.kubeflow.simulate.run import Run

    plan = read_plan(package)
    for component in (plan.root, *plan.components.values()):
        for task in component.get("dag", {}).get("tasks", {}).values():
            try:
                check_condition(task.get("triggerPolicy", {}).get("condition") or "true")
            except Unsupported as condition:
                raise unplayed(f"the condition {condition}") from None
    parameters = root_parameters(plan.root, options.parameters)
    pods = read_pods(plan, options)
    run = Run(plan, options, pods, on_event)
    written = write_files(mount for pod in pods.values() for mount in pod.mounts)
    try:
        finished = asyncio.run(run_dag(run, plan.root, Scope("", next(run.execution_ids), parameters)))
    finally:
        for path in written:
            path.unlink(missing_ok=True)
    return Result(run.values.uuid, finished.state, run.steps, tuple(run.notes))
