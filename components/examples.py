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


def write_split(
    batches: Iterable[pa.RecordBatch], uri: str, split: str, rows_per_shard: int = ROWS_PER_SHARD
) -> int:
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

    batch_rows = min(limit, 16_384) if limit else 16_384
    parts: dict[str, list] = {}
    rows = 0
    for batch in read_batches(uri, split, batch_rows=batch_rows):
        for name in names if names is not None else batch.schema.names:
            parts.setdefault(name, []).append(_dense(batch.column(batch.schema.get_field_index(name)), batch.num_rows))
        rows += batch.num_rows
        if limit and rows >= limit:
            break
    columns = {name: np.concatenate(pieces) for name, pieces in parts.items()}
    return {name: column[:limit] for name, column in columns.items()} if limit else columns


def read_labels_for_slicing(uri: str, split: str, names: Sequence[str]) -> dict[str, np.ndarray]:
    """Return raw columns as [n] arrays of str for slicing; a missing value reads as the empty string."""
    import numpy as np

    parts: dict[str, list] = {name: [] for name in names}
    for batch in read_batches(uri, split):
        for name in names:
            index = batch.schema.get_field_index(name)
            parts[name].append(_as_text(batch.column(index), batch.num_rows) if index >= 0 else [""] * batch.num_rows)
    return {name: np.concatenate(pieces) if pieces else np.array([], str) for name, pieces in parts.items()}


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


def _dense(column: pa.Array, rows: int) -> np.ndarray:
    import numpy as np

    values = np.asarray(column.flatten())
    width = len(values) // rows if rows else 0
    if width * rows != len(values):
        raise ValueError("a dense column has the same number of values in every row")
    return values if width == 1 else values.reshape(rows, width)


def _as_text(column: pa.Array, rows: int) -> np.ndarray:
    import numpy as np
    import pyarrow as pa

    text = np.full(rows, "", dtype=object)
    if not pa.types.is_null(column.type):
        parents = np.asarray(column.value_parent_indices()) if hasattr(column, "value_parent_indices") else None
        if parents is None:
            lengths = np.asarray(column.value_lengths().fill_null(0))
            parents = np.repeat(np.arange(rows), lengths)
        values = column.flatten().to_pylist()
        text[parents] = [v.decode("utf-8", "replace") if isinstance(v, bytes) else str(v) for v in values]
    return text.astype(str)
