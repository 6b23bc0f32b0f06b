"""ExampleValidator: the gate on the data. TFX's own only records anomalies; this one stops the run."""

import json
import os

from tfx.dsl.component.experimental.annotations import InputArtifact, OutputArtifact, Parameter
from tfx.dsl.component.experimental.decorators import component
from tfx.types import artifact_utils, standard_artifacts

from components import reporting
from components.artifacts import SPLITS
from components.schemas import read_schema
from components.validate import anomalies as anomaly_checks
from components.validate import statistics as stats
from pipeline.config.model import ValidateConfig


@component
def ExampleValidator(
    statistics: InputArtifact[standard_artifacts.ExampleStatistics],
    schema: InputArtifact[standard_artifacts.Schema],
    anomalies: OutputArtifact[standard_artifacts.ExampleAnomalies],
    config: Parameter[str],
):
    """Write the anomalies of each split and stop the run on those that the configuration names."""
    given = json.loads(config)
    curated, gate = read_schema(schema.uri), ValidateConfig.model_validate(given["validation"])
    found = []
    for split in SPLITS:
        measured = stats.read(statistics.uri, split)
        protos = anomaly_checks.find(measured, curated)
        os.makedirs(os.path.join(anomalies.uri, f"Split-{split}"), exist_ok=True)
        with open(os.path.join(anomalies.uri, f"Split-{split}", "SchemaDiff.pb"), "wb") as file:
            file.write(protos.SerializeToString(deterministic=True))
        found += anomaly_checks.describe(protos, measured, curated, split, given["name"], given["schema_path"], gate)
    anomalies.split_names = artifact_utils.encode_split_names(list(SPLITS))
    merged = anomaly_checks.merge_splits(found)
    errors = sum(a["severity"] == "error" for a in merged)
    reporting.report(
        {"errors": errors, "warnings": len(merged) - errors, "anomalies": merged},
        stop=anomaly_checks.gate(merged, gate, given["name"]),
    )
