"""What `headrace kubeflow schedules` and `runs` list: rows of plain values, and documents of them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from pipeline.console.document import Document, Table, labelled
from pipeline.errors import HeadraceError
from pipeline.kubeflow.publish.client import Api
from pipeline.kubeflow.publish.cron import parse_cron
from pipeline.kubeflow.publish.runs import latest_runs
from pipeline.kubeflow.publish.schedules import MADE_BY, is_enabled, pipeline_schedules
from pipeline.kubeflow.publish.timing import Timing

RUNS_LOOKED_THROUGH = 200


def schedule_rows(api: Api, pipeline: str, pipeline_id: str, now: datetime) -> list[dict]:
    """Return the schedules of a pipeline, whoever made them; those not made by headrace are read as UTC."""
    last_state: dict[str, str] = {}
    for run in latest_runs(api, pipeline_id, RUNS_LOOKED_THROUGH):
        if run.recurring_run_id:
            last_state.setdefault(run.recurring_run_id, run.state)
    rows = []
    for schedule in pipeline_schedules(api, pipeline_id):
        timing = _timing(schedule)
        next_run = _next_run(schedule, timing, now)
        version_id = schedule.pipeline_version_reference.pipeline_version_id
        rows.append(
            {
                "name": schedule.display_name,
                "id": schedule.recurring_run_id,
                "when": timing.words if timing else _raw(schedule.trigger),
                "next": next_run.isoformat() if next_run else "",
                "version_id": version_id or "latest",
                "enabled": is_enabled(schedule),
                "last": last_state.get(schedule.recurring_run_id, ""),
                "by_headrace": (schedule.description or "").startswith(MADE_BY),
            }
        )
    return rows


def schedules_document(rows: Sequence[dict], task: str) -> Document:
    """Return the table of schedules."""
    if not rows:
        return labelled(
            [("nothing", ["is scheduled"]), ("next", [f'headrace kubeflow schedule {task} --cron "30 2 * * *"'])]
        )
    table = Table(["schedule", "when", "next run", "runs version", "", "last run", " "])
    for row in rows:
        table.rows.append(
            [
                row["name"],
                row["when"],
                row["next"][:16].replace("T", " "),
                row["version_id"],
                "enabled" if row["enabled"] else "disabled",
                row["last"].lower(),
                "" if row["by_headrace"] else "not made by headrace",
            ]
        )
    return [table]


def run_rows(runs: Sequence[Any], now: datetime) -> list[dict]:
    """Return the rows of runs."""
    return [
        {
            "run_id": run.run_id,
            "state": run.state or "PENDING",
            "started": run.created_at.isoformat() if run.created_at else "",
            "took_s": _took_s(run, now),
            "name": run.display_name,
            "schedule_id": run.recurring_run_id or "",
        }
        for run in runs
    ]


def runs_document(rows: Sequence[dict], task: str) -> Document:
    """Return the table of runs."""
    if not rows:
        return labelled([("no runs", ["yet"]), ("next", [f"headrace kubeflow run {task}"])])
    table = Table(["run", "state", "started", "took", "by", "name"], right=["took"])
    for row in rows:
        table.rows.append(
            [
                row["run_id"],
                row["state"].lower(),
                row["started"][:16].replace("T", " "),
                "" if row["took_s"] is None else _duration(row["took_s"]),
                "schedule" if row["schedule_id"] else "hand",
                row["name"],
            ]
        )
    return [table, *labelled([("logs", [f"headrace kubeflow logs {task} RUN STEP"])])]


def _timing(schedule: Any) -> Timing | None:
    """Return when a schedule fires; None for one that headrace would not write."""
    trigger = schedule.trigger
    if trigger is not None and trigger.periodic_schedule is not None:
        every_s = int(trigger.periodic_schedule.interval_second)
        return Timing(None, every_s, "UTC") if every_s % 60 == 0 else None
    if trigger is None or trigger.cron_schedule is None or not trigger.cron_schedule.cron.startswith("0 "):
        return None
    try:
        cron = parse_cron(trigger.cron_schedule.cron[2:])
        head, found, rest = (schedule.description or "").partition(f"{MADE_BY}: {cron.text} ")
        return Timing(cron, None, rest.split(" ")[0] if found and not head else "UTC")
    except HeadraceError:
        return None


def _raw(trigger: Any) -> str:
    if trigger is None:
        return ""
    if trigger.cron_schedule is not None:
        return f"{trigger.cron_schedule.cron} (seconds first)"
    return f"every {trigger.periodic_schedule.interval_second} s"


def _next_run(schedule: Any, timing: Timing | None, now: datetime) -> datetime | None:
    if timing is None or not is_enabled(schedule):
        return None
    trigger = schedule.trigger.cron_schedule or schedule.trigger.periodic_schedule
    start = trigger.start_time or (schedule.created_at if timing.cron is None else now)
    if timing.cron is None and start < now:  # an interval counts from when the schedule was made
        passed = (now - start) // timedelta(seconds=timing.every_s)
        return start + timedelta(seconds=timing.every_s * (passed + 1))
    return next(timing.fires(max(start, now)), None)


def _took_s(run: Any, now: datetime) -> float | None:
    if not run.created_at:
        return None
    ended = run.finished_at if run.finished_at and run.finished_at > run.created_at else now  # 1970 while it runs
    return (ended - run.created_at).total_seconds()


def _duration(seconds: float) -> str:
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}h {minutes:02}m" if hours else f"{minutes}m {seconds:02}s" if minutes else f"{seconds}s"
