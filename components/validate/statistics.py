"""Statistics of a split, by TFDV: in one Arrow batch on one machine, as a Beam graph where Beam runs elsewhere."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from components import examples
from components.beam import open_pipeline, read_batches
from pipeline.config.model import BeamConfig

if TYPE_CHECKING:
    from tensorflow_metadata.proto.v0 import schema_pb2, statistics_pb2

FILE = "FeatureStats.pb"


def compute(
    uri: str, split: str, schema: schema_pb2.Schema | None, beam_config: BeamConfig
) -> statistics_pb2.DatasetFeatureStatisticsList:
    """Return TFDV's statistics of one split; `schema` tells images from text and leaves their values uncounted."""
    import pyarrow as pa
    from tensorflow_data_validation.statistics import stats_options

    options = stats_options.StatsOptions(schema=schema)
    if beam_config.runner != "direct":
        return _compute_with_beam(uri, split, options, beam_config)
    from tensorflow_data_validation.statistics import stats_impl

    # Without the schema's types: a column that does not follow it has to be seen as it is.
    table = pa.Table.from_batches(_same_columns(list(examples.read_batches(uri, split)))).combine_chunks()
    return stats_impl.generate_statistics_in_memory(table.to_batches()[0], options)


def _compute_with_beam(uri, split, options, beam_config) -> statistics_pb2.DatasetFeatureStatisticsList:
    import tempfile

    from tensorflow_data_validation.api import stats_api
    from tensorflow_data_validation.utils import stats_util

    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, FILE)
        with open_pipeline(beam_config) as pipeline:
            _ = (
                pipeline
                | read_batches(examples.split_files(uri, split))
                | stats_api.GenerateStatistics(options)
                | stats_api.WriteStatisticsToBinaryFile(path)
            )
        return stats_util.load_stats_binary(path)


def _same_columns(batches: list) -> list:
    """Give every batch the same columns: a column that is missing throughout one batch is absent from it."""
    import pyarrow as pa

    types: dict[str, pa.DataType] = {}
    for batch in batches:
        for field in batch.schema:
            if field.name not in types or pa.types.is_null(types[field.name]):
                types[field.name] = field.type
    schema = pa.schema(list(types.items()))
    return [
        pa.RecordBatch.from_arrays(
            [
                batch.column(index)
                if (index := batch.schema.get_field_index(name)) >= 0 and not pa.types.is_null(batch.column(index).type)
                else pa.nulls(batch.num_rows, kind)
                for name, kind in types.items()
            ],
            schema=schema,
        )
        for batch in batches
    ]


def write(statistics: statistics_pb2.DatasetFeatureStatisticsList, uri: str, split: str) -> None:
    """Write statistics where TFX's readers look for them."""
    os.makedirs(examples.split_dir(uri, split), exist_ok=True)
    with open(os.path.join(examples.split_dir(uri, split), FILE), "wb") as file:
        file.write(statistics.SerializeToString(deterministic=True))


def read(uri: str, split: str) -> statistics_pb2.DatasetFeatureStatisticsList:
    """Read the statistics of one split."""
    from tensorflow_metadata.proto.v0 import statistics_pb2

    with open(os.path.join(examples.split_dir(uri, split), FILE), "rb") as file:
        return statistics_pb2.DatasetFeatureStatisticsList.FromString(file.read())
