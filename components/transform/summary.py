"""What a transform graph makes, in a few numbers."""

from __future__ import annotations

from components.vocabularies import vocabulary_sizes


def summarize(graph_uri: str) -> dict:
    """Return the number of features and of numeric ones, and the size of each vocabulary."""
    import tensorflow as tf
    import tensorflow_transform as tft

    output = tft.TFTransformOutput(graph_uri)
    spec = output.transformed_feature_spec()
    return {
        "features": len(spec),
        "numeric": sum(_width(feature) for feature in spec.values() if feature.dtype == tf.float32),
        "vocabularies": vocabulary_sizes(output),
    }


def _width(feature) -> int:
    width = 1
    for size in getattr(feature, "shape", ()):
        width *= size or 1
    return width
