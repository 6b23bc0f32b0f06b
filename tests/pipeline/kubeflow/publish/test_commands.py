"""The commands from end to end: the real client, the fake server, a compiled pipeline."""

import json
import re

import pytest

from pipeline.cli import main
from tests.pipeline.kubeflow.publish.conftest import SETTINGS, compiled
from tests.pipeline.kubeflow.publish.fake_kfp import Fault


@pytest.fixture
def headrace(kfp_server, monkeypatch, capsys, package):
    """Run `headrace kubeflow ...` on flights and return exit code, output and error output."""
    monkeypatch.setattr("pipeline.kubeflow.compile.compile_task", lambda loaded: (package, []))
    host = f"kubernetes.host={kfp_server.host}"

    def run(command, *arguments):
        sets = [word for setting in (host, *SETTINGS) for word in ("--set", setting)]
        try:
            main(["kubeflow", command, "flights", *arguments, *sets], standalone_mode=False)
            code = 0
        except SystemExit as stop:
            code = stop.code
        out = capsys.readouterr()
        return code, out.out, out.err

    return run


def test_publish_says_what_is_new_and_what_is_next(headrace, package):
    code, out, _ = headrace("publish", "--label", "v14")
    name = f"flights-v14-{package.sha256()[:12]}"
    assert code == 0
    assert f"published  {name} (new)" in out
    assert "headrace kubeflow run flights" in out
    assert f"published  {name} (unchanged)" in headrace("publish", "--label", "v14")[1]


def test_publish_gives_machines_the_same(headrace, kfp_server, package):
    values = json.loads(headrace("publish", "--label", "v14", "--json")[1])
    assert values["version_id"] in kfp_server.versions
    assert (values["version_status"], values["sha256"]) == ("new", package.sha256())
    assert values["page"].endswith(f"/#/pipelines/details/{values['pipeline_id']}/version/{values['version_id']}")


def test_run_waits_and_says_each_step(headrace, kfp_server):
    kfp_server.progress = [("SUCCEEDED", {"prepare": ("SUCCEEDED", ""), "trainer": ("SUCCEEDED", "")})]
    code, out, _ = headrace("run", "--param", "train-epochs=5", "--wait")
    (run,) = kfp_server.runs.values()
    assert code == 0
    assert run["runtime_config"]["parameters"] == {"train-epochs": 5}
    assert re.search(r"trainer +SUCCEEDED", out) and "ended      SUCCEEDED" in out
    assert f"#/runs/details/{run['run_id']}" in out


def test_run_that_fails_exits_by_its_family(headrace, kfp_server):
    kfp_server.progress = [("FAILED", {"trainer": ("FAILED", "OOMKilled")})]
    code, _, err = headrace("run", "--wait")
    assert code == 4
    assert "HR-KFP-065" in err and "trainer: OOMKilled" in err


@pytest.mark.parametrize(
    "param, error", [("train-epochs=many", "HR-KFP-003"), ("nonsense=1", "HR-KFP-002"), ("data-span", "")]
)
def test_a_wrong_parameter_is_refused_before_anything_is_sent(headrace, kfp_server, param, error):
    import click

    if not error:
        with pytest.raises(click.UsageError, match="NAME=VALUE"):
            headrace("run", "--param", param)
    else:
        code, _, err = headrace("run", "--param", param)
        assert code == 2 and error in err
    assert kfp_server.log == []


def test_schedule_says_when_how_and_what_it_replaced(headrace, kfp_server):
    first = headrace("schedule", "--cron", "30 2 * * *", "--label", "v14")[1]
    assert "scheduled  30 2 * * * UTC, no catch-up, one at a time, pinned to flights-v14-" in first
    assert "parameter  data-span = [[ScheduledTime]]" in first
    assert len(re.findall(r"\d{4}-\d\d-\d\d 02:30 UTC", first)) == 3
    second = headrace("schedule", "--cron", "0 6 * * mon-fri", "--timezone", "Asia/Kolkata", "--label", "v14")[1]
    assert "scheduled  30 0 * * 1-5 UTC = 0 6 * * 1-5 Asia/Kolkata" in second
    assert re.search(r"replaced +flights-v14-\w+-\w+ \(deleted after the new one was seen enabled\)", second)
    assert len(kfp_server.enabled()) == 1


def test_schedule_says_that_either_day_is_enough(headrace):
    assert (
        "fires on the days of the month and on the days of the week" in headrace("schedule", "--cron", "0 0 13 * 5")[1]
    )
    assert "days of the week" not in headrace("schedule", "--cron", "0 0 13 * *")[1]


