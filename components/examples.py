"""Examples on disk: TFRecord files of serialized tf.Example, written and read in Arrow columns.

Layout: `<uri>/Split-<split>/data_tfrecord-00000-of-00002`, as TFX's own components read it.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from components.encode import encode_examples

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

ROWS_PER_SHARD = 250_000
ENCODE_ROWS = 20_000  # bounds the memory of one encoded piece


def split_dir(uri: str, split: str) -> str:
    """Return the folder of one split."""
    return os.path.join(uri, f"Split-{split}")


def split_files(uri: str, split: str) -> list[str]:
    """Return the record files of one split in the order in which they were written."""
    return sorted(glob.glob(os.path.join(split_dir(uri, split), "data_tfrecord-*")))


def write_split(batches: Iterable[pa.RecordBatch], uri: str, split: str, rows_per_shard: int = ROWS_PER_SHARD) -> int:
    """Write Arrow batches as one split and return the number of rows.

    Columns may be primitive (a null is a missing value) or lists of int64, float32 or binary.
    """
    folder = split_dir(uri, split)
    os.makedirs(folder, exist_ok=True)
    shards: list[str] = []
    rows = 0
    for shard in _shards(batches, rows_per_shard):
        shards.append(os.path.join(folder, f"shard-{len(shards)}"))
        rows += write_file(shard, shards[-1])
    for index, shard in enumerate(shards):
        os.rename(shard, os.path.join(folder, f"data_tfrecord-{index:05d}-of-{len(shards):05d}"))
    return rows


def write_file(batches: Iterable[pa.RecordBatch], path: str) -> int:
    """Write Arrow batches as one record file, whole or not at all, and return the number of rows."""
    import tensorflow as tf

    rows = 0
    with tf.io.TFRecordWriter(f"{path}.partial") as writer:
        for batch in batches:
            for piece in _pieces(batch):
                for record in encode_examples(piece):
                    writer.write(record)
            rows += batch.num_rows
    os.rename(f"{path}.partial", path)
    return rows


def read_serialized(uri: str, split: str, batch_rows: int = 16_384) -> Iterator[list[bytes]]:
    """Yield batches of serialized tf.Example in the order in which they were written."""
    import tensorflow as tf

    for batch in tf.data.TFRecordDataset(split_files(uri, split)).batch(batch_rows).prefetch(2).as_numpy_iterator():
        yield batch.tolist()


def read_batches(uri: str, split: str, schema=None, batch_rows: int = 16_384) -> Iterator[pa.RecordBatch]:
    """Yield Arrow batches of list columns; with a `Schema` proto, every column of it and no other."""
    from tfx_bsl.coders import example_coder

    decoder = example_coder.ExamplesToRecordBatchDecoder(schema.SerializeToString() if schema else None)
    for records in read_serialized(uri, split, batch_rows):
        yield decoder.DecodeBatch(records)


def read_dense(
    uri: str, split: str, names: Sequence[str] | None = None, limit: int | None = None
) -> dict[str, np.ndarray]:
    """Return columns without missing values as arrays: [n] for one value a row, [n, k] for k values.

    Dtypes: float32, int64, or object (bytes). `limit` keeps the first rows.
    """
    import numpy as np
    import tensorflow as tf

    first = next(read_serialized(uri, split, 1), None)
    if first is None:
        return {}
    kinds = _kinds(first[0])
    specs = {name: tf.io.FixedLenFeature([kinds[name][1]], kinds[name][0]) for name in names or kinds}
    records = tf.data.TFRecordDataset(split_files(uri, split))
    batches = (records.take(limit) if limit else records).batch(16_384)
    # TensorFlow's parser skips what is not asked for, and is some six times faster than decoding to Arrow
    parsed = batches.map(lambda batch: tf.io.parse_example(batch, specs), num_parallel_calls=tf.data.AUTOTUNE)
    parts = list(parsed.prefetch(2).as_numpy_iterator())
    columns = {name: np.concatenate([part[name] for part in parts]) for name in specs}
    return {name: column[:, 0] if column.shape[1] == 1 else column for name, column in columns.items()}


def read_labels_for_slicing(uri: str, split: str, names: Sequence[str]) -> dict[str, np.ndarray]:
    """Return raw columns as [n] arrays of str for slicing; a missing value reads as the empty string."""
    import numpy as np

    first = next(read_serialized(uri, split, 1), None)
    kinds = _kinds(first[0]) if first else {}
    columns = {}
    for name in dict.fromkeys(names):
        parts = [part for part in _read_ragged(uri, split, name, kinds[name][0] if name in kinds else None)]
        columns[name] = np.concatenate(parts).astype(str) if parts else np.array([], str)
    return columns


def _shards(batches: Iterable[pa.RecordBatch], rows_per_shard: int) -> Iterator[Iterator[pa.RecordBatch]]:
    """Group batches into shards of about `rows_per_shard` rows, without holding a shard in memory."""
    waiting = iter(batches)
    for first in waiting:

        def shard(first=first) -> Iterator[pa.RecordBatch]:
            yield first
            rows = first.num_rows
            while rows < rows_per_shard and (batch := next(waiting, None)) is not None:
                yield batch
                rows += batch.num_rows

        yield shard()


def _pieces(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    for start in range(0, batch.num_rows, ENCODE_ROWS):
        yield batch.slice(start, ENCODE_ROWS)


def _read_ragged(uri: str, split: str, name: str, dtype) -> list[np.ndarray]:
    """Return a column as object arrays of str; without a dtype, the first of TFRecord's three that fits is taken."""
    import numpy as np
    import tensorflow as tf

    if dtype is None:  # missing in the first row: its type is not known without looking
        for guess in (tf.string, tf.int64, tf.float32):
            try:
                return _read_ragged(uri, split, name, guess)
            except tf.errors.InvalidArgumentError:
                continue
    spec = {name: tf.io.RaggedFeature(dtype)}
    batches = tf.data.TFRecordDataset(split_files(uri, split)).batch(16_384)
    parsed = batches.map(lambda batch: tf.io.parse_example(batch, spec)[name], num_parallel_calls=tf.data.AUTOTUNE)
    parts = []
    for ragged in parsed.prefetch(2):
        lengths = ragged.row_lengths().numpy()
        text = np.full(len(lengths), "", object)
        text[np.repeat(np.arange(len(lengths)), lengths)] = _texts(ragged.values.numpy())
        parts.append(text)
    return parts


def _kinds(record: bytes) -> dict[str, tuple[object, int]]:
    """Return dtype and number of values of each feature that has a value in a serialized tf.Example."""
    import tensorflow as tf

    kinds = {"int64_list": tf.int64, "float_list": tf.float32, "bytes_list": tf.string}
    features = tf.train.Example.FromString(record).features.feature
    found = {name: feature.WhichOneof("kind") for name, feature in features.items()}
    return {
        name: (kinds[kind], len(getattr(features[name], kind).value))
        for name, kind in found.items()
        if kind and getattr(features[name], kind).value
    }


def _texts(values: np.ndarray) -> np.ndarray:
    """Return values as an object array of str, each distinct one converted once."""
    import numpy as np

    distinct, codes = np.unique(values, return_inverse=True)
    text = [v.decode("utf-8", "replace") if isinstance(v, bytes) else str(v) for v in distinct.tolist()]
    return np.array(text, object)[codes.reshape(-1)]
