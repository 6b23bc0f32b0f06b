"""Crontab times against a loop over every minute, and against what robfig/cron v1 takes."""

from datetime import UTC, datetime, timedelta, timezone
from itertools import islice
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.errors import HeadraceError
from pipeline.kubeflow.publish.cron import parse_cron, shifted, times

START = datetime(2026, 11, 30, 12, 17, 30, tzinfo=UTC)
BERLIN = ZoneInfo("Europe/Berlin")


def oracle_field(word, low, high):
    """The values of a field in numbers, read the plain way."""
    values = set()
    for item in word.split(","):
        span, _, step = item.partition("/")
        if span == "*":
            first, last = low, high
        elif "-" in span:
            first, last = map(int, span.split("-"))
        else:
            first = int(span)
            last = high if step else first
        values.update(value for value in range(first, last + 1) if (value - first) % int(step or 1) == 0)
    return values


def oracle(text, zone, start, minutes):
    """Every minute later than `start` whose local time fits a cron in numbers."""
    words = text.split()
    minute, hour, dom, month = (
        oracle_field(w, *b) for w, b in zip(words, [(0, 59), (0, 23), (1, 31), (1, 12)], strict=False)
    )
    dow = {value % 7 for value in oracle_field(words[4], 0, 6)}
    free = words[2].startswith("*") or words[4].startswith("*")
    moment = start.replace(second=0) + timedelta(minutes=1)
    found = []
    for _ in range(minutes):
        local = moment.astimezone(zone)
        in_month, in_week = local.day in dom, (local.weekday() + 1) % 7 in dow
        day = (in_month and in_week) if free else (in_month or in_week)
        if day and local.minute in minute and local.hour in hour and local.month in month:
            found.append(moment)
        moment += timedelta(minutes=1)
    return found


def fires(text, zone, start, minutes):
    end = start + timedelta(minutes=minutes)
    found = []
    for moment in times(parse_cron(text), zone, start):
        if moment > end:
            break
        found.append(moment)
    return found


@pytest.mark.parametrize(
    "text",
    [
        "* * * * *",
        "30 2 * * *",
        "*/15 9-17 * * 1-5",
        "0 0 1 * *",
        "0 0 13 * 5",
        "0 0 */2 * 1",
        "5/20 3 * * *",
        "0 12 1-7 12 *",
        "59 23 31 12 0",
        "0,30 0,12 * 12 0-6",
        "0 0 1-31 * 1",
        "7-59/13 */7 * * *",
    ],
)
@pytest.mark.parametrize("zone", [UTC, BERLIN, ZoneInfo("Asia/Kolkata")], ids=str)
def test_times_are_those_of_a_loop_over_every_minute(text, zone):
    week = 8 * 24 * 60
    assert fires(text, zone, START, week) == oracle(text, zone, START, week)


@pytest.mark.parametrize("day", [datetime(2027, 3, 27, 12, tzinfo=UTC), datetime(2026, 10, 24, 12, tzinfo=UTC)])
@pytest.mark.parametrize("text", ["30 2 * * *", "30 1-3 * * *", "0 * * * *"])
def test_clock_changes_leave_out_and_repeat_times_as_the_clock_does(day, text):
    assert fires(text, BERLIN, day, 2 * 24 * 60) == oracle(text, BERLIN, day, 2 * 24 * 60)


def field(low, high):
    number = st.integers(low, high)
    span = st.tuples(number, number).map(sorted)
    item = st.one_of(
        number.map(str),
        span.map(lambda ends: f"{ends[0]}-{ends[1]}"),
        st.tuples(span, st.integers(1, high - low + 1)).map(lambda made: f"{made[0][0]}-{made[0][1]}/{made[1]}"),
    )
    return st.one_of(
        st.just("*"),
        st.integers(1, high - low + 1).map(lambda step: f"*/{step}"),
        st.lists(item, min_size=1, max_size=3).map(",".join),
    )


CRONS = st.tuples(field(0, 59), field(0, 23), field(1, 31), field(1, 12), field(0, 6)).map(" ".join)


@settings(max_examples=60, deadline=None)
@given(CRONS)
def test_any_cron_reads_as_the_loop_reads_it(text):
    cron = parse_cron(text)
    bounds = [(0, 59), (0, 23), (1, 31), (1, 12), (0, 6)]
    fields = [cron.minute, cron.hour, cron.day, cron.month, cron.weekday]
    for word, known, limits in zip(text.split(), fields, bounds, strict=True):
        assert known.values == oracle_field(word, *limits)
    assert parse_cron(cron.text) == cron  # what is sent means the same, days that go together included


