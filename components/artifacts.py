"""Artifact types that TFX lacks, and where things lie inside an artifact's folder."""

from tfx.types import artifact

SPLITS = ("train", "eval")


class QuantizedModels(artifact.Artifact):
    """TFLite models of one float model, `<scheme>.tflite` each, with `manifest.json`."""

    TYPE_NAME = "QuantizedModels"


class EdgeEvaluation(artifact.Artifact):
    """What the quantized models lost against the float model: `report.json`."""

    TYPE_NAME = "EdgeEvaluation"
    PROPERTIES = {"passed": artifact.Property(type=artifact.PropertyType.INT)}
