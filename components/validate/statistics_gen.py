"""StatisticsGen: the statistics of each split."""

import json

from tfx.dsl.component.experimental.annotations import InputArtifact, OutputArtifact, Parameter
from tfx.dsl.component.experimental.decorators import component
from tfx.types import artifact_utils, standard_artifacts

from components import reporting
from components.artifacts import SPLITS
from components.schemas import read_schema
from components.validate import statistics as stats
from pipeline.config.model import BeamConfig


@component
def StatisticsGen(
    examples: InputArtifact[standard_artifacts.Examples],
    schema: InputArtifact[standard_artifacts.Schema],
    statistics: OutputArtifact[standard_artifacts.ExampleStatistics],
    config: Parameter[str],
):
    """Write the statistics of each split."""
    curated = read_schema(schema.uri)
    beam = BeamConfig.model_validate(json.loads(config)["beam"])
    features: set[str] = set()
    for done, split in enumerate(SPLITS):
        reporting.progress(done / len(SPLITS), split)
        found = stats.compute(examples.uri, split, curated, beam)
        stats.write(found, statistics.uri, split)
        features.update(f.name or ".".join(f.path.step) for f in found.datasets[0].features)
    statistics.split_names = artifact_utils.encode_split_names(list(SPLITS))
    reporting.report({"features": len(features)})
