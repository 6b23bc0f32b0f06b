"""Apply the transform graph to a split, file by file, so that row order is kept on every runner."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING

from components import examples
from components.beam import open_pipeline
from pipeline.config.model import BeamConfig

if TYPE_CHECKING:
    import pyarrow as pa
    import tensorflow as tf


def apply(
    graph_uri: str,
    examples_uri: str,
    split: str,
    out_uri: str,
    beam_config: BeamConfig,
    batch_rows: int,
    on_file: Callable[[], None] = lambda: None,
) -> None:
    """Write the transformed examples of a split: one file out for each file in, rows in the same order."""
    files = examples.split_files(examples_uri, split)
    folder = examples.split_dir(out_uri, split)
    os.makedirs(folder, exist_ok=True)
    if beam_config.runner == "direct":
        transform = load_transform(graph_uri)
        for path in files:
            _transform_file(transform, path, folder, batch_rows)
            on_file()
        return
    import apache_beam as beam

    with open_pipeline(beam_config) as pipeline:
        _ = pipeline | beam.Create(files) | beam.Map(_load_and_transform_file, graph_uri, folder, batch_rows)


def load_transform(graph_uri: str) -> Callable[[tf.Tensor], dict[str, tf.Tensor]]:
    """Return a function from serialized raw examples, string [rows], to dense transformed tensors by name."""
    import tensorflow as tf
    import tensorflow_transform as tft

    output = tft.TFTransformOutput(graph_uri)
    specs = output.raw_feature_spec()
    layer = output.transform_features_layer()

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string)])
    def transform(records: tf.Tensor) -> dict[str, tf.Tensor]:
        return layer(tf.io.parse_example(records, specs))

    return transform


def _load_and_transform_file(path: str, graph_uri: str, folder: str, batch_rows: int) -> None:
    _transform_file(load_transform(graph_uri), path, folder, batch_rows)


def _transform_file(transform: Callable, path: str, folder: str, batch_rows: int) -> None:
    import tensorflow as tf

    batches = tf.data.TFRecordDataset([path]).batch(batch_rows).map(transform).prefetch(2)
    tables = (_to_arrow(dict(sorted(columns.items()))) for columns in batches.as_numpy_iterator())
    examples.write_file(tables, os.path.join(folder, os.path.basename(path)))


def _to_arrow(columns: dict) -> pa.RecordBatch:
    import numpy as np
    import pyarrow as pa

    arrays = []
    for values in columns.values():
        rows = len(values)
        width = int(np.prod(values.shape[1:])) if values.ndim > 1 else 1
        offsets = pa.array(np.arange(0, rows * width + 1, width, dtype=np.int32)[: rows + 1])
        arrays.append(pa.ListArray.from_arrays(offsets, pa.array(values.reshape(-1))))
    return pa.RecordBatch.from_arrays(arrays, names=list(columns))
