"""ImportSchemaGen: the curated schema as an artifact of the run."""

import json
import os

from tfx.dsl.component.experimental.annotations import OutputArtifact, Parameter
from tfx.dsl.component.experimental.decorators import component
from tfx.types import standard_artifacts

from components import reporting
from components.schemas import SCHEMA_FILE, read_schema, write_schema


@component
def ImportSchemaGen(schema: OutputArtifact[standard_artifacts.Schema], config: Parameter[str]):
    """Copy the curated schema into the run, checked."""
    schema_path = json.loads(config)["schema_path"]
    curated = read_schema(schema_path)
    write_schema(curated, os.path.join(schema.uri, SCHEMA_FILE))
    reporting.report({"path": schema_path, "features": len(curated.feature)})
