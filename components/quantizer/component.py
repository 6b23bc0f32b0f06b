"""The TFX component `Quantizer`: TFLite files of the edge model."""

import json
import os

from tfx.dsl.component.experimental.annotations import InputArtifact, OutputArtifact, Parameter
from tfx.dsl.component.experimental.decorators import component
from tfx.types import standard_artifacts

from components import reporting
from components.artifacts import QuantizedModels
from components.quantizer.quantize import quantize
from components.quantizer.representative import read_representative
from pipeline.config.model import QuantizeConfig


@component
def Quantizer(
    model: InputArtifact[standard_artifacts.Model],
    transformed_examples: InputArtifact[standard_artifacts.Examples],
    quantized: OutputArtifact[QuantizedModels],
    config: Parameter[str],
):
    """Convert `Format-Edge` of the model to one TFLite file a scheme, calibrated on transformed training examples.

    Args:
        config: JSON of `quantize` and `label`.
    """
    given = json.loads(config)
    settings = QuantizeConfig.model_validate(given["quantize"])
    calibration = read_representative(transformed_examples.uri, given["label"], settings.calibration_examples)
    models = quantize(os.path.join(model.uri, "Format-Edge"), calibration, settings.schemes, quantized.uri)
    reporting.report(
        {
            "models": [
                {
                    "scheme": found.scheme,
                    "path": os.path.join(quantized.uri, found.path),
                    "size_bytes": found.size_bytes,
                    "size_ratio": found.size_ratio,
                }
                for found in models
            ]
        }
    )