@settings(max_examples=15, deadline=None)
@given(CRONS)
def test_any_cron_fires_as_the_loop_says(text):
    assert fires(text, UTC, START, 3 * 24 * 60) == oracle(text, UTC, START, 3 * 24 * 60)


@pytest.mark.parametrize(
    "said, sent",
    [
        ("30 2 * * *", "0 30 2 * * *"),
        ("0 9 * * mon-fri", "0 0 9 * * 1-5"),
        ("0 9 * * 7", "0 0 9 * * 0"),
        ("0 9 * * fri-sun", "0 0 9 * * 0,5,6"),
        ("0 9 * * 5-7", "0 0 9 * * 0,5,6"),
        ("0 9 ? * ?", "0 0 9 * * *"),
        ("0 9 1 Jan,JUL *", "0 0 9 1 1,7 *"),
        ("0-59 0-23 * 1-12 *", "0 * * * * *"),
        ("0 0 */2 * *", "0 0 0 */2 * *"),
        ("0 9 * * sun-sun", "0 0 9 * * 0"),
        ("0 0 1-31 * 1", "0 0 0 1-31 * 1"),
    ],
)
def test_kubeflow_gets_seconds_first_and_numbers_only(said, sent):
    assert parse_cron(said).kubeflow == sent


@pytest.mark.parametrize(
    "text, why",
    [
        ("0 30 2 * * *", "six fields"),
        ("30 2 * *", "4 fields"),
        ("", "0 fields"),
        ("@daily", "1 field"),
        ("60 2 * * *", "'60' is not 0 to 59"),
        ("30 24 * * *", "'24' is not 0 to 23"),
        ("0 0 0 * *", "'0' is not 1 to 31"),
        ("0 0 32 * *", "not 1 to 31"),
        ("0 0 * 13 *", "not 1 to 12 or jan to dec"),
        ("0 0 * * 8", "not 0 to 7 or sun to sat"),
        ("*/0 * * * *", "step 0 is not between 1 and 60"),
        ("*/61 * * * *", "step 61"),
        ("*/x * * * *", "step x"),
        ("0 22-2 * * *", "goes down"),
        ("1- * * * *", "no number"),
        ("1,,2 * * * *", "no number"),
        ("*-5 * * * *", "no range"),
        ("*,5 * * * *", "beside others"),
        ("0 0 L * *", "'L' is not"),
        ("0 0 * * 5#2", "no number"),
        ("-5 * * * *", "no number"),
        ("0 0 15W * *", "'15W' is not"),
        ("1/2/3 * * * *", "no number"),
        ("٣ * * * *", "is not 0 to 59"),
        ("0 0 * feb-jan *", "goes down"),
    ],
)
def test_what_is_no_crontab_is_refused_for_its_own_reason(text, why):
    with pytest.raises(HeadraceError) as refused:
        parse_cron(text)
    assert refused.value.code == "HR-KFP-055"
    assert why in refused.value.seen[0]


def test_six_fields_come_with_the_five_that_say_the_same():
    with pytest.raises(HeadraceError) as refused:
        parse_cron("0 30 2 * * *")
    assert '--cron "30 2 * * *"' in refused.value.fix[0]


@settings(max_examples=60, deadline=None)
@given(CRONS, st.integers(-14 * 4, 14 * 4).map(lambda quarters: quarters * 15))
def test_a_shifted_cron_fires_at_the_same_moments(text, minutes):
    cron = parse_cron(text)
    moved = shifted(cron, minutes)
    if moved is not None:
        here, there = UTC, timezone(timedelta(minutes=minutes))
        assert list(islice(times(cron, here, START), 5)) == list(islice(times(moved, there, START), 5))


@pytest.mark.parametrize(
    "text, minutes, expected",
    [
        ("30 2 * * *", -60, "30 1 * * *"),
        ("30 2 * * *", -330, "0 21 * * *"),
        ("30 2 * * 1", -330, "0 21 * * 0"),
        ("30 20 * * 6", 330, "0 2 * * 0"),
        ("15,45 9 * * *", 30, None),
        ("30 2 1 * *", -330, None),
        ("30 2 1 * *", -60, "30 1 1 * *"),
        ("0 * * * 1", -60, None),
        ("0 * * * *", 330, "30 * * * *"),
        ("*/15 * * * *", 30, "*/15 * * * *"),
    ],
)
def test_a_shift_over_midnight_moves_days_of_the_week_and_nothing_it_cannot(text, minutes, expected):
    moved = shifted(parse_cron(text), minutes)
    assert (moved.text if moved else None) == expected


def test_a_day_that_never_comes_never_fires():
    assert list(times(parse_cron("0 0 31 2 *"), UTC, START)) == []
    assert next(times(parse_cron("0 0 29 2 *"), UTC, START)) == datetime(2028, 2, 29, tzinfo=UTC)
