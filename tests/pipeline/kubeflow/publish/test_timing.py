"""Zones, intervals and macros: said exactly or refused with what would be right."""

from datetime import UTC, datetime, timedelta
from itertools import islice

import pytest

from pipeline.errors import HeadraceError
from pipeline.kubeflow.publish.macros import scheduled_parameters
from pipeline.kubeflow.publish.timing import interval_s, read_start, read_timing, zone_named
from tests.pipeline.kubeflow.publish.conftest import load

NOW = datetime(2026, 12, 1, 12, tzinfo=UTC)


def refused(call, *arguments):
    with pytest.raises(HeadraceError) as error:
        call(*arguments)
    return error.value


@pytest.mark.parametrize(
    "cron, zone, controller, sent",
    [
        ("30 2 * * *", None, "UTC", "0 30 2 * * *"),
        ("30 2 * * *", "UTC", "UTC", "0 30 2 * * *"),
        ("30 2 * * *", "Asia/Kolkata", "UTC", "0 0 21 * * *"),
        ("30 2 * * 1", "Asia/Kolkata", "UTC", "0 0 21 * * 0"),
        ("30 2 * * *", "Asia/Tokyo", "Asia/Kolkata", "0 0 23 * * *"),
        ("30 2 * * *", "Europe/Berlin", "Europe/Berlin", "0 30 2 * * *"),
        ("30 2 * * *", "Europe/Paris", "Europe/Berlin", "0 30 2 * * *"),
        ("30 9 * * *", "Europe/London", "Europe/Berlin", "0 30 10 * * *"),
    ],
)
def test_zones_that_keep_their_distance_are_converted(cron, zone, controller, sent):
    timing = read_timing(cron, None, zone, controller, NOW)
    assert timing.cron.kubeflow == sent
    expected = list(islice(read_timing(cron, None, zone, zone or controller, NOW).fires(NOW), 4))
    assert list(islice(timing.fires(NOW), 4)) == expected


def test_a_converted_cron_says_what_was_meant():
    assert (
        read_timing("30 2 * * *", None, "Asia/Kolkata", "UTC", NOW).words == "0 21 * * * UTC = 30 2 * * * Asia/Kolkata"
    )
    assert read_timing("30 2 * * *", None, None, "UTC", NOW).words == "30 2 * * * UTC"


def test_a_zone_with_daylight_saving_is_refused_with_both_crons():
    error = refused(read_timing, "30 2 * * *", None, "Europe/Berlin", "UTC", NOW)
    assert error.code == "HR-KFP-057"
    assert error.seen == [
        "while UTC is -2 h from Europe/Berlin: 30 0 * * *",
        "while UTC is -1 h from Europe/Berlin: 30 1 * * *",
    ]
    assert error.fix[0].startswith('--cron "30 0 * * *" --timezone UTC')
    assert "CRON_SCHEDULE_TIMEZONE=Europe/Berlin" in error.fix[2]


def test_a_day_of_the_month_that_begins_elsewhere_is_refused():
    error = refused(read_timing, "30 2 1 * *", None, "Asia/Kolkata", "UTC", NOW)
    assert error.code == "HR-KFP-057"
    assert error.seen == ["while UTC is -5.5 h from Asia/Kolkata: no cron says it"]


@pytest.mark.parametrize(
    "name, meant", [("Berlin", "Europe/Berlin"), ("Europe/Berln", "Europe/Berlin"), ("utcc", None)]
)
def test_an_unknown_zone_is_refused_with_the_nearest(name, meant):
    error = refused(zone_named, name)
    assert error.code == "HR-KFP-056"
    assert meant is None or repr(meant) in error.what


@pytest.mark.parametrize("name", ["../etc/passwd", "", "/etc/localtime"])
def test_a_path_is_no_zone(name):
    assert refused(zone_named, name).code == "HR-KFP-056"


def test_utc_needs_no_database_of_zones(monkeypatch):
    import zoneinfo

    monkeypatch.setattr(zoneinfo, "ZoneInfo", None)
    assert zone_named("utc") is UTC


def test_a_cron_that_never_fires_is_refused():
    error = refused(read_timing, "0 0 31 2 *", None, None, "UTC", NOW)
    assert (error.code, error.what) == ("HR-KFP-055", "'0 0 31 2 *' never fires")


@pytest.mark.parametrize("text, seconds", [("1m", 60), ("90m", 5400), ("6h", 21600), ("1d", 86400), ("36h", 129600)])
def test_intervals_are_minutes_hours_and_days(text, seconds):
    timing = read_timing(None, text, None, "UTC", NOW)
    assert timing.every_s == interval_s(text) == seconds
    assert list(islice(timing.fires(NOW), 2)) == [
        NOW + timedelta(seconds=seconds),
        NOW + timedelta(seconds=2 * seconds),
    ]


@pytest.mark.parametrize("text", ["", "6", "0h", "-1h", "1.5h", "30s", "6 h", "9999999h", "h"])
def test_other_intervals_are_refused(text):
    assert refused(read_timing, None, text, None, "UTC", NOW).code == "HR-KFP-055"


def test_intervals_read_as_they_are_said():
    words = [read_timing(None, text, None, "UTC", NOW).words for text in ("90m", "60m", "48h")]
    assert words == ["every 90m", "every 1h", "every 2d"]


@pytest.mark.parametrize(
    "text, moment",
    [
        ("2026-12-01", datetime(2026, 12, 1, tzinfo=UTC)),
        ("2026-12-01T02:00:00+02:00", datetime(2026, 12, 1, tzinfo=UTC)),
    ],
)
def test_a_start_is_utc_unless_it_says_otherwise(text, moment):
    assert read_start(text) == moment
    assert refused(read_start, "tomorrow").code == "HR-KFP-055"


def test_the_scheduled_time_is_the_span_by_default():
    config = load().config
    assert scheduled_parameters(config, {}) == {"data-span": "[[ScheduledTime]]"}
    given = {"data-span": "[[ScheduledTime.2006-01-02]]", "train-epochs": "5"}
    assert scheduled_parameters(config, given) == {"data-span": "[[ScheduledTime.2006-01-02]]", "train-epochs": 5}
    assert scheduled_parameters(load("kubernetes.parameters=[train.epochs]").config, {}) == {}


def test_kubeflows_default_form_of_the_time_is_a_span():
    from components.ingest.span import spanned_path

    assert spanned_path("d/{YYYY}-{MM}-{DD}", "20261201023000") == "d/2026-12-01"


@pytest.mark.parametrize(
    "given, seen",
    [
        ({"data-span": "[[Yesterday]]"}, "[[Yesterday]] is not one of them"),
        ({"data-span": "x[[ScheduledTime]][[scheduledtime]]"}, "[[scheduledtime]] is not one of them"),
        ({"train-epochs": "[[Index]]"}, "train-epochs is of type NUMBER_INTEGER"),
    ],
)
def test_a_macro_where_kubeflow_fills_in_none_is_refused(given, seen):
    error = refused(scheduled_parameters, load().config, given)
    assert (error.code, list(error.seen)) == ("HR-KFP-061", [seen])
