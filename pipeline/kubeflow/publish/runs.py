"""Runs: start one, follow it step by step, list the latest."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from pipeline.errors import HeadraceError, bounded
from pipeline.kubeflow.publish.client import Api, named
from pipeline.kubeflow.publish.versions import Published

ENDED = ("SUCCEEDED", "SKIPPED", "FAILED", "CANCELED")
POLL_S = 5.0
LATEST = "latest"
NOT_STEPS = ("root", "executor")
MAX_LOOKED_THROUGH = 500


@dataclass(frozen=True)
class Step:
    """A step of a run as Kubeflow shows it."""

    name: str
    state: str
    error: str = ""


def start(
    api: Api, published: Published, parameters: Mapping[str, Any], experiment_id: str, service_account: str
) -> Any:
    """Start one run of a published version and return it.

    Raises:
        HeadraceError: HR-KFP-050, 052, 053, 062.
    """
    import kfp_server_api

    # the random end makes the run findable when the answer to its creation is lost
    name = f"{published.version} {datetime.now(UTC):%Y-%m-%d %H:%M:%S} {secrets.token_hex(3)}"
    service = api.services.runs
    body = kfp_server_api.V2beta1Run(
        display_name=name,
        experiment_id=experiment_id,
        pipeline_version_reference=kfp_server_api.V2beta1PipelineVersionReference(
            pipeline_id=published.pipeline_id, pipeline_version_id=published.version_id
        ),
        runtime_config=kfp_server_api.V2beta1RuntimeConfig(parameters=dict(parameters)),
        service_account=service_account,
    )

    def written() -> Any:
        found = _listed(api, limit=1, filter=named(name))
        return found[0] if found else None

    return api.write("start the run", service.run_service_create_run, written, body=body)


def follow(api: Api, run_id: str, report: Callable[[Step], None], timeout_s: float, poll_s: float = POLL_S) -> Any:
    """Wait until the run ends, telling `report` each step whenever its state changes, and return the run.

    Raises:
        HeadraceError: HR-KFP-065 when it ends without success, HR-KFP-066 when it goes on for longer.
    """
    import tenacity

    seen: dict[str, Step] = {}

    def look() -> Any:
        run = find_run(api, run_id)
        for step in steps_of(run):
            if seen.get(step.name) != step:
                seen[step.name] = step
                report(step)
        return run

    retrying = tenacity.Retrying(
        retry=tenacity.retry_if_result(lambda run: run.state not in ENDED),
        stop=tenacity.stop_after_delay(timeout_s),
        wait=tenacity.wait_fixed(poll_s),
    )
    try:
        run = retrying(look)
    except tenacity.RetryError:
        raise HeadraceError(
            "HR-KFP-066",
            f"run {run_id} has not ended after {timeout_s:g} s",
            seen=[f"{step.name} {step.state}" for step in seen.values() if step.state not in ENDED],
            expected="an end; the run goes on without this command",
            fix=["headrace kubeflow runs TASK", "--timeout 24h"],
        ) from None
    if run.state != "SUCCEEDED":
        raise _failed(run, list(seen.values()))
    return run


def find_run(api: Api, run_id: str) -> Any:
    """Return a run.

    Raises:
        HeadraceError: HR-KFP-059 when the API does not know it.
    """
    run = api.find("read the run", api.services.runs.run_service_get_run, run_id=run_id)
    if run is None:
        raise HeadraceError(
            "HR-KFP-059",
            f"there is no run {run_id!r}",
            seen=[f"{api.host} does not know it"],
            expected=f"the id of a run, or {LATEST!r}",
            fix=["headrace kubeflow runs TASK   lists them"],
        )
    return run


def latest_runs(api: Api, pipeline_id: str, limit: int) -> list:
    """Return the latest runs of a pipeline, newest first."""
    found = _listed(api, limit=MAX_LOOKED_THROUGH)
    ours = [run for run in found if getattr(run.pipeline_version_reference, "pipeline_id", None) == pipeline_id]
    return ours[:limit]


def latest_run(api: Api, pipeline: str, pipeline_id: str) -> Any:
    """Return the latest run of a pipeline.

    Raises:
        HeadraceError: HR-KFP-059 when it has none.
    """
    found = latest_runs(api, pipeline_id, 1)
    if not found:
        raise HeadraceError(
            "HR-KFP-059", f"pipeline {pipeline} has no runs", fix=["headrace kubeflow run TASK"], expected="a run"
        )
    return find_run(api, found[0].run_id)


def steps_of(run: Any) -> list[Step]:
    """Return the run's steps in the order in which they were begun, without Kubeflow's own drivers."""
    details = (run.run_details.task_details if run.run_details else None) or []
    first = datetime.min.replace(tzinfo=UTC)
    ordered = sorted(details, key=lambda task: task.create_time or first)
    return [
        Step(task.display_name, task.state or "PENDING", bounded(task.error.message or "", 160) if task.error else "")
        for task in ordered
        if task.display_name and _is_step(task.display_name)
    ]


def _is_step(name: str) -> bool:
    bare = name.partition("(")[0]  # a retried node is executor(0), executor(1)
    return bare not in NOT_STEPS and not bare.endswith("-driver")


def _listed(api: Api, limit: int, **arguments) -> list:
    return api.pages(
        "list runs",
        api.services.runs.run_service_list_runs,
        "runs",
        limit=limit,
        namespace=api.namespace,
        sort_by="created_at desc",
        **arguments,
    )


def _failed(run: Any, steps: list[Step]) -> HeadraceError:
    failed = [step for step in steps if step.state == "FAILED"]
    seen = [f"{step.name}: {step.error or step.state}" for step in failed]
    if run.error and run.error.message:
        seen.append(run.error.message)
    return HeadraceError(
        "HR-KFP-065",
        f"run {run.run_id} ended {run.state}",
        seen=seen,
        expected="SUCCEEDED",
        fix=[f"headrace kubeflow logs TASK {run.run_id} {step.name}" for step in failed]
        or [f"headrace kubeflow logs TASK {run.run_id}"],
    )
