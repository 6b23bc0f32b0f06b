"""Each way in which data breaks the schema is told with its code, its values and its fix."""

import pytest

from components import examples, schemas
from components.validate import anomalies, statistics
from pipeline.config.model import BeamConfig, ValidateConfig

pytestmark = pytest.mark.tf
SCHEMA = """
feature { name: "carrier" type: BYTES domain: "carrier" presence { min_fraction: 1.0 }
          shape { dim { size: 1 } } }
feature { name: "distance" type: INT presence { min_fraction: 1.0 }
          shape { dim { size: 1 } } int_domain { min: 0 max: 5000 } }
feature { name: "temp" type: FLOAT presence { min_fraction: 0.5 min_count: 1 } float_domain { disallow_nan: true } }
string_domain { name: "carrier" value: "UA" value: "AA" }
"""


def found(tmp_path, **changes) -> list[dict]:
    import pyarrow as pa

    columns = {
        "carrier": pa.array([b"UA", b"AA"] * 10),
        "distance": pa.array([100, 200] * 10),
        "temp": pa.array([1.5, 2.5] * 10, pa.float32()),
    }
    for name, column in changes.items():
        if column is None:
            del columns[name]
        else:
            columns[name] = column
    path = tmp_path / "schema.pbtxt"
    path.write_text(SCHEMA)
    schema = schemas.read_schema(str(path))
    batch = pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))
    examples.write_split([batch], str(tmp_path / "examples"), "train")
    measured = statistics.compute(str(tmp_path / "examples"), "train", schema, BeamConfig())
    protos = anomalies.find(measured, schema)
    return anomalies.merge_splits(
        anomalies.describe(protos, measured, schema, "train", "flights", str(path), ValidateConfig())
    )


def only(anomalies_found: list[dict]) -> dict:
    assert len(anomalies_found) == 1, anomalies_found
    return anomalies_found[0]


def test_data_that_follows_the_schema_has_no_anomaly(tmp_path):
    assert found(tmp_path) == []


def test_an_unknown_value_is_counted_and_can_be_approved(tmp_path):
    import pyarrow as pa

    anomaly = only(found(tmp_path, carrier=pa.array([b"UA", b"XX"] * 10)))
    assert anomaly["code"] == "HR-DATA-201"
    assert anomaly["seen"] == ["'XX' in 10 of 20 rows (50 %)"]
    assert anomaly["fix"][0].endswith("headrace schema approve flights --add carrier=XX")
    assert anomaly["expected"].endswith("schema.pbtxt:2")


def test_a_missing_column_is_told(tmp_path):
    anomaly = only(found(tmp_path, temp=None))
    assert (anomaly["code"], anomaly["severity"]) == ("HR-DATA-203", "error")


def test_a_renamed_column_is_recognised(tmp_path):
    import pyarrow as pa

    both = found(tmp_path, distance=None, distance_miles=pa.array([100, 200] * 10))
    missing = next(a for a in both if a["code"] == "HR-DATA-203")
    assert "'distance_miles' looks like it: renamed?" in missing["seen"][0]
    assert any(a["code"] == "HR-DATA-202" and a["feature"] == "distance_miles" for a in both)


def test_a_retyped_column_is_told(tmp_path):
    import pyarrow as pa

    assert only(found(tmp_path, distance=pa.array([b"far", b"near"] * 10)))["code"] == "HR-DATA-205"


def test_too_many_gaps_are_told(tmp_path):
    import pyarrow as pa

    assert only(found(tmp_path, temp=pa.array([1.5] + [None] * 19, pa.float32())))["code"] == "HR-DATA-204"


def test_a_value_out_of_range_is_told_with_the_extremes(tmp_path):
    import pyarrow as pa

    anomaly = only(found(tmp_path, distance=pa.array([100, 9999] * 10)))
    assert anomaly["code"] == "HR-DATA-206"
    assert any("largest 9999" in line for line in anomaly["seen"])


def test_nan_is_told(tmp_path):
    import pyarrow as pa

    assert only(found(tmp_path, temp=pa.array([1.5, float("nan")] * 10, pa.float32())))["code"] == "HR-DATA-207"


def test_the_gate_stops_on_errors_and_lists_several(tmp_path):
    import pyarrow as pa

    several = found(tmp_path, temp=None, carrier=pa.array([b"UA", b"XX"] * 10))
    error = anomalies.gate(several, ValidateConfig(), "flights")
    assert error.code == "HR-DATA-200"
    assert len(error.seen) == 2
    assert anomalies.gate(several, ValidateConfig(stop_on="never"), "flights") is None
    assert anomalies.gate([], ValidateConfig(), "flights") is None
    assert anomalies.gate(several[:1], ValidateConfig(), "flights").code == several[0]["code"]


def test_statistics_in_one_batch_equal_those_of_the_beam_graph(tmp_path):
    from tensorflow_data_validation.statistics import stats_options

    from components.validate.statistics import _compute_with_beam

    found(tmp_path)
    schema = schemas.read_schema(str(tmp_path / "schema.pbtxt"))
    uri = str(tmp_path / "examples")
    one = statistics.compute(uri, "train", schema, BeamConfig())
    beam = _compute_with_beam(uri, "train", stats_options.StatsOptions(schema=schema), BeamConfig())
    by_name = {f.path.step[0]: f for f in beam.datasets[0].features}
    assert one.datasets[0].num_examples == beam.datasets[0].num_examples == 20
    for feature in one.datasets[0].features:
        other = by_name[feature.path.step[0]]
        assert feature.num_stats.mean == pytest.approx(other.num_stats.mean)
        assert feature.string_stats.unique == other.string_stats.unique
