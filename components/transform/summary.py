"""What a transform graph makes, in a few numbers."""

from __future__ import annotations


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


def vocabulary_sizes(output) -> dict[str, int]:
    """Return the number of entries of each vocabulary of a TFTransformOutput, by its file name."""
    import os

    folder = os.path.join(output.transform_savedmodel_dir, "assets")
    names = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
    return {name: output.vocabulary_size_by_name(name) for name in names}


def _width(feature) -> int:
    width = 1
    for size in getattr(feature, "shape", ()):
        width *= size or 1
    return width
