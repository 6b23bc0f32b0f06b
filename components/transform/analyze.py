"""The full pass of TFT over the training split, in Arrow batches: vocabularies, means, quantiles."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from typing import TYPE_CHECKING

from components import examples
from components.beam import open_pipeline, read_batches
from components.user_code import own_line
from pipeline.config.model import BeamConfig
from pipeline.errors import HeadraceError

if TYPE_CHECKING:
    from tensorflow_metadata.proto.v0 import schema_pb2


def analyze(
    preprocessing_fn: Callable,
    source: str,
    examples_uri: str,
    schema: schema_pb2.Schema,
    out_uri: str,
    beam_config: BeamConfig,
    batch_rows: int,
) -> None:
    """Write the transform graph: `transform_fn/`, `metadata/` and `transformed_metadata/` as TFT lays them out.

    Args:
        preprocessing_fn: the task's function, raw tensors to dense ones.
        source: the file that defines it, for errors.
        examples_uri: Examples artifact; its `train` split is analysed.
        schema: types and domains of the raw features.
        out_uri: TransformGraph artifact.
    """
    import tensorflow_transform.beam as tft_beam
    from tensorflow_transform.tf_metadata import dataset_metadata, metadata_io

    check_trace(preprocessing_fn, source, schema)
    adapter = tensor_adapter_config(schema)
    files = examples.split_files(examples_uri, "train")
    with (
        tempfile.TemporaryDirectory() as scratch,
        own_line(source),
        open_pipeline(beam_config) as pipeline,
        tft_beam.Context(temp_dir=scratch),
    ):
        raw = pipeline | "Train" >> read_batches(files, schema, batch_rows)
        transform_fn = (raw, adapter) | tft_beam.AnalyzeDataset(preprocessing_fn)
        _ = transform_fn | tft_beam.WriteTransformFn(out_uri)
    metadata_io.write_metadata(dataset_metadata.DatasetMetadata(schema), os.path.join(out_uri, "metadata"))


def check_trace(preprocessing_fn: Callable, source: str, schema: schema_pb2.Schema) -> None:
    """Trace `preprocessing_fn` once outside of Beam, so that its errors stand alone.

    Raises:
        HeadraceError: HR-TASK-002 when it raises, HR-TASK-003 when an output is not a dense float32 or int64 tensor.
    """
    import tensorflow as tf
    from tensorflow_transform import impl_helper
    from tfx_bsl.tfxio import tensor_adapter

    specs = tensor_adapter.TensorAdapter(tensor_adapter_config(schema)).TypeSpecs()
    returned = []

    def checked(inputs: dict) -> dict:
        with own_line(source):
            returned.append(preprocessing_fn(inputs))
        return returned[-1] if isinstance(returned[-1], dict) else {}

    with tempfile.TemporaryDirectory() as scratch:
        impl_helper.trace_preprocessing_function(checked, specs, use_tf_compat_v1=False, base_temp_dir=scratch)
    outputs = returned[-1]
    if not isinstance(outputs, dict):
        raise HeadraceError(
            "HR-TASK-003", "preprocessing_fn returned no dict", seen=[type(outputs).__name__], fix=[f"correct {source}"]
        )
    wrong = [
        f"{name}: {'sparse' if not isinstance(value, tf.Tensor) else value.dtype.name}"
        for name, value in outputs.items()
        if not isinstance(value, tf.Tensor) or value.dtype not in (tf.float32, tf.int64)
    ]
    if wrong:
        raise HeadraceError(
            "HR-TASK-003",
            "preprocessing_fn returns tensors that training cannot take",
            seen=wrong,
            expected="dense float32 or int64 tensors, [batch] or [batch, ...]",
            fix=[f"densify or cast them in {source}"],
        )


def tensor_adapter_config(schema: schema_pb2.Schema):
    """Return how Arrow columns of raw examples become tensors, as tfx_bsl's own readers do for this schema."""
    from tfx_bsl.tfxio import tf_example_record

    reader = tf_example_record.TFExampleRecord(
        file_pattern=["not-read-here"], schema=schema, telemetry_descriptors=["headrace"]
    )
    return reader.TensorAdapterConfig()
