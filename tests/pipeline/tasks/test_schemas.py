"""The curated schemas hold what the tasks' tables hold, and refuse what they do not."""

import csv
import math
from pathlib import Path

import pytest

from components.schemas import read_schema
from pipeline.data.flights import COLUMNS

SCHEMAS = Path(__file__).parents[3] / "schemas"
WEATHER = {"temp", "dewp", "humid", "wind_dir", "wind_speed", "wind_gust", "precip", "pressure", "visib"}
FLIGHT = {
    "date": "2013-01-01", "month": 1, "day": 1, "weekday": 1, "dep_hour": 5, "dep_minute": 15, "arr_hour": 8,
    "arr_minute": 19, "carrier": "UA", "origin": "EWR", "dest": "IAH", "distance": 1400, "tailnum": "N14228",
    "temp": 39.02, "dewp": 28.04, "humid": 64.43, "wind_dir": 260.0, "wind_speed": 12.66, "wind_gust": 24.2,
    "precip": 0.0, "pressure": 1011.9, "visib": 10.0, "late": 0,
}  # fmt: skip


def flights(count: int = 20, **changed):
    """Return statistics of `count` equal flights; `changed` columns hold the given values or are left out (None)."""
    import pandas as pd
    import tensorflow_data_validation as tfdv

    row = {name: value for name, value in {**FLIGHT, **changed}.items() if value is not None}
    table = pd.DataFrame({name: value if isinstance(value, list) else [value] * count for name, value in row.items()})
    return tfdv.generate_statistics_from_dataframe(table)


def anomalies(statistics, task: str = "flights") -> dict[str, str]:
    """Return the short description of each anomaly by column."""
    import tensorflow_data_validation as tfdv

    found = tfdv.validate_statistics(statistics, read_schema(str(SCHEMAS / task)))
    return {name: anomaly.short_description for name, anomaly in found.anomaly_info.items()}


def test_the_flights_schema_names_exactly_the_columns_of_the_table_in_their_order():
    assert [feature.name for feature in read_schema(str(SCHEMAS / "flights")).feature] == COLUMNS


def test_only_the_weather_may_be_missing():
    schema = read_schema(str(SCHEMAS / "flights"))
    assert {f.name for f in schema.feature if f.presence.min_fraction < 1} == WEATHER
    assert all(f.HasField("shape") == (f.name not in WEATHER) for f in schema.feature), "gaps allow no shape"


def test_every_number_has_a_range_and_floats_refuse_nan_and_infinity():
    for feature in read_schema(str(SCHEMAS / "flights")).feature:
        if feature.type == 3:  # FLOAT
            assert feature.float_domain.min < feature.float_domain.max
            assert feature.float_domain.disallow_nan and feature.float_domain.disallow_inf
        if feature.type == 2:  # INT
            assert feature.int_domain.min < feature.int_domain.max


def test_a_regular_flight_passes():
    assert anomalies(flights()) == {}


@pytest.mark.parametrize(
    ("changed", "column"),
    [
        ({"carrier": "ZZ"}, "carrier"),
        ({"dest": "ZZZ"}, "dest"),
        ({"dep_hour": 25}, "dep_hour"),
        ({"late": 2}, "late"),
        ({"temp": 281.5}, "temp"),  # Kelvin
        ({"distance": 1400.5}, "distance"),
        ({"visib": None}, "visib"),
        ({"pressure": [1011.9] * 10 + [math.nan] * 10}, "pressure"),
    ],
)
def test_a_value_out_of_the_contract_is_an_anomaly_of_its_column(changed, column):
    assert list(anomalies(flights(**changed))) == [column]


def test_one_flight_in_a_thousand_may_go_to_a_new_place_but_not_two():
    assert anomalies(flights(1000, dest=["IAH"] * 999 + ["ZZZ"])) == {}
    assert list(anomalies(flights(1000, dest=["IAH"] * 998 + ["ZZZ"] * 2))) == ["dest"]


@pytest.mark.parametrize("task", ["digits", "mnist"])
def test_an_image_task_takes_ten_digits_and_no_other_class(task):
    import pandas as pd
    import tensorflow_data_validation as tfdv

    def found(labels):
        table = pd.DataFrame({"image": [b"\x89PNG"] * len(labels), "label": labels})
        return anomalies(tfdv.generate_statistics_from_dataframe(table), task)

    digits = [str(digit).encode() for digit in range(10)]
    assert found(digits) == {}
    assert list(found([*digits, b"10"])) == ["label"]
    assert [feature.name for feature in read_schema(str(SCHEMAS / task)).feature] == ["image", "label"]


@pytest.mark.skipif(not (SCHEMAS.parent / "data/flights/flights.csv").exists(), reason="needs `headrace data flights`")
def test_the_header_of_the_real_table_is_the_schema():
    with open(SCHEMAS.parent / "data/flights/flights.csv", newline="") as file:
        assert next(csv.reader(file)) == [feature.name for feature in read_schema(str(SCHEMAS / "flights")).feature]
