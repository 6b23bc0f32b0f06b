"""`headrace kubeflow publish|run|schedule|schedules|unschedule|runs|logs`."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import islice
from typing import Any

import click

from pipeline.cli_base import coded, json_option, layer_options, print_json, show_document, task_argument
from pipeline.config.load import Layers

SHOWN_FIRES = 3
SHOWN_LINES = 20
label_option = click.option(
    "--label", metavar="TEXT", help="Part of the version's name; default the commit of a clean tree, else headrace's."
)
param_option = click.option(
    "--param",
    "params",
    multiple=True,
    metavar="NAME=VALUE",
    help="Value of a parameter that `kubernetes.parameters` declares, such as data-span=2026-11-30. Repeatable.",
)
experiment_option = click.option(
    "--experiment", metavar="NAME", help="Where the runs are kept; default `kubernetes.experiment`."
)


@click.command()
@task_argument
@label_option
@layer_options
@json_option
@coded
def publish(task: str, label: str | None, layers: Layers, as_json: bool) -> None:
    """Compile TASK and make it a version of its pipeline. Can be repeated: equal content stays as it is.

    \b
    Examples:
      headrace kubeflow publish flights --env prod
      headrace kubeflow publish flights --env prod --label v14
    """
    from pipeline.config.load import load_task
    from pipeline.kubeflow.publish.client import connect

    loaded = load_task(task, layers)
    api = connect(loaded.config.kubernetes)
    published, lines, values = _publish(api, loaded, label)
    page = api.page(f"pipelines/details/{published.pipeline_id}/version/{published.version_id}")
    lines += [
        ("page", [page]),
        ("next", [f"headrace kubeflow run {task}   headrace kubeflow schedule {task} --cron ..."]),
    ]
    _show(lines, {**values, "page": page}, as_json)


@click.command()
@task_argument
@param_option
@label_option
@experiment_option
@click.option("--wait", is_flag=True, help="Follow the run until it ends; the exit code says how.")
@click.option("--timeout", default="1d", show_default=True, metavar="TIME", help="How long to follow it: 30m, 6h, 1d.")
@layer_options
@json_option
@coded
def run(
    task: str,
    params: tuple[str, ...],
    label: str | None,
    experiment: str | None,
    wait: bool,
    timeout: str,
    layers: Layers,
    as_json: bool,
) -> None:
    """Publish TASK and start one run of that version.

    \b
    Examples:
      headrace kubeflow run flights --env prod --wait
      headrace kubeflow run flights --param data-span=2026-11-30 --param train-epochs=5
    """
    from pipeline.config.load import load_task
    from pipeline.kubeflow.parameters import parse_values
    from pipeline.kubeflow.publish import runs as running
    from pipeline.kubeflow.publish.client import connect
    from pipeline.kubeflow.publish.experiments import experiment_id
    from pipeline.kubeflow.publish.timing import interval_s

    loaded = load_task(task, layers)
    cluster = loaded.config.kubernetes
    parameters, timeout_s = parse_values(loaded.config, _pairs(params)), interval_s(timeout)
    api = connect(cluster)
    published, lines, values = _publish(api, loaded, label)
    kept_in = experiment_id(api, experiment or cluster.experiment)
    started = running.start(api, published, parameters, kept_in, cluster.service_account)
    page = api.page(f"runs/details/{started.run_id}")
    lines += [("run", [started.run_id]), *_given(parameters), ("page", [page])]
    values = {**values, "run_id": started.run_id, "parameters": parameters, "page": page}
    if not wait:
        lines.append(("next", [f"headrace kubeflow runs {task}   headrace kubeflow logs {task} {started.run_id}"]))
        return _show(lines, values, as_json)
    if not as_json:
        _show(lines, values, False)
    ended = running.follow(api, started.run_id, lambda step: None if as_json else _say_step(step), timeout_s)
    _show([("ended", [ended.state])], {**values, "state": ended.state}, as_json)


@click.command()
@task_argument
@click.option("--cron", metavar="FIELDS", help='Five fields of a crontab, such as "30 2 * * *" for every day at 02:30.')
@click.option("--every", metavar="TIME", help="An interval instead: 30m, 6h, 1d.")
@click.option("--timezone", metavar="ZONE", help="Zone in which --cron is meant; default the controller's.")
@click.option(
    "--controller-timezone",
    "controller",
    default="UTC",
    show_default=True,
    metavar="ZONE",
    help="Zone in which Kubeflow's controller reads every cron: its CRON_SCHEDULE_TIMEZONE.",
)
@click.option("--start", metavar="TIME", help="Nothing fires before this time (ISO 8601).")
@click.option(
    "--catchup", is_flag=True, help="Also run for the times missed since --start or while the schedule was off."
)
@click.option("--follow-latest", is_flag=True, help="Run whatever version was uploaded last, instead of this one.")
@click.option("--max-concurrency", default=1, show_default=True, type=click.IntRange(1, 10), help="Runs at a time.")
@click.option("--yes", is_flag=True, help="Accept the runs for the past that --catchup starts.")
@param_option
@label_option
@experiment_option
@layer_options
@json_option
@coded
def schedule(
    task: str,
    cron: str | None,
    every: str | None,
    timezone: str | None,
    controller: str,
    start: str | None,
    catchup: bool,
    follow_latest: bool,
    max_concurrency: int,
    yes: bool,
    params: tuple[str, ...],
    label: str | None,
    experiment: str | None,
    layers: Layers,
    as_json: bool,
) -> None:
    """Publish TASK and run that version at set times. Replaces the schedule that headrace made before.

    Each run gets the time it was scheduled for as data-span, where data.span is a parameter.

    \b
    Examples:
      headrace kubeflow schedule flights --env prod --cron "30 2 * * *"
      headrace kubeflow schedule flights --cron "0 6 * * mon-fri" --timezone Asia/Kolkata
      headrace kubeflow schedule flights --every 6h --param train-epochs=5
    """
    from pipeline.config.load import load_task
    from pipeline.kubeflow.publish.client import connect
    from pipeline.kubeflow.publish.experiments import experiment_id
    from pipeline.kubeflow.publish.macros import scheduled_parameters
    from pipeline.kubeflow.publish.schedules import Settings, apply, require_no_backfill
    from pipeline.kubeflow.publish.timing import read_start, read_timing

    if (cron is None) == (every is None):
        raise click.UsageError('give --cron "30 2 * * *" or --every 6h')
    now = datetime.now(UTC)
    timing = read_timing(cron, every, timezone, controller, now)
    first = read_start(start) if start else None
    if not yes:
        require_no_backfill(timing, first, catchup, now)
    loaded = load_task(task, layers)
    cluster = loaded.config.kubernetes
    parameters = scheduled_parameters(loaded.config, _pairs(params))
    api = connect(cluster)
    published, lines, values = _publish(api, loaded, label)
    settings = Settings(
        timing,
        parameters,
        experiment_id(api, experiment or cluster.experiment),
        cluster.service_account,
        follow_latest,
        catchup,
        first,
        max_concurrency,
    )
    made = apply(api, published, settings)
    fires = list(islice(timing.fires(max(first or now, now)), SHOWN_FIRES))
    lines += _schedule_lines(made, settings, published, fires)
    lines += [*_given(parameters), ("watch", [f"headrace kubeflow runs {task}   headrace kubeflow schedules {task}"])]
    values |= {
        "schedule": made.schedule.display_name,
        "schedule_id": made.schedule.recurring_run_id,
        "schedule_status": "new" if made.new else "unchanged",
        "ours": made.ours,
        "deleted": made.deleted,
        "when": timing.words,
        "next": [moment.isoformat() for moment in fires],
        "parameters": parameters,
    }
    _show(lines, values, as_json)


@click.command()
@task_argument
@layer_options
@json_option
@coded
def schedules(task: str, layers: Layers, as_json: bool) -> None:
    """List the schedules of TASK: when each fires next, which version it runs, how its last run ended."""
    from pipeline.kubeflow.publish.tables import schedule_rows, schedules_document

    api, name, pipeline_id = _pipeline(task, layers)
    rows = schedule_rows(api, name, pipeline_id, datetime.now(UTC))
    show_document(schedules_document(rows, task), rows, as_json)


@click.command()
@task_argument
@click.option("--yes", is_flag=True, help="Do not ask.")
@layer_options
@json_option
@coded
def unschedule(task: str, yes: bool, layers: Layers, as_json: bool) -> None:
    """Delete the schedules of TASK that headrace made. Runs that have begun go on."""
    from pipeline.kubeflow.publish.schedules import delete_all, headrace_schedules

    api, name, pipeline_id = _pipeline(task, layers)
    found = [one.display_name for one in headrace_schedules(api, name, pipeline_id)]
    if not as_json:
        click.echo("\n".join(f"  {one}" for one in found) or "nothing is scheduled")
    if found and (yes or click.confirm("delete these?")):
        found = delete_all(api, name, pipeline_id)
        print_json({"deleted": found}) if as_json else click.echo("deleted")
    elif as_json:
        print_json({"deleted": []})


@click.command()
@task_argument
@click.option("--limit", default=20, show_default=True, type=click.IntRange(1, 200), help="How many.")
@layer_options
@json_option
@coded
def runs(task: str, limit: int, layers: Layers, as_json: bool) -> None:
    """List the latest runs of TASK, newest first."""
    from pipeline.kubeflow.publish.runs import latest_runs
    from pipeline.kubeflow.publish.tables import run_rows, runs_document

    api, _, pipeline_id = _pipeline(task, layers)
    rows = run_rows(latest_runs(api, pipeline_id, limit), datetime.now(UTC))
    show_document(runs_document(rows, task), rows, as_json)


@click.command()
@task_argument
@click.argument("run_id", metavar="RUN")
@click.argument("step", required=False)
@click.option("--tail", type=click.IntRange(1), metavar="N", help="Last N lines of each; default all of STEP, else 20.")
@layer_options
@json_option
@coded
def logs(task: str, run_id: str, step: str | None, tail: int | None, layers: Layers, as_json: bool) -> None:
    """Show what the steps of a run of TASK wrote; RUN is an id that `runs` lists, or `latest`.

    Logs come from the steps' pods through the current kubeconfig context. When Kubernetes has deleted the pods, only
    the run's page may still have them.

    \b
    Examples:
      headrace kubeflow logs flights latest trainer
      headrace kubeflow logs flights 8f1c... --tail 100
    """
    from pipeline.kubeflow.publish.logs import kubernetes_api, step_logs
    from pipeline.kubeflow.publish.runs import LATEST, find_run, latest_run

    api, name, pipeline_id = _pipeline(task, layers)
    found = latest_run(api, name, pipeline_id) if run_id == LATEST else find_run(api, run_id)
    lines = tail or (None if step else SHOWN_LINES)
    page = api.page(f"runs/details/{found.run_id}")
    written = step_logs(kubernetes_api(), api.namespace, found.run_id, step and step.lower(), lines, page)
    if as_json:
        return print_json({"run_id": found.run_id, "logs": [vars(log) for log in written]})
    for log in written:
        if len(written) > 1:
            click.echo(f"-- {log.step}  {log.pod}  {log.phase}")
        click.echo(log.text.rstrip("\n"))


COMMANDS = (publish, run, schedule, schedules, unschedule, runs, logs)


def _publish(api: Any, loaded: Any, label: str | None) -> tuple[Any, list, dict]:
    """Compile and publish a task; return what was published, as lines and as values too."""
    from pipeline.cli_base import prepare
    from pipeline.kubeflow.compile import compile_task
    from pipeline.kubeflow.gate import grouped
    from pipeline.kubeflow.publish import versions

    prepare()
    package, warnings = compile_task(loaded)
    published = versions.publish(api, package, label or versions.default_label(loaded.task_dir))
    steps = len(package.pipeline["deploymentSpec"]["executors"])
    status = "new" if published.new else "unchanged"
    lines = [
        ("compiled", [f"{package.name}  {steps} steps  sha256 {published.sha256[:12]}"]),
        *(("warning", [line]) for line in grouped(warnings)),
        ("published", [f"{published.version} ({status})"]),
    ]
    values = {
        "pipeline": published.pipeline,
        "pipeline_id": published.pipeline_id,
        "version": published.version,
        "version_id": published.version_id,
        "version_status": status,
        "sha256": published.sha256,
        "warnings": [str(warning) for warning in warnings],
    }
    return published, lines, values


def _pipeline(task: str, layers: Layers) -> tuple[Any, str, str]:
    """Return the connection, and name and id of the task's published pipeline."""
    from pipeline.config.load import load_task
    from pipeline.kubeflow.compile import pipeline_name
    from pipeline.kubeflow.publish.client import connect
    from pipeline.kubeflow.publish.versions import require_pipeline

    config = load_task(task, layers).config
    api, name = connect(config.kubernetes), pipeline_name(config)
    return api, name, require_pipeline(api, name)


