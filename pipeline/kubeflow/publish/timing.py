"""When a schedule fires: a crontab time or an interval, in the one time zone of Kubeflow's controller."""

from __future__ import annotations

import difflib
import re
import zoneinfo
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from itertools import islice

from pipeline.errors import HeadraceError
from pipeline.kubeflow.publish.cron import Cron, parse_cron, shifted, times

UNITS = {"m": 60, "h": 3600, "d": 86400}
COMPARED_HOURS = 2 * 366 * 24  # two years: every clock change that a zone makes
MAX_COUNTED = 10_000


@dataclass(frozen=True)
class Timing:
    """When a schedule fires.

    Args:
        cron: in the controller's zone; None for an interval.
        every_s: interval; None for a crontab time.
        zone: the controller's time zone, by name.
        said: what the user asked for where that differs, such as `30 2 * * * Asia/Kolkata`.
    """

    cron: Cron | None
    every_s: int | None
    zone: str
    said: str = ""

    @property
    def words(self) -> str:
        """The timing as people read it."""
        if self.cron is None:
            unit = next(unit for unit in "dhm" if self.every_s % UNITS[unit] == 0)
            return f"every {self.every_s // UNITS[unit]}{unit}"
        return f"{self.cron.text} {self.zone}" + (f" = {self.said}" if self.said else "")

    def fires(self, after: datetime) -> Iterator[datetime]:
        """Yield the moments after `after`; an interval counts from there."""
        if self.cron is not None:
            return times(self.cron, zone_named(self.zone), after)
        return (after + timedelta(seconds=self.every_s * count) for count in range(1, MAX_COUNTED + 2))

    def missed(self, start: datetime, now: datetime) -> int:
        """Return how many fires lie between, counted up to MAX_COUNTED."""
        count = 0
        for moment in islice(self.fires(start), MAX_COUNTED):
            if moment > now:
                break
            count += 1
        return count


def read_timing(cron: str | None, every: str | None, zone: str | None, controller: str, now: datetime) -> Timing:
    """Return the timing that the options say, in the controller's zone.

    Args:
        cron: five fields, or None.
        every: `30m`, `6h`, `1d`, or None.
        zone: zone in which the cron was meant; None for the controller's.
        controller: zone in which the controller reads every cron.
        now: the zones are compared from here on.

    Raises:
        HeadraceError: HR-KFP-055, 056, 057.
    """
    there = zone_named(controller)
    here = zone_named(zone or controller)
    if every is not None:
        return Timing(None, interval_s(every), controller)
    meant = parse_cron(cron or "")
    if next(times(meant, here, now), None) is None:
        raise HeadraceError(
            "HR-KFP-055",
            f"{cron!r} never fires",
            seen=[f"day of month {meant.day.text} does not come in month {meant.month.text}"],
            expected="a day that comes within five years",
            fix=['--cron "30 2 1 * *"   the first of every month'],
        )
    apart = _minutes_apart(here, there, now)
    moved = shifted(meant, next(iter(apart))) if len(apart) == 1 else None
    if moved is None:
        raise _not_sayable(meant, zone or controller, controller, apart)
    said = "" if moved.text == meant.text else f"{meant.text} {zone}"
    return Timing(moved, None, controller, said)


def zone_named(name: str) -> tzinfo:
    """Return a time zone of the IANA database; UTC needs no database.

    Raises:
        HeadraceError: HR-KFP-056.
    """
    if name.upper() == "UTC":
        return UTC
    try:
        return zoneinfo.ZoneInfo(name)
    except (ValueError, OSError, zoneinfo.ZoneInfoNotFoundError):
        known = sorted(zoneinfo.available_timezones())
        ends = [zone for zone in known if zone.rpartition("/")[2].lower() == name.strip().lower().replace(" ", "_")]
        close = ends or difflib.get_close_matches(name, known, 3, 0.6)
        raise HeadraceError(
            "HR-KFP-056",
            f"there is no time zone {name!r}" + (f"; did you mean {close[0]!r}?" if close else ""),
            seen=[f"{len(known)} zones are known on this machine"],
            expected="a zone of the IANA database, such as Europe/Berlin, or UTC",
            fix=[f"--timezone {close[0] if close else 'UTC'}"],
        ) from None


def read_start(text: str) -> datetime:
    """Return a time in UTC; one without a zone is taken as UTC.

    Raises:
        HeadraceError: HR-KFP-055.
    """
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise HeadraceError(
            "HR-KFP-055",
            f"{text!r} is not a time",
            expected="ISO 8601, UTC unless it says another zone",
            fix=["--start 2026-12-01T00:00:00Z"],
        ) from None
    return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)


def interval_s(every: str) -> int:
    """Return the seconds of `30m`, `6h` or `1d`.

    Raises:
        HeadraceError: HR-KFP-055.
    """
    match = re.fullmatch(r"([1-9][0-9]{0,5})([mhd])", every)
    if not match:
        raise HeadraceError(
            "HR-KFP-055",
            f"{every!r} is not an interval",
            expected="a whole number of minutes (m), hours (h) or days (d)",
            fix=["--every 6h", '--cron "30 2 * * *"   every day at 02:30'],
        )
    return int(match[1]) * UNITS[match[2]]


def _minutes_apart(here: tzinfo, there: tzinfo, now: datetime) -> set[int]:
    """Return by how many minutes local times of `there` are ahead of those of `here`, over the next two years."""
    if here == there:
        return {0}
    moments = (now.astimezone(UTC) + timedelta(hours=hours) for hours in range(COMPARED_HOURS))
    return {
        round((moment.astimezone(there).utcoffset() - moment.astimezone(here).utcoffset()).total_seconds() / 60)
        for moment in moments
    }


def _not_sayable(meant: Cron, zone: str, controller: str, apart: set[int]) -> HeadraceError:
    options = {minutes: shifted(meant, minutes) for minutes in sorted(apart)}
    return HeadraceError(
        "HR-KFP-057",
        f"{meant.text!r} in {zone} is no single cron in {controller}, the zone of Kubeflow's controller",
        seen=[
            f"while {controller} is {minutes / 60:+g} h from {zone}: {moved.text if moved else 'no cron says it'}"
            for minutes, moved in options.items()
        ],
        expected=f"a cron in {controller}, or a controller that runs in {zone}",
        fix=[
            *(
                f'--cron "{moved.text}" --timezone {controller}   right while the clocks are {minutes / 60:+g} h apart'
                for minutes, moved in options.items()
                if moved
            ),
            f"kubectl set env -n kubeflow deploy/ml-pipeline-scheduledworkflow CRON_SCHEDULE_TIMEZONE={zone}"
            f"   then --controller-timezone {zone}",
        ],
    )
