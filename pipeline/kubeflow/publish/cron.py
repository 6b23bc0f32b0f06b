"""Crontab times: five fields, checked in full, as Kubeflow's controller will understand them.

The controller uses robfig/cron v1, whose first field is seconds, whose Sunday is only 0 and which takes no
range over the week's end. The text sent to it is therefore written anew, in numbers.
Source: github.com/robfig/cron v1 parser.go and spec.go;
kubeflow/pipelines backend/src/crd/controller/scheduledworkflow/util/cron_schedule.go.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo

from pipeline.errors import HeadraceError

DAY_MINUTES = 24 * 60
HORIZON_DAYS = 5 * 366  # where the controller gives up
MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
WEEKDAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
ITEM = re.compile(r"(\*|\?|\w+)(?:-(\w+))?(?:/(\w+))?")


@dataclass(frozen=True)
class Range:
    """What one field takes; `names` stand for the numbers from `low` on."""

    title: str
    low: int
    high: int
    names: tuple[str, ...] = ()


RANGES = (
    Range("minute", 0, 59),
    Range("hour", 0, 23),
    Range("day of month", 1, 31),
    Range("month", 1, 12, MONTHS),
    Range("day of week", 0, 6, WEEKDAYS),
)


@dataclass(frozen=True)
class Field:
    """One field; `star` when it was written with `*`, which decides how the two fields of days go together."""

    values: frozenset[int]
    star: bool
    text: str


@dataclass(frozen=True)
class Cron:
    """A crontab time. Given both, a day of the month or a day of the week is enough, as in crontab."""

    minute: Field
    hour: Field
    day: Field
    month: Field
    weekday: Field

    @property
    def text(self) -> str:
        """The five fields in numbers."""
        return " ".join(field.text for field in (self.minute, self.hour, self.day, self.month, self.weekday))

    @property
    def kubeflow(self) -> str:
        """The six fields that Kubeflow takes."""
        return f"0 {self.text}"

    @property
    def either_day(self) -> bool:
        """Say whether one of the two fields of days is enough."""
        return not (self.day.star or self.weekday.star)

    def falls_on(self, day: datetime) -> bool:
        """Say whether it fires on the day of a local time."""
        in_month, in_week = day.day in self.day.values, day.isoweekday() % 7 in self.weekday.values
        on_day = in_month or in_week if self.either_day else in_month and in_week
        return day.month in self.month.values and on_day


def parse_cron(text: str) -> Cron:
    """Return the crontab time that `text` says.

    Raises:
        HeadraceError: HR-KFP-055.
    """
    words = text.split()
    if len(words) == 6:
        raise _bad(
            text,
            "it has six fields; Kubeflow's own cron has seconds first, a crontab has none",
            fix=f'--cron "{" ".join(words[1:])}"   headrace adds the seconds',
        )
    if len(words) != 5:
        raise _bad(text, f"it has {len(words)} field{'s' * (len(words) != 1)}")
    return Cron(*(_parse_field(text, word, known) for word, known in zip(words, RANGES, strict=True)))


def times(cron: Cron, zone: tzinfo, after: datetime) -> Iterator[datetime]:
    """Yield the moments later than `after`, in UTC: those minutes whose local time fits, as far as the horizon.

    A local time that a clock change leaves out does not fire, one that comes twice fires twice.
    """
    first = after.astimezone(zone).replace(tzinfo=None, hour=0, minute=0, second=0, microsecond=0)
    for number in range(HORIZON_DAYS):
        day = first + timedelta(days=number)
        if cron.falls_on(day):
            yield from (moment for moment in _moments(cron, day, zone) if moment > after)


def shifted(cron: Cron, minutes: int) -> Cron | None:
    """Return the cron whose local times are `minutes` later, None when no cron says that.

    Args:
        cron: the crontab time.
        minutes: less than a day, negative for earlier.
    """
    moved = [hour * 60 + minute + minutes for hour in cron.hour.values for minute in cron.minute.values]
    days = {moment // DAY_MINUTES for moment in moved}
    hours = frozenset(moment % DAY_MINUTES // 60 for moment in moved)
    of_hour = frozenset(moment % 60 for moment in moved)
    if len(hours) * len(of_hour) != len(set(moved)):
        return None  # such as 00:15 and 00:45 half an hour later: two hours with different minutes
    weekday = cron.weekday
    every_day = all(field.star and field.text == "*" for field in (cron.day, cron.month))
    if days != {0} and not (every_day and weekday.text == "*"):
        if len(days) > 1 or not every_day:
            return None
        (step,) = days
        weekday = _field(RANGES[4], frozenset((value + step) % 7 for value in weekday.values), False)
    return Cron(
        _field(RANGES[0], of_hour, cron.minute.star),
        _field(RANGES[1], hours, cron.hour.star),
        cron.day,
        cron.month,
        weekday,
    )


def _moments(cron: Cron, day: datetime, zone: tzinfo) -> list[datetime]:
    moments = set()
    for hour in cron.hour.values:
        for minute in cron.minute.values:
            local = day.replace(hour=hour, minute=minute)
            for fold in (0, 1):
                moment = local.replace(tzinfo=zone, fold=fold).astimezone(UTC)
                if moment.astimezone(zone).replace(tzinfo=None) == local:
                    moments.add(moment)
    return sorted(moments)


def _parse_field(text: str, word: str, known: Range) -> Field:
    values: set[int] = set()
    for item in word.split(","):
        if item[:1] in ("*", "?") and "," in word:
            raise _bad(text, f"{known.title}: {word!r} lists {item!r} beside others")
        values |= _parse_item(text, item, known)
    return _field(known, frozenset(values), word[:1] in ("*", "?"))


def _parse_item(text: str, item: str, known: Range) -> set[int]:
    match = ITEM.fullmatch(item)
    if not match:
        raise _bad(text, f"{known.title}: {item!r} is no number, name, range or step")
    begin, end, step_word = match.groups()
    if begin in ("*", "?"):
        if end:
            raise _bad(text, f"{known.title}: {item!r} is no range")
        low, high = known.low, known.high
    else:
        low = _number(text, begin, known)
        high = _number(text, end, known) if end else known.high if step_word else low
        if known.names == WEEKDAYS and high == 0 < low:
            high = 7  # fri-sun ends with the Sunday after
    if low > high:
        raise _bad(text, f"{known.title}: {item!r} goes down; a range over the end is two, such as 22-23,0-2")
    step = int(step_word) if step_word and step_word.isdigit() else None if step_word else 1
    if not step or step > known.high - known.low + 1:
        raise _bad(text, f"{known.title}: step {step_word} is not between 1 and {known.high - known.low + 1}")
    days_of_week = known.names == WEEKDAYS
    return {value % 7 if days_of_week else value for value in range(low, high + 1, step)}


def _number(text: str, word: str, known: Range) -> int:
    if word.lower() in known.names:
        return known.names.index(word.lower()) + known.low
    high = 7 if known.names == WEEKDAYS else known.high
    if not (word.isascii() and word.isdigit()) or not known.low <= int(word) <= high:
        names = f" or {known.names[0]} to {known.names[-1]}" if known.names else ""
        raise _bad(text, f"{known.title}: {word!r} is not {known.low} to {high}{names}")
    return int(word)


def _field(known: Range, values: frozenset[int], star: bool) -> Field:
    """Write the values as numbers; `*` and its steps stay, because they decide how days go together."""
    ordered = sorted(values)
    full = range(known.low, known.high + 1)
    for step in range(1, len(full) + 1) if star else ():
        if ordered == list(full[::step]):
            return Field(values, True, "*" if step == 1 else f"*/{step}")
    if ordered == list(full) and known not in (RANGES[2], RANGES[4]):
        return Field(values, True, "*")
    parts: list[list[int]] = []
    for value in ordered:
        if parts and value == parts[-1][-1] + 1:
            parts[-1].append(value)
        else:
            parts.append([value])
    written = [f"{part[0]}-{part[-1]}" if len(part) > 2 else ",".join(map(str, part)) for part in parts]
    return Field(values, False, ",".join(written))


def _bad(text: str, why: str, fix: str = '--cron "30 2 * * *"   every day at 02:30') -> HeadraceError:
    return HeadraceError(
        "HR-KFP-055",
        f"{text!r} is not the time of a crontab",
        seen=[why],
        expected="five fields: minute, hour, day of month, month, day of week",
        fix=[fix, "--every 6h   counts from when the schedule was made"],
    )
