"""The representative dataset: transformed training examples from which int8 reads the range of each tensor."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Iterator

import numpy as np

from components import examples
from pipeline.errors import HeadraceError


def read_representative(transformed_uri: str, label: str, count: int) -> dict[str, np.ndarray]:
    """Return up to `count` transformed training examples by feature, [m, ...] each, the label left out.

    Every class gets the same share where it has as many rows; within a class the rows are spread evenly over the split,
    so that data in order of time is covered from end to end.

    Raises: HR-EDGE-004.
    """
    labels = examples.read_dense(transformed_uri, "train", [label])[label].reshape(-1)
    rows = choose_rows(labels, count)
    with tempfile.TemporaryDirectory(prefix="headrace-calibration-") as folder:
        _write(_pick(transformed_uri, rows), folder)
        columns = examples.read_dense(folder, "train")
    return {name: column for name, column in columns.items() if name != label and column.dtype != object}


def choose_rows(labels: np.ndarray, count: int) -> np.ndarray:
    """Return ascending positions, int64 [min(count, n)]: balanced over classes, evenly spaced within each.

    A class with fewer rows than its share gives all of them; the others make up for it.
    """
    classes, inverse = np.unique(labels, return_inverse=True)
    members = [np.flatnonzero(inverse.reshape(-1) == c) for c in range(len(classes))]
    left, chosen = min(count, len(labels)), []
    for index, rows in enumerate(sorted(members, key=len)):  # small classes first: what they lack goes to larger ones
        share = -(-left // (len(members) - index))
        take = min(share, len(rows), left)
        chosen.append(rows[(np.arange(take) * len(rows)) // max(take, 1)])
        left -= take
    return np.sort(np.concatenate(chosen)) if chosen else np.zeros(0, np.int64)


def check_distinct(calibration: dict[str, np.ndarray]) -> None:
    """Refuse a representative dataset that shows a single point. Raises: HR-EDGE-004."""
    rows = max((len(column) for column in calibration.values()), default=0)
    if not any((column != column[:1]).any() for column in calibration.values() if len(column)):
        raise HeadraceError(
            "HR-EDGE-004",
            "the calibration examples are all equal" if rows else "there are no calibration examples",
            seen=[f"{rows} examples, {len(calibration)} features"],
            expected="at least two distinct transformed training examples",
            fix="raise quantize.calibration_examples, or check what Transform made of the training examples",
        )


def digest(calibration: dict[str, np.ndarray]) -> str:
    """Return the SHA-256 of names, dtypes, shapes and values."""
    found = hashlib.sha256()
    for name in sorted(calibration):
        column = np.ascontiguousarray(calibration[name])
        found.update(f"{name} {column.dtype} {column.shape}\n".encode())
        found.update(column.tobytes())
    return found.hexdigest()


def _pick(uri: str, rows: np.ndarray) -> Iterator[list[bytes]]:
    """Yield the serialized examples at ascending positions `rows`."""
    start = 0
    for batch in examples.read_serialized(uri, "train"):
        low, high = np.searchsorted(rows, [start, start + len(batch)])
        if low < high:
            yield [batch[row - start] for row in rows[low:high]]
        start += len(batch)


def _write(batches: Iterator[list[bytes]], folder: str) -> None:
    """Write serialized examples as the split `train`, so that only the chosen rows are ever decoded."""
    import tensorflow as tf

    split = examples.split_dir(folder, "train")
    os.makedirs(split)
    with tf.io.TFRecordWriter(os.path.join(split, "data_tfrecord-00000-of-00001")) as writer:
        for batch in batches:
            for record in batch:
                writer.write(record)