@pytest.mark.parametrize(
    "arguments, error",
    [
        (["--cron", "0 30 2 * * *"], "HR-KFP-055"),
        (["--cron", "30 2 * * *", "--timezone", "Europe/Berlin"], "HR-KFP-057"),
        (["--cron", "30 2 * * *", "--timezone", "Nowhere"], "HR-KFP-056"),
        (["--every", "1h", "--catchup", "--start", "2026-01-01"], "HR-KFP-058"),
        (["--every", "1h", "--param", "train-epochs=[[Index]]"], "HR-KFP-061"),
    ],
)
def test_a_wrong_schedule_is_refused_before_anything_is_sent(headrace, kfp_server, arguments, error):
    code, _, err = headrace("schedule", *arguments)
    assert code == 2 and error in err
    assert kfp_server.log == []


def test_schedule_wants_one_of_cron_and_every(headrace):
    import click

    for arguments in ([], ["--cron", "30 2 * * *", "--every", "6h"]):
        with pytest.raises(click.UsageError, match="--cron"):
            headrace("schedule", *arguments)


def test_a_backfill_that_is_meant_is_made(headrace, kfp_server):
    assert headrace("schedule", "--every", "1d", "--catchup", "--start", "2026-01-01", "--yes")[0] == 0
    (one,) = kfp_server.enabled()
    assert one["no_catchup"] is False


def test_schedules_lists_when_next_which_and_how_the_last_ended(headrace, kfp_server):
    assert headrace("schedules")[0] == 2  # not published yet
    headrace("schedule", "--every", "6h", "--label", "v14")
    headrace("run", "--label", "v14")
    (run,), (schedule,) = kfp_server.runs.values(), kfp_server.enabled()
    run |= {"recurring_run_id": schedule["recurring_run_id"], "state": "FAILED"}
    rows = json.loads(headrace("schedules", "--json")[1])
    assert [(row["when"], row["enabled"], row["last"], row["by_headrace"]) for row in rows] == [
        ("every 6h", True, "FAILED", True)
    ]
    assert rows[0]["next"][11:13] == f"{(int(schedule['created_at'][11:13]) + 6) % 24:02}"
    out = headrace("schedules")[1]
    assert schedule["display_name"] in out and "every 6h" in out and "enabled" in out and "failed" in out


def test_schedules_shows_a_converted_cron_in_five_fields_and_foreign_ones_as_they_are(headrace, kfp_server):
    headrace("schedule", "--cron", "30 2 * * *", "--controller-timezone", "Europe/Berlin")
    (one,) = kfp_server.enabled()
    foreign = {**one, "description": "", "display_name": "mine", "trigger": {"cron_schedule": {"cron": "5 0 9 * * 1"}}}
    kfp_server.recurringruns_post([], {}, {**foreign, "mode": "DISABLE"})
    rows = {row["name"]: row for row in json.loads(headrace("schedules", "--json")[1])}
    assert rows[one["display_name"]]["when"] == "30 2 * * * Europe/Berlin"
    assert rows[one["display_name"]]["next"][11:16] in ("00:30", "01:30")
    assert (rows["mine"]["when"], rows["mine"]["next"]) == ("5 0 9 * * 1 (seconds first)", "")
    assert "not made by headrace" in headrace("schedules")[1]


def test_unschedule_deletes_and_says_so(headrace, kfp_server):
    headrace("schedule", "--every", "6h")
    (one,) = kfp_server.enabled()
    assert "deleted" in headrace("unschedule", "--yes")[1]
    assert kfp_server.recurring == {}
    assert "nothing is scheduled" in headrace("unschedule", "--yes")[1]
    assert one["display_name"]


def test_runs_lists_the_latest_first(headrace, kfp_server):
    headrace("publish")
    assert "headrace kubeflow run flights" in headrace("runs")[1]
    headrace("run")
    (run,) = kfp_server.runs.values()
    run |= {"created_at": "2026-12-01T00:00:00Z", "finished_at": "2026-12-01T01:02:03Z", "state": "SUCCEEDED"}
    (row,) = json.loads(headrace("runs", "--json")[1])
    assert (row["run_id"], row["state"], row["took_s"]) == (run["run_id"], "SUCCEEDED", 3723)
    assert "1h 02m" in headrace("runs")[1]


def test_logs_of_an_unknown_run_are_not_looked_for(headrace):
    headrace("publish")
    code, _, err = headrace("logs", "nope")
    assert code == 2 and "HR-KFP-059" in err


def test_an_unreachable_server_exits_as_transient_and_as_json(headrace, kfp_server):
    kfp_server.faults = [Fault("GET", "healthz", 503, 99)]
    code, out, _ = headrace("publish", "--json")
    assert code == 5
    assert json.loads(out)["error"]["code"] == "HR-KFP-050"


def test_warnings_of_the_checks_are_told(headrace, monkeypatch):
    from pipeline.kubeflow.gate import Finding

    findings = [Finding("image-digest", place, "image by tag", "warning") for place in ("exec-a", "exec-b")]
    monkeypatch.setattr("pipeline.kubeflow.compile.compile_task", lambda loaded: (compiled(), findings))
    assert "warning    [image-digest] exec-a and 1 more: image by tag" in headrace("publish")[1]
