"""Schedules (Kubeflow's recurring runs), which can be created and deleted, never changed.

A changed schedule is therefore a new one: created, read back as enabled, and only then are the older ones deleted. The
server gives each a time and an id; the greatest of the enabled ones wins. Whoever has created one lists them all again
and deletes what is older than the winner, so that of several commands at once, or one killed half-way and repeated,
exactly one schedule stays, and at no moment none.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pipeline.errors import HeadraceError
from pipeline.kubeflow.publish.client import Api, named
from pipeline.kubeflow.publish.timing import Timing
from pipeline.kubeflow.publish.versions import Published

MADE_BY = "made by headrace kubeflow schedule"
TIE_WAIT_S, TIE_ATTEMPTS = 0.3, 10  # the server's times are whole seconds
SETTINGS_CHARS = 8


@dataclass(frozen=True)
class Settings:
    """What a schedule is.

    Args:
        timing: when it fires.
        parameters: of each run, in their own types.
        experiment_id: where its runs go.
        service_account: of its runs.
        follow_latest: run the version that is the latest then, instead of the published one.
        catchup: run what was missed too.
        start: nothing fires before; None for now.
        concurrency: runs at a time.
    """

    timing: Timing
    parameters: Mapping[str, Any]
    experiment_id: str
    service_account: str
    follow_latest: bool = False
    catchup: bool = False
    start: datetime | None = None
    concurrency: int = 1

    def name(self, published: Published) -> str:
        """Return the schedule's name: equal settings of an equal version have equal names."""
        version = f"{published.pipeline}-latest" if self.follow_latest else published.version
        return f"{version}-{self._digest()}"

    def trigger(self) -> Any:
        """Return when it fires, as the API takes it."""
        import kfp_server_api

        if self.timing.cron is None:
            return kfp_server_api.V2beta1Trigger(
                periodic_schedule=kfp_server_api.V2beta1PeriodicSchedule(
                    start_time=self.start, interval_second=str(self.timing.every_s)
                )
            )
        return kfp_server_api.V2beta1Trigger(
            cron_schedule=kfp_server_api.V2beta1CronSchedule(start_time=self.start, cron=self.timing.cron.kubeflow)
        )

    def _digest(self) -> str:
        cron = self.timing.cron
        settings = {
            "when": cron.kubeflow if cron else self.timing.every_s,
            "start": self.start.isoformat() if self.start else None,
            "parameters": dict(self.parameters),
            "experiment": self.experiment_id,
            "service_account": self.service_account,
            "catchup": self.catchup,
            "concurrency": self.concurrency,
        }
        return hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()[:SETTINGS_CHARS]


@dataclass(frozen=True)
class Scheduled:
    """The one schedule that is left, the names of those deleted, and whether it was made by this call.

    `ours` is False when another command at the same time asked for something else and came last.
    """

    schedule: Any
    new: bool
    ours: bool
    deleted: tuple[str, ...]


def require_no_backfill(timing: Timing, start: datetime | None, catchup: bool, now: datetime) -> None:
    """Refuse a schedule that would at once run for every time missed since its start.

    Raises:
        HeadraceError: HR-KFP-055, HR-KFP-058.
    """
    if start is None or start > now:
        return
    if not catchup:
        raise HeadraceError(
            "HR-KFP-055",
            f"a start in the past, {start:%Y-%m-%d %H:%M} UTC, says nothing without --catchup",
            expected="a start in the future, or none",
            fix=["leave --start out", "--catchup   run for every time missed since then"],
        )
    count = timing.missed(start, now)
    if count:
        raise HeadraceError(
            "HR-KFP-058",
            f"the schedule would run {count:,} times at once, for the past",
            seen=[f"{timing.words} since {start:%Y-%m-%d %H:%M} UTC"],
            expected="no catch-up, or a start in the future",
            fix=["leave --catchup out", f"--yes   start the {count:,} runs"],
        )


def apply(api: Api, published: Published, settings: Settings) -> Scheduled:
    """Make `settings` the only schedule of the pipeline that headrace keeps; equal ones stay as they are.

    Raises:
        HeadraceError: HR-KFP-050, 052, 053, 060, 062.
    """
    name = settings.name(published)
    before = headrace_schedules(api, published.pipeline, published.pipeline_id)
    newest = max(filter(is_enabled, before), key=_order, default=None)
    new = newest is None or newest.display_name != name
    if new:
        _create(api, published, settings, name, before)
    every = headrace_schedules(api, published.pipeline, published.pipeline_id)
    winner = max(filter(is_enabled, every), key=_order, default=None)
    if winner is None:
        raise _not_enabled(name, "it is gone or disabled")
    older = [schedule for schedule in every if _order(schedule) < _order(winner)]
    for schedule in older:
        _delete(api, schedule)
    return Scheduled(winner, new, winner.display_name == name, tuple(schedule.display_name for schedule in older))


