"""Batches of transformed examples: every row once an epoch, in another order each time."""

import numpy as np
import pytest

from components import examples
from components.trainer import datasets
from components.trainer.plan import Feature

pytestmark = pytest.mark.tf
FEATURES = {"i": Feature((), "int64"), "v": Feature((2,), "float32"), "late": Feature((), "int64")}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    import pyarrow as pa

    uri = str(tmp_path_factory.mktemp("examples"))
    n = np.arange(100)
    vectors = pa.ListArray.from_arrays(
        pa.array(np.arange(0, 201, 2, dtype=np.int32)), pa.array(np.repeat(n, 2).astype(np.float32))
    )
    batch = pa.RecordBatch.from_arrays([pa.array(n), vectors, pa.array(n % 2)], names=["i", "v", "late"])
    examples.write_split([batch.slice(0, 60), batch.slice(60)], uri, "train", rows_per_shard=60)
    return examples.split_files(uri, "train")


def epochs(files, count: int) -> list[np.ndarray]:
    batches = datasets.training_batches(files, FEATURES, "late", 20, 100, seed=1).take(5 * count)
    seen = [(columns["i"].numpy(), columns["v"].numpy(), label.numpy()) for columns, label in batches]
    for i, v, label in seen:
        np.testing.assert_array_equal(label, i % 2)
        np.testing.assert_array_equal(v, np.stack([i, i], axis=1))
    return [np.concatenate([i for i, _, _ in seen[5 * e : 5 * e + 5]]) for e in range(count)]


def test_each_epoch_holds_every_row_once_in_another_order(files):
    first, second = epochs(files, 2)
    np.testing.assert_array_equal(np.sort(first), np.arange(100))
    np.testing.assert_array_equal(np.sort(second), np.arange(100))
    assert (first != second).any()
    assert (first != np.arange(100)).any()


def test_the_order_is_decided_by_the_seed(files):
    np.testing.assert_array_equal(epochs(files, 1)[0], epochs(files, 1)[0])


def test_files_too_large_for_memory_are_streamed(files, monkeypatch):
    monkeypatch.setattr(datasets, "IN_MEMORY_BYTES", 0)
    (first,) = epochs(files, 1)
    assert len(first) == 100
    assert set(first) <= set(range(100))


def test_evaluation_sees_every_row_once_in_order(files):
    rows = np.concatenate(
        [columns["i"].numpy() for columns, _ in datasets.evaluation_batches(files, FEATURES, "late", 30)]
    )
    np.testing.assert_array_equal(rows, np.arange(100))


def test_rows_and_steps_are_counted(files):
    assert datasets.count_rows(files) == 100
    assert datasets.steps_per_epoch(100, 30) == 3
    assert datasets.steps_per_epoch(10, 30) == 1
