"""The vocabularies of a transform graph."""

from __future__ import annotations

import os


def vocabulary_sizes(output) -> dict[str, int]:
    """Return the number of entries of each vocabulary of a TFTransformOutput, by its file name."""
    folder = os.path.join(output.transform_savedmodel_dir, "assets")
    names = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
    return {name: output.vocabulary_size_by_name(name) for name in names}
