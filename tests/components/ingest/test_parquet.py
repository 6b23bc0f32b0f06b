"""Parquet files, written by pyarrow, and the exact error of each bad one."""

import datetime
import decimal

import pytest

from components.ingest.parquet import read_parquet
from pipeline.config.model import DataConfig
from pipeline.errors import HeadraceError


def write(path, columns):
    import pyarrow as pa
    from pyarrow import parquet

    parquet.write_table(columns if isinstance(columns, pa.Table) else pa.table(columns), path)
    return path


def read(path, declared=None):
    return read_parquet(str(path), DataConfig(path=str(path), format="parquet"), declared)


def refused(path, code):
    with pytest.raises(HeadraceError, match=code) as caught:
        read(path)
    return caught.value


def test_each_type_becomes_int64_float32_or_bytes(tmp_path):
    import pyarrow as pa

    moment = datetime.datetime(2013, 11, 1, 5, 15)
    zoned = moment.replace(tzinfo=datetime.timezone(datetime.timedelta(hours=-5)))
    columns = {
        "int8": pa.array([1, None], pa.int8()),
        "uint64": pa.array([2**63, 1], pa.uint64()),
        "bool": pa.array([True, False]),
        "double": pa.array([0.1, None], pa.float64()),
        "decimal": pa.array([decimal.Decimal("1.25"), None]),
        "text": pa.array(["é", ""]),
        "category": pa.array(["x", None]).dictionary_encode(),
        "date": pa.array([moment.date(), None]),
        "moment": pa.array([moment, None], pa.timestamp("s")),
        "zoned": pa.array([zoned, None], pa.timestamp("s", "UTC")),
        "nothing": pa.nulls(2),
    }
    table = read(write(tmp_path / "t.parquet", columns)).table
    assert table["int8"].to_pylist() == [1, None]
    assert table["uint64"].to_pylist() == [b"9223372036854775808", b"1"]
    assert table["bool"].to_pylist() == [1, 0]
    assert table["double"].cast(pa.float64()).to_pylist() == [0.10000000149011612, None]
    assert table["decimal"].to_pylist() == [1.25, None]
    assert table["text"].to_pylist() == ["é".encode(), None]
    assert table["category"].to_pylist() == [b"x", None]
    assert table["date"].to_pylist() == [b"2013-11-01", None]
    assert table["moment"].to_pylist() == [b"2013-11-01 05:15:00.000", None]
    assert table["zoned"].to_pylist() == [b"2013-11-01 10:15:00.000Z", None]
    assert table["nothing"].to_pylist() == [None, None]
    assert {str(field.type) for field in table.schema} == {"int64", "float", "binary"}


def test_integers_that_the_schema_declares_real_become_real(tmp_path):
    table = read(write(tmp_path / "t.parquet", {"x": [1, 2]}), {"x": "FLOAT"}).table
    assert str(table.schema.field("x").type) == "float"


def test_a_folder_is_read_by_name_and_rows_are_counted_per_file(tmp_path):
    write(tmp_path / "2.parquet", {"x": [3]})
    write(tmp_path / "1.parquet", {"x": [1, 2]})
    source = read(tmp_path)
    assert source.table["x"].to_pylist() == [1, 2, 3]
    assert source.places([1, 2]) == [f"{tmp_path}/1.parquet row 1 (from 0)", f"{tmp_path}/2.parquet row 0 (from 0)"]


@pytest.mark.parametrize("keep", [0, 3, 100, -10])
def test_a_truncated_file_is_refused(tmp_path, keep):
    path = write(tmp_path / "t.parquet", {"x": list(range(1000))})
    path.write_bytes(path.read_bytes()[:keep])
    error = refused(path, "HR-DATA-027")
    assert error.seen[0].startswith(f"{path.stat().st_size:,} bytes")


def test_a_file_with_a_damaged_middle_is_refused(tmp_path):
    path = write(tmp_path / "t.parquet", {"x": [f"text {n}" for n in range(10_000)]})
    content = bytearray(path.read_bytes())
    content[200:1200] = b"\xff" * 1000
    path.write_bytes(bytes(content))
    refused(path, "HR-DATA-027")


def test_a_csv_file_named_parquet_is_refused(tmp_path):
    path = tmp_path / "t.parquet"
    path.write_text("a,b\n1,2\n")
    refused(path, "HR-DATA-027")


def test_nested_columns_are_all_named(tmp_path):
    path = write(tmp_path / "t.parquet", {"ok": [1], "list": [[1, 2]], "struct": [{"a": 1}]})
    error = refused(path, "HR-DATA-028")
    assert error.seen == ["list: list<item: int64>", "struct: struct<a: int64>"] or error.seen == [
        "list: list<element: int64>",  # pyarrow 18 names the element as the format does
        "struct: struct<a: int64>",
    ]


def test_no_rows_are_refused(tmp_path):
    import pyarrow as pa

    refused(write(tmp_path / "t.parquet", {"x": pa.array([], pa.int64())}), "HR-DATA-004")


def test_nan_is_refused_with_its_row(tmp_path):
    path = write(tmp_path / "t.parquet", {"x": [1.0, float("nan"), float("inf")]})
    assert refused(path, "HR-DATA-016").seen == [
        f"x: 'nan' at {path} row 1 (from 0)",
        f"x: 'inf' at {path} row 2 (from 0)",
    ]


def test_files_with_other_types_are_refused(tmp_path):
    write(tmp_path / "1.parquet", {"x": [1]})
    write(tmp_path / "2.parquet", {"x": ["a"]})
    assert refused(tmp_path, "HR-DATA-020").seen == [f"{tmp_path}/2.parquet: x string, in {tmp_path}/1.parquet int64"]


def test_duplicate_names_are_refused(tmp_path):
    import pyarrow as pa

    table = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["x", "x"])
    assert refused(write(tmp_path / "t.parquet", table), "HR-DATA-008").seen == ["'x'"]
