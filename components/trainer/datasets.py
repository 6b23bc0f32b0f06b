"""Transformed examples as tf.data, from record files alone: TensorFlow is all that a training worker needs."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from components.trainer.plan import Feature

if TYPE_CHECKING:
    import tensorflow as tf

IN_MEMORY_BYTES = 2 << 30  # larger record files are streamed
SHUFFLE_ROWS = 200_000  # rows in the shuffle buffer when streaming
PARSE_ROWS = 8_192


def training_batches(
    files: Sequence[str], features: Mapping[str, Feature], label: str, batch_size: int, rows: int, seed: int
) -> tf.data.Dataset:
    """Return an endless dataset of shuffled `(features, label)` batches, each epoch in another order."""
    import tensorflow as tf

    if sum(os.path.getsize(path) for path in files) > IN_MEMORY_BYTES:
        records = tf.data.Dataset.from_tensor_slices(list(files)).shuffle(len(files), seed).repeat()
        records = records.interleave(tf.data.TFRecordDataset, num_parallel_calls=tf.data.AUTOTUNE)
        batches = records.shuffle(min(rows, SHUFFLE_ROWS), seed).batch(batch_size)
        parsed = batches.map(lambda batch: _parse(batch, features), num_parallel_calls=tf.data.AUTOTUNE)
        return _by_rows(parsed.map(lambda columns: _split_label(columns, label)).prefetch(tf.data.AUTOTUNE))
    columns = load(files, features)
    steps = max(1, rows // batch_size)
    size = min(batch_size, rows)

    def epoch(number: tf.Tensor) -> tf.data.Dataset:
        order = tf.random.experimental.stateless_shuffle(tf.range(rows), seed=[seed, tf.cast(number, tf.int32)])
        return tf.data.Dataset.from_tensor_slices(tf.reshape(order[: steps * size], [steps, size]))

    def gather(order: tf.Tensor):
        return _split_label({name: tf.gather(column, order) for name, column in columns.items()}, label)

    batches = tf.data.Dataset.counter().flat_map(epoch)
    return _by_rows(batches.map(gather, num_parallel_calls=tf.data.AUTOTUNE).prefetch(tf.data.AUTOTUNE))


def evaluation_batches(
    files: Sequence[str], features: Mapping[str, Feature], label: str, batch_size: int = PARSE_ROWS
) -> tf.data.Dataset:
    """Return every row once, in order, as `(features, label)` batches."""
    import tensorflow as tf

    batches = tf.data.TFRecordDataset(list(files)).batch(batch_size)
    parsed = batches.map(lambda batch: _parse(batch, features), num_parallel_calls=tf.data.AUTOTUNE)
    return _by_rows(parsed.map(lambda columns: _split_label(columns, label)).prefetch(tf.data.AUTOTUNE))


def load(files: Sequence[str], features: Mapping[str, Feature]) -> dict[str, tf.Tensor]:
    """Return whole columns as tensors [rows, ...]."""
    import tensorflow as tf

    batches = tf.data.TFRecordDataset(list(files)).batch(PARSE_ROWS)
    parts = list(batches.map(lambda batch: _parse(batch, features), num_parallel_calls=tf.data.AUTOTUNE))
    return {name: tf.concat([part[name] for part in parts], 0) for name in features}


def count_rows(files: Sequence[str]) -> int:
    """Return the number of records in the files."""
    import tensorflow as tf

    return sum(len(batch) for batch in tf.data.TFRecordDataset(list(files)).batch(65_536).as_numpy_iterator())


def steps_per_epoch(rows: int, batch_size: int) -> int:
    """Return the steps that see each row about once; the rest of a batch waits for the next epoch's order."""
    return max(1, math.floor(rows / batch_size))


def _by_rows(dataset: tf.data.Dataset) -> tf.data.Dataset:
    """Let workers share out rows, not files: TensorFlow's automatic choice fails with fewer files than workers."""
    import tensorflow as tf

    options = tf.data.Options()
    options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.DATA
    return dataset.with_options(options)


def _parse(batch: tf.Tensor, features: Mapping[str, Feature]) -> dict[str, tf.Tensor]:
    import tensorflow as tf

    specs = {name: tf.io.FixedLenFeature(f.shape, tf.as_dtype(f.dtype)) for name, f in features.items()}
    return tf.io.parse_example(batch, specs)


def _split_label(columns: dict, label: str) -> tuple[dict, tf.Tensor]:
    return {name: value for name, value in columns.items() if name != label}, columns[label]
