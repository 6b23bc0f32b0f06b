"""Transform as a TFX component."""

import json
import os

from tfx.dsl.component.experimental.annotations import InputArtifact, OutputArtifact, Parameter
from tfx.dsl.component.experimental.decorators import component
from tfx.types import artifact_utils, standard_artifacts

from components import examples as records
from components import reporting, user_code
from components.artifacts import SPLITS
from components.schemas import read_schema
from components.transform.analyze import analyze
from components.transform.apply import apply
from components.transform.summary import summarize
from pipeline.config.model import BeamConfig, TransformConfig


@component
def Transform(
    examples: InputArtifact[standard_artifacts.Examples],
    schema: InputArtifact[standard_artifacts.Schema],
    transform_graph: OutputArtifact[standard_artifacts.TransformGraph],
    transformed_examples: OutputArtifact[standard_artifacts.Examples],
    config: Parameter[str],
    task_dir: Parameter[str],
):
    """Analyse the training split, then write every split transformed."""
    given = json.loads(config)
    settings = TransformConfig.model_validate(given["transform"])
    beam_config = BeamConfig.model_validate(given["beam"])
    curated = read_schema(schema.uri)
    source = os.path.join(task_dir, "features.py")
    function = user_code.load(task_dir, "features.py", "preprocessing_fn")
    reporting.progress(0.0, "analysing")
    analyze(function, source, examples.uri, curated, transform_graph.uri, beam_config, settings.batch_rows)
    files = sum(len(records.split_files(examples.uri, split)) for split in SPLITS)
    done = 0

    def count_file() -> None:
        nonlocal done
        done += 1
        reporting.progress(0.5 + 0.5 * done / files, f"file {done}/{files}")

    for split in SPLITS:
        apply(
            transform_graph.uri,
            examples.uri,
            split,
            transformed_examples.uri,
            beam_config,
            settings.batch_rows,
            count_file,
        )
    transformed_examples.split_names = artifact_utils.encode_split_names(list(SPLITS))
    reporting.report(summarize(transform_graph.uri))