def delete_all(api: Api, pipeline: str, pipeline_id: str) -> list[str]:
    """Delete the pipeline's schedules that headrace made and return their names.

    Raises:
        HeadraceError: as `Api.read`.
    """
    found = headrace_schedules(api, pipeline, pipeline_id)
    for schedule in found:
        _delete(api, schedule)
    return [schedule.display_name for schedule in found]


def headrace_schedules(api: Api, pipeline: str, pipeline_id: str) -> list:
    """Return the pipeline's schedules that headrace made."""
    return [
        schedule
        for schedule in pipeline_schedules(api, pipeline_id, named(f"{pipeline}-", "IS_SUBSTRING"))
        if schedule.display_name.startswith(f"{pipeline}-") and (schedule.description or "").startswith(MADE_BY)
    ]


def pipeline_schedules(api: Api, pipeline_id: str, having: str | None = None) -> list:
    """Return the pipeline's schedules, whoever made them, oldest first.

    Raises:
        HeadraceError: as `Api.read`.
    """
    found = api.pages(
        "list schedules",
        api.services.recurring_runs.recurring_run_service_list_recurring_runs,
        "recurring_runs",
        namespace=api.namespace,
        filter=having,
    )
    ours = [one for one in found if getattr(one.pipeline_version_reference, "pipeline_id", None) == pipeline_id]
    return sorted(ours, key=_order)


def is_enabled(schedule: Any) -> bool:
    """Say whether it fires."""
    return schedule.status == "ENABLED"


def _order(schedule: Any) -> tuple[datetime, str]:
    return schedule.created_at, schedule.recurring_run_id


def _create(api: Api, published: Published, settings: Settings, name: str, before: list) -> None:
    """Create the schedule so that it comes after all that were there before, and see that it is enabled."""
    last = max(map(_order, before), default=None)
    for _ in range(TIE_ATTEMPTS):
        created = _create_once(api, published, settings, name, {one.recurring_run_id for one in before})
        if last is None or _order(created) > last:
            break
        _delete(api, created)  # in the same second as an older one, with the lesser id
        time.sleep(TIE_WAIT_S)
    seen = api.find(
        "read the new schedule",
        api.services.recurring_runs.recurring_run_service_get_recurring_run,
        recurring_run_id=created.recurring_run_id,
    )
    if seen is not None and not is_enabled(seen):
        _delete(api, created)
        raise _not_enabled(name, f"its status is {seen.status}")


def _create_once(api: Api, published: Published, settings: Settings, name: str, known: set[str]) -> Any:
    import kfp_server_api

    def written() -> Any:
        made = headrace_schedules(api, published.pipeline, published.pipeline_id)
        new = [one for one in made if one.display_name == name and one.recurring_run_id not in known]
        return max(new, key=_order, default=None)

    version = None if settings.follow_latest else published.version_id
    body = kfp_server_api.V2beta1RecurringRun(
        display_name=name,
        description=f"{MADE_BY}: {settings.timing.words}",
        experiment_id=settings.experiment_id,
        namespace=api.namespace,
        pipeline_version_reference=kfp_server_api.V2beta1PipelineVersionReference(
            pipeline_id=published.pipeline_id, pipeline_version_id=version
        ),
        runtime_config=kfp_server_api.V2beta1RuntimeConfig(parameters=dict(settings.parameters)),
        service_account=settings.service_account,
        trigger=settings.trigger(),
        mode=kfp_server_api.RecurringRunMode.ENABLE,
        max_concurrency=str(settings.concurrency),
        no_catchup=not settings.catchup,
    )
    create = api.services.recurring_runs.recurring_run_service_create_recurring_run
    return api.write(f"create the schedule {name}", create, written, body=body)


def _delete(api: Api, schedule: Any) -> None:
    api.find(
        f"delete the schedule {schedule.display_name}",
        api.services.recurring_runs.recurring_run_service_delete_recurring_run,
        recurring_run_id=schedule.recurring_run_id,
    )


def _not_enabled(name: str, seen: str) -> HeadraceError:
    return HeadraceError(
        "HR-KFP-060",
        f"schedule {name} was created and is not enabled",
        seen=[seen],
        expected="status ENABLED",
        fix=["headrace kubeflow schedules TASK", "repeat the command; the schedule before it still runs"],
    )
