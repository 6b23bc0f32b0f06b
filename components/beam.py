"""Beam pipelines whose elements are Arrow RecordBatches."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pipeline.config.model import BeamConfig

if TYPE_CHECKING:
    import apache_beam as beam
    import pyarrow as pa

RUNNERS = {"direct": "FnApiRunner", "dataflow": "DataflowRunner", "flink": "FlinkRunner"}


def open_pipeline(config: BeamConfig) -> beam.Pipeline:
    """Return a Beam pipeline on the configured runner.

    `direct` names FnApiRunner: plain DirectRunner tries to fetch the Prism binary first.
    """
    import apache_beam as beam
    from apache_beam.options.pipeline_options import PipelineOptions

    return beam.Pipeline(runner=RUNNERS[config.runner], options=PipelineOptions(config.options))


def read_batches(files: list[str], schema=None, batch_rows: int = 16_384) -> beam.PTransform:
    """Return a transform that reads record files into Arrow batches, one file a bundle."""
    import apache_beam as beam

    serialized = schema.SerializeToString() if schema is not None else None
    return beam.Create(files, reshuffle=False) | beam.FlatMap(decode_file, serialized, batch_rows)


def decode_file(path: str, serialized_schema: bytes | None, batch_rows: int) -> Iterator[pa.RecordBatch]:
    """Yield the Arrow batches of one record file, rows in order."""
    import tensorflow as tf
    from tfx_bsl.coders import example_coder

    decoder = example_coder.ExamplesToRecordBatchDecoder(serialized_schema)
    for batch in tf.data.TFRecordDataset([path]).batch(batch_rows).as_numpy_iterator():
        yield decoder.DecodeBatch(batch.tolist())