def _schedule_lines(made: Any, settings: Any, published: Any, fires: Sequence[datetime]) -> list:
    catchup = "with catch-up" if settings.catchup else "no catch-up"
    at_a_time = "one at a time" if settings.concurrency == 1 else f"{settings.concurrency} at a time"
    version = "follows the latest version" if settings.follow_latest else f"pinned to {published.version}"
    lines = [
        ("scheduled", [f"{settings.timing.words}, {catchup}, {at_a_time}, {version}"]),
        ("", [f"{made.schedule.display_name} ({'new' if made.new else 'unchanged'})"]),
    ]
    if settings.timing.cron and settings.timing.cron.either_day:
        lines.append(("", ["fires on the days of the month and on the days of the week, as a crontab does"]))
    if not made.ours:
        lines.append(("but", ["another command scheduled this pipeline meanwhile; its schedule is the one that stays"]))
    lines += [("replaced", [f"{name} (deleted after the new one was seen enabled)"]) for name in made.deleted]
    return lines + [("next runs", [f"{moment:%a %Y-%m-%d %H:%M} UTC"]) for moment in fires]


def _pairs(params: Sequence[str]) -> dict[str, str]:
    for param in params:
        if "=" not in param:
            raise click.UsageError(f"--param takes NAME=VALUE, not {param!r}")
    return dict(param.split("=", 1) for param in params)


def _given(parameters: dict) -> list:
    return [("parameter", [f"{name} = {value}"]) for name, value in parameters.items()]


def _say_step(step: Any) -> None:
    click.echo(f"  {step.name:<20} {step.state}" + (f"  {step.error}" if step.error else ""))


def _show(lines: list, values: dict, as_json: bool) -> None:
    from pipeline.console.document import labelled

    show_document(labelled(lines), values, as_json)
