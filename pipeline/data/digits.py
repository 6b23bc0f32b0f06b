"""`digits`: scikit-learn's bundled 8x8 images of handwritten digits, as PNG files in class folders.

Source: UCI ML repository, Optical Recognition of Handwritten Digits, test part (sklearn.datasets.load_digits).
"""

from __future__ import annotations

from pathlib import Path

from pipeline.data.archive import Progress
from pipeline.data.class_folders import write_class_folders

RECIPE = 1
ABOUT = "1,797 images of handwritten digits, 8x8 pixels, 10 classes"
ARCHIVE = None
RESULT = "."
ROWS = 1797
MAX_VALUE = 16  # the source counts black pixels in 4x4 blocks


def build(folder: Path, archive: Path | None, progress: Progress) -> tuple[int, str]:
    """Write `<folder>/<class>/<index>.png`; return the number of images and a note."""
    import numpy as np
    from sklearn.datasets import load_digits

    source = load_digits()
    pixels = np.round(source.images * 255 / MAX_VALUE).astype(np.uint8)
    images = ((str(label), f"{index:04d}", pixels[index]) for index, label in enumerate(source.target))
    rows = write_class_folders(folder, images, ROWS, progress)
    return rows, "8x8 pixels, 10 classes"
