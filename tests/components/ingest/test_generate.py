"""From files to splits on disk and back, the whole step."""

import csv
import io
import resource
from collections import Counter

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from components import examples
from components.ingest.csv import read_csv
from components.ingest.generate import IngestConfig, generate_examples
from pipeline.config.model import DataConfig
from pipeline.errors import HeadraceError

pytestmark = pytest.mark.tf

INT64 = st.integers(-(2**63), 2**63 - 1)
FLOAT32 = st.floats(width=32, allow_nan=False, allow_infinity=False)
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
ROWS = st.lists(st.tuples(INT64 | st.none(), FLOAT32 | st.none(), TEXT), min_size=1, max_size=20)


def config(path, **sections):
    values = {"data": {"path": str(path)}, "label": "y", "problem": "binary"}
    return IngestConfig.model_validate(values | sections)


def rows_of(uri, split):
    """Return the rows of a split as tuples of a value or None a column, in the order of their names."""
    rows = []
    for batch in examples.read_batches(uri, split):
        names = sorted(batch.schema.names)
        columns = [batch.column(batch.schema.get_field_index(name)).to_pylist() for name in names]
        rows += [tuple(value[0] if value else None for value in row) for row in zip(*columns, strict=True)]
    return rows


@given(rows=ROWS)
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_table_that_the_csv_module_writes_comes_back_equal(tmp_path, rows):
    import numpy as np

    text = io.StringIO(newline="")
    csv.writer(text).writerows([["f", "i", "key", "s"], *[(f, i, n, s) for n, (i, f, s) in enumerate(rows)]])
    path = tmp_path / "rows.csv"
    path.write_bytes(text.getvalue().encode())
    declared = {"i": "INT", "f": "FLOAT", "s": "BYTES"}
    table = read_csv(str(path), DataConfig(path=str(path)), declared).table
    for old in tmp_path.glob("out/*/*"):
        old.unlink()
    assert examples.write_split(table.to_batches(), str(tmp_path / "out"), "train") == len(rows)
    found = list(_aligned(str(tmp_path / "out")))
    expected = [
        {"f": None if f is None else np.float32(f), "i": i, "key": n, "s": s.encode() or None}
        for n, (i, f, s) in enumerate(rows)
    ]
    assert found == [{name: value for name, value in row.items() if value is not None} for row in expected]


def _aligned(uri):
    for batch in examples.read_batches(uri, "train"):
        for row in batch.to_pylist():
            yield {name: values[0] for name, values in row.items() if values}


def test_every_row_goes_to_one_split_and_the_summary_counts_them(tmp_path):
    path = tmp_path / "rows.csv"
    lines = [(n, f"{n / 7:.3f}", f"w{n % 5}", n % 2) for n in range(1_000)]
    path.write_text("n,r,w,y\n" + "".join(",".join(map(str, line)) + "\n" for line in lines))
    notes = []
    summary = generate_examples(
        config(path), str(tmp_path / "out"), progress=lambda share, note: notes.append((share, note))
    )
    train, evaluated = (rows_of(str(tmp_path / "out"), split) for split in ("train", "eval"))
    assert summary["rows"] == {"train": len(train), "eval": len(evaluated)}
    assert summary["features"] == 3
    assert summary["source_bytes"] == path.stat().st_size
    assert Counter(row[0] for row in train + evaluated) == Counter(range(1_000))
    assert [row[0] for row in train] == sorted(row[0] for row in train)
    assert [share for share, _ in notes] == sorted(share for share, _ in notes)
    names = sorted(path.name for path in (tmp_path / "out" / "Split-train").iterdir())
    assert names == ["data_tfrecord-00000-of-00001"]


def test_the_same_file_gives_the_same_splits_in_the_same_order(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("n,y\n" + "".join(f"{n},{n % 2}\n" for n in range(200)))
    for name in ("a", "b"):
        generate_examples(config(path), str(tmp_path / name))
    for split in ("train", "eval"):
        assert rows_of(str(tmp_path / "a"), split) == rows_of(str(tmp_path / "b"), split)


def test_images_become_examples_of_bytes(tmp_path):
    from PIL import Image

    for label in ("cat", "dog"):
        (tmp_path / "in" / label).mkdir(parents=True)
        for index in range(20):
            Image.new("L", (8, 8), index * 10).save(tmp_path / "in" / label / f"{index}.png")
    images = config(
        tmp_path / "in", data={"path": str(tmp_path / "in"), "format": "images"}, label="label", problem="multiclass"
    )
    summary = generate_examples(images, str(tmp_path / "out"))
    found = rows_of(str(tmp_path / "out"), "train") + rows_of(str(tmp_path / "out"), "eval")
    expected = [(file.read_bytes(), file.parent.name.encode()) for file in (tmp_path / "in").glob("*/*.png")]
    assert sorted(found) == sorted(expected)
    assert summary["features"] == 1


def test_parquet_and_csv_of_one_table_give_the_same_examples(tmp_path):
    import pandas as pd

    frame = pd.DataFrame(
        {"n": range(300), "r": [n / 8 for n in range(300)], "w": ["a", "b", "c"] * 100, "y": [0, 1] * 150}
    )
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.to_parquet(tmp_path / "t.parquet", index=False)
    for kind in ("csv", "parquet"):
        generate_examples(config(tmp_path, data={"path": f"{tmp_path}/t.{kind}", "format": kind}), str(tmp_path / kind))
    for split in ("train", "eval"):
        assert rows_of(str(tmp_path / "csv"), split) == rows_of(str(tmp_path / "parquet"), split)


def test_a_class_of_eval_unseen_in_train_stops_before_anything_is_written(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("day,y\n1,a\n2,b\n3,c\n")
    split = {"by": "time", "column": "day", "eval_from": "3"}
    with pytest.raises(HeadraceError, match="HR-DATA-015") as caught:
        generate_examples(config(path, split=split, problem="multiclass"), str(tmp_path / "out"))
    assert caught.value.seen == [f"'c' in eval once, first at {path}:4"]
    assert not (tmp_path / "out").exists()


def test_an_output_folder_without_permission_is_named(tmp_path, another_user):
    path, out = tmp_path / "rows.csv", tmp_path / "out"
    path.write_text("n,y\n" + "".join(f"{n},{n % 2}\n" for n in range(100)))
    generate_examples(config(path), str(out))
    out.chmod(0o555)
    with another_user(), pytest.raises(HeadraceError, match="HR-SYS-002"):
        generate_examples(config(path), str(out / "below"))


def test_a_full_disk_is_named_and_leaves_no_split(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("n,y\n" + "".join(f"{n},{n % 2}\n" for n in range(5_000)))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, hard))
    try:
        with pytest.raises(HeadraceError, match="HR-SYS-001"):
            generate_examples(config(path), str(tmp_path / "out"))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert not list((tmp_path / "out").glob("*/data_tfrecord-*"))
