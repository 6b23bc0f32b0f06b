"""The flights table, joined row by row with the csv module as the oracle."""

import csv
import io
import tarfile
import zipfile
from datetime import date
from pathlib import Path

import pytest

from pipeline.data import flights
from pipeline.errors import HeadraceError

FLIGHTS = """\
year,month,day,dep_time,sched_dep_time,dep_delay,arr_time,sched_arr_time,arr_delay,carrier,flight,tailnum,origin,dest,\
air_time,distance,hour,minute,time_hour
2013,10,1,1,2359,1,1,5,16,UA,1,N1,EWR,IAH,1,1400,23,59,z
2013,1,2,1,515,1,1,819,15,AA,1,N2,JFK,MIA,1,1089,5,15,z
2013,1,2,NA,600,NA,NA,700,NA,AA,1,N2,JFK,MIA,NA,1089,6,0,z
2013,1,1,1,600,1,1,700,-3.0,AA,1,NA,JFK,MIA,1,1089,6,0,z
2013,11,3,1,105,1,1,200,99,AA,1,N4,JFK,MIA,1,1089,1,5,z
"""
WEATHER = """origin,year,month,day,hour,temp,dewp,humid,wind_dir,wind_speed,wind_gust,precip,pressure,visib,time_hour
JFK,2013,1,2,5,39.02,26.06,59.37,270,10.5,NA,0,1012,10,z
EWR,2013,10,1,23,50.5,NA,60,NA,3,20,0.01,NA,9,z
JFK,2013,11,3,1,41,1,1,1,1,1,0,1,1,z
JFK,2013,11,3,1,42,2,2,2,2,2,0,2,2,z
"""


def sdist(path: Path, flights_csv: str = FLIGHTS, weather_csv: str | None = WEATHER) -> Path:
    zipped = io.BytesIO()
    with zipfile.ZipFile(zipped, "w") as file:
        file.writestr("flights.csv", flights_csv)
    members = {"flights.csv.zip": zipped.getvalue(), "weather.csv": weather_csv and weather_csv.encode()}
    with tarfile.open(path, "w:gz") as tar:
        for name, content in members.items():
            if content is not None:
                info = tarfile.TarInfo(f"{flights.FOLDER}/{name}")
                info.size = len(content)
                tar.addfile(info, io.BytesIO(content))
    return path


@pytest.fixture
def small(monkeypatch):
    """Expect the four flights above that arrived, two of them late."""
    monkeypatch.setattr(flights, "ROWS", 4)
    monkeypatch.setattr(flights, "LATE_SHARE", 0.5)


def test_each_flight_that_arrived_is_written_in_time_order_with_its_weather(small, tmp_path):
    rows, note = flights.build(tmp_path, sdist(tmp_path / "a.tar.gz"), lambda share, text: None)
    with open(tmp_path / "flights.csv", newline="") as file:
        found = list(csv.DictReader(file))
    assert (rows, note) == (4, "50.0% late")
    weather = {}
    for row in csv.DictReader(io.StringIO(WEATHER)):
        weather.setdefault((row["origin"], row["month"], row["day"], row["hour"]), row)
    expected = []
    for row in csv.DictReader(io.StringIO(FLIGHTS)):
        if row["arr_delay"] == "NA":
            continue
        departure, arrival = int(row["sched_dep_time"]), int(row["sched_arr_time"])
        day = date(2013, int(row["month"]), int(row["day"]))
        at = weather.get((row["origin"], row["month"], row["day"], row["hour"]), {})
        expected.append(
            {
                "date": day.isoformat(),
                "month": row["month"],
                "day": row["day"],
                "weekday": str(day.weekday()),
                "dep_hour": str(departure // 100),
                "dep_minute": str(departure % 100),
                "arr_hour": str(arrival // 100),
                "arr_minute": str(arrival % 100),
                **{name: row[name] for name in ("carrier", "origin", "dest", "distance")},
                "tailnum": row["tailnum"].replace("NA", ""),
                **{name: at.get(name, "NA") for name in flights.WEATHER},
                "late": str(int(float(row["arr_delay"]) > 15)),
            }
        )
    expected.sort(key=lambda row: (row["date"], int(row["dep_hour"]), int(row["dep_minute"])))
    assert [list(row) for row in found] == [flights.COLUMNS] * 4
    for row, wanted in zip(found, expected, strict=True):
        for name in flights.WEATHER:
            assert (float(row.pop(name)) if row[name] else row.pop(name) or "NA") == _number(wanted.pop(name))
        assert row == wanted


def _number(text: str):
    return text if text == "NA" else float(text)


def test_the_nine_columns_of_the_benchmark_are_those_of_the_source(tmp_path):
    archive = sdist(tmp_path / "a.tar.gz")
    assert flights.write_nine_columns(archive, tmp_path / "nine.csv") == 4
    with open(tmp_path / "nine.csv", newline="") as file:
        found = list(csv.reader(file))
    assert found[0] == [
        "month",
        "day",
        "sched_dep_time",
        "sched_arr_time",
        "carrier",
        "origin",
        "dest",
        "distance",
        "late",
    ]
    assert found[1] == ["10", "1", "2359", "5", "UA", "EWR", "IAH", "1400", "1"]
    assert found[2] == ["1", "2", "515", "819", "AA", "JFK", "MIA", "1089", "0"]


def test_an_archive_with_other_figures_is_refused(tmp_path):
    with pytest.raises(HeadraceError, match="HR-DATA-106") as caught:
        flights.build(tmp_path, sdist(tmp_path / "a.tar.gz"), lambda share, text: None)
    assert caught.value.seen == ["4 flights, 0.5000 late"]


def test_an_archive_without_a_member_is_refused(tmp_path):
    with pytest.raises(HeadraceError, match="HR-DATA-106") as caught:
        flights.build(tmp_path, sdist(tmp_path / "a.tar.gz", weather_csv=None), lambda share, text: None)
    assert "weather.csv" in caught.value.seen[0]


def test_a_file_that_is_no_archive_is_refused(tmp_path):
    (tmp_path / "a.tar.gz").write_bytes(b"not an archive")
    with pytest.raises(HeadraceError, match="HR-DATA-106"):
        flights.build(tmp_path, tmp_path / "a.tar.gz", lambda share, text: None)


def test_the_real_table_has_its_rows_and_its_share_of_late_flights():
    path = Path("data/flights/flights.csv")
    if not path.exists():
        pytest.skip("data/flights is not there: headrace data flights")
    with open(path, newline="") as file:
        late = [row["late"] for row in csv.DictReader(file)]
    assert len(late) == 327_346
    assert late.count("1") / len(late) == pytest.approx(0.23715, abs=1e-5)
