"""ExampleGen as a TFX component."""

import json

from tfx.dsl.component.experimental.annotations import InputArtifact, OutputArtifact, Parameter
from tfx.dsl.component.experimental.decorators import component
from tfx.types import artifact_utils, standard_artifacts

from components import reporting
from components.artifacts import SPLITS
from components.ingest.generate import IngestConfig, generate_examples
from components.ingest.types import declared_types
from components.schemas import read_schema


@component
def ExampleGen(
    schema: InputArtifact[standard_artifacts.Schema],
    examples: OutputArtifact[standard_artifacts.Examples],
    config: Parameter[str],
    input_digest: Parameter[str],
):
    """Write the source as splits of tf.Example, typed as the schema declares.

    `input_digest` only marks the content of the source, so that a cache sees it change.
    """
    settings = IngestConfig.model_validate(json.loads(config))
    declared = declared_types(read_schema(schema.uri))
    summary = generate_examples(settings, examples.uri, declared, reporting.progress)
    examples.split_names = artifact_utils.encode_split_names(list(SPLITS))
    examples.span = 0
    examples.version = 0
    examples.set_string_custom_property("payload_format", "FORMAT_TF_EXAMPLE")
    examples.set_string_custom_property("input_fingerprint", input_digest)
    reporting.report(summary)
