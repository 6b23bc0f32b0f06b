"""Apply the transform graph to a split, file by file, so that row order is kept on every runner."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from components import examples
from components.beam import open_pipeline
from components.transform.analyze import tensor_adapter_config
from pipeline.config.model import BeamConfig

if TYPE_CHECKING:
    import pyarrow as pa
    from tensorflow_metadata.proto.v0 import schema_pb2


def apply(
    graph_uri: str,
    examples_uri: str,
    split: str,
    schema: schema_pb2.Schema,
    out_uri: str,
    beam_config: BeamConfig,
    batch_rows: int,
    on_file: Callable[[], None] = lambda: None,
) -> None:
    """Write the transformed examples of a split: one file out for each file in, rows in the same order."""
    files = examples.split_files(examples_uri, split)
    folder = examples.split_dir(out_uri, split)
    os.makedirs(folder, exist_ok=True)
    serialized = schema.SerializeToString()
    if beam_config.runner == "direct":
        transform = load_transform(graph_uri, serialized)
        for path in files:
            _transform_file(transform, path, folder, serialized, batch_rows)
            on_file()
        return
    import apache_beam as beam

    with open_pipeline(beam_config) as pipeline:
        _ = (
            pipeline
            | beam.Create(files)
            | beam.Map(_load_and_transform_file, graph_uri, folder, serialized, batch_rows)
        )


def load_transform(graph_uri: str, serialized_schema: bytes) -> Callable[[pa.RecordBatch], pa.RecordBatch]:
    """Return a function from a raw Arrow batch to a batch of dense transformed columns."""
    import tensorflow as tf
    import tensorflow_transform as tft
    from tensorflow_metadata.proto.v0 import schema_pb2
    from tfx_bsl.tfxio import tensor_adapter

    output = tft.TFTransformOutput(graph_uri)
    adapter = tensor_adapter.TensorAdapter(tensor_adapter_config(schema_pb2.Schema.FromString(serialized_schema)))
    layer = output.transform_features_layer()
    run = tf.function(lambda features: layer(features), reduce_retracing=True)

    def transform(batch: pa.RecordBatch) -> pa.RecordBatch:
        return _to_arrow({name: tensor.numpy() for name, tensor in sorted(run(adapter.ToBatchTensors(batch)).items())})

    return transform


def _load_and_transform_file(path: str, graph_uri: str, folder: str, serialized_schema: bytes, batch_rows: int) -> None:
    _transform_file(load_transform(graph_uri, serialized_schema), path, folder, serialized_schema, batch_rows)


def _transform_file(transform: Callable, path: str, folder: str, serialized_schema: bytes, batch_rows: int) -> None:
    from components.beam import decode_file

    batches: Iterator = (transform(batch) for batch in decode_file(path, serialized_schema, batch_rows))
    examples.write_file(batches, os.path.join(folder, os.path.basename(path)))


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
