"""ExampleGen as a TFX component."""

from tfx.dsl.component.experimental.annotations import InputArtifact, OutputArtifact, Parameter
from tfx.dsl.component.experimental.decorators import component
from tfx.types import artifact_utils, standard_artifacts

from components import reporting
from components.artifacts import SPLITS
from components.ingest.generate import IngestConfig, generate_examples
from components.ingest.span import span_number
from components.ingest.types import declared_types
from components.schemas import read_schema


@component
def ExampleGen(
    schema: InputArtifact[standard_artifacts.Schema],
    examples: OutputArtifact[standard_artifacts.Examples],
    config: Parameter[str],
):
    """Write the source as splits of tf.Example, typed as the schema declares.

    Args:
        config: JSON of `data`, `split`, `label` and `problem`.
    """
    settings = IngestConfig.model_validate_json(config)
    declared = declared_types(read_schema(schema.uri))
    summary = generate_examples(settings, examples.uri, declared, reporting.progress)
    examples.split_names = artifact_utils.encode_split_names(list(SPLITS))
    examples.span = span_number(settings.data.span)
    examples.version = 0
    examples.set_string_custom_property("payload_format", "FORMAT_TF_EXAMPLE")
    reporting.report(summary)
