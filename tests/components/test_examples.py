"""Examples keep values, order and gaps on their way through record files."""

import os

import numpy as np
import pytest

from components import examples

pytestmark = pytest.mark.tf


def a_batch(rows: int, start: int = 0):
    import pyarrow as pa

    numbers = list(range(start, start + rows))
    return pa.RecordBatch.from_arrays(
        [
            pa.array(numbers),
            pa.array([n / 2 for n in numbers], pa.float32()),
            pa.array([f"w{n}".encode() for n in numbers]),
        ],
        names=["i", "f", "s"],
    )


def test_rows_come_back_in_order_from_several_shards(tmp_path):
    rows = examples.write_split([a_batch(40, 40 * i) for i in range(5)], str(tmp_path), "train", rows_per_shard=80)
    assert rows == 200
    assert [os.path.basename(path) for path in examples.split_files(str(tmp_path), "train")] == [
        f"data_tfrecord-{i:05d}-of-00003" for i in range(3)
    ]
    columns = examples.read_dense(str(tmp_path), "train")
    np.testing.assert_array_equal(columns["i"], np.arange(200))
    np.testing.assert_array_equal(columns["f"], np.arange(200, dtype=np.float32) / 2)
    assert columns["s"][199] == b"w199"


def test_tensorflow_reads_what_was_written(tmp_path):
    import tensorflow as tf

    examples.write_split([a_batch(3)], str(tmp_path), "eval")
    found = [tf.train.Example.FromString(r) for batch in examples.read_serialized(str(tmp_path), "eval") for r in batch]
    assert [list(e.features.feature["i"].int64_list.value) for e in found] == [[0], [1], [2]]
    assert [list(e.features.feature["f"].float_list.value) for e in found] == [[0.0], [0.5], [1.0]]
    assert [list(e.features.feature["s"].bytes_list.value) for e in found] == [[b"w0"], [b"w1"], [b"w2"]]


def test_a_null_is_a_missing_feature(tmp_path):
    import pyarrow as pa

    batch = pa.RecordBatch.from_arrays([pa.array([1, None, 3]), pa.array([None, b"x", b"y"])], names=["a", "b"])
    examples.write_split([batch], str(tmp_path), "train")
    back = next(examples.read_batches(str(tmp_path), "train"))
    assert back.to_pydict() == {"a": [[1], None, [3]], "b": [None, [b"x"], [b"y"]]}
    words = examples.read_labels_for_slicing(str(tmp_path), "train", ["a", "b", "absent"])
    assert {name: column.tolist() for name, column in words.items()} == {
        "a": ["1", "", "3"],
        "b": ["", "x", "y"],
        "absent": ["", "", ""],
    }


def test_a_limit_keeps_the_first_rows(tmp_path):
    examples.write_split([a_batch(50)], str(tmp_path), "train")
    assert examples.read_dense(str(tmp_path), "train", ["i"], limit=7)["i"].tolist() == list(range(7))


def test_nothing_with_its_final_name_is_left_when_writing_fails(tmp_path):
    def broken():
        yield a_batch(5)
        raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"):
        examples.write_split(broken(), str(tmp_path), "train")
    assert examples.split_files(str(tmp_path), "train") == []
