"""Read a folder with one sub-folder of images per class: encoded bytes and the name of the folder as the label."""

from __future__ import annotations

import collections
import io
import os
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from components.ingest.source import IMAGE_SUFFIXES, Source, require_path
from pipeline.errors import HeadraceError
from pipeline.system_errors import coded_os_errors

FORMATS = ("PNG", "JPEG")
MODES = ("L", "RGB")
MAGIC = (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff")
PNG_DEPTH_AT = 24  # offset of the bit depth in IHDR, the first chunk of every PNG file
IMAGES_PER_REPORT = 500

Progress = Callable[[float, str], None]


@dataclass
class _Faults:
    corrupt: list[str] = field(default_factory=list)
    foreign: list[str] = field(default_factory=list)
    unsupported: list[str] = field(default_factory=list)


def read_images(path: str, progress: Progress = lambda fraction, note: None) -> Source:
    """Read, check and decode every image of `<path>/<class>/`, hidden files left out.

    Returns the columns `image` (the file's bytes, PNG or JPEG) and `label` (the class folder's name as bytes), ordered
    by class and file name. All images have one width, height and mode, which is L or RGB of 8 bits.

    Raises: HR-DATA-001, HR-DATA-021 to HR-DATA-026, HR-SYS-002.
    """
    import pyarrow as pa

    files = _find_images(path)
    images, shapes, faults = [], [], _Faults()
    for done, file in enumerate(files):
        if done % IMAGES_PER_REPORT == 0:
            progress(done / len(files), f"{done:,} of {len(files):,} images")
        with coded_os_errors(file), open(file, "rb") as opened:
            images.append(opened.read())
        shapes.append(_inspect(file, images[-1], faults))
    _raise_faults(path, len(files), faults)
    _require_one_shape(files, shapes)
    labels = [os.path.basename(os.path.dirname(file)).encode() for file in files]
    table = pa.table({"image": pa.array(images, pa.binary()), "label": pa.array(labels, pa.binary())})
    return Source(table, lambda rows: [files[row] for row in rows], sum(map(len, images)))


def _find_images(path: str) -> list[str]:
    require_path(path)
    expected = f"{os.path.join(path, 'CLASS', 'NAME.png')}"
    if not os.path.isdir(path):
        what = f"{path} is a file: images come as a folder with one sub-folder per class"
        fix = ["--set data.path=FOLDER", "if it is a table:  --set data.format=csv"]
        raise HeadraceError("HR-DATA-026", what, [], expected, fix)
    folders, files = _list(path)
    if not folders:
        fix = [f"mkdir {shlex.quote(os.path.join(path, 'CLASS'))}, one per class, and move its images there"]
        raise HeadraceError("HR-DATA-026", f"{path} has no class folders", files or ["an empty folder"], expected, fix)
    found, stray, empty = [], [os.path.join(path, name) for name in files], []
    for label in folders:
        folder = os.path.join(path, label)
        nested, names = _list(folder)
        stray += [os.path.join(folder, name) for name in nested]
        found += [os.path.join(folder, name) for name in names]
        if not names:
            empty.append(folder)
    if stray:
        what = f"{path} holds something besides class folders of images"
        fix = [f"mv {shlex.quote(stray[0])} elsewhere, or rm it"]
        raise HeadraceError("HR-DATA-025", what, stray, expected, fix)
    if empty:
        fix = [f"rmdir {shlex.quote(folder)}" for folder in empty[:3]] + ["or put its images there"]
        raise HeadraceError(
            "HR-DATA-024", f"{len(empty)} of {len(folders)} class folders hold no images", empty, "an image each", fix
        )
    return found


def _list(folder: str) -> tuple[list[str], list[str]]:
    """Return the names of sub-folders and files, sorted, hidden ones left out."""
    with coded_os_errors(folder), os.scandir(folder) as entries:
        visible = sorted((entry.name, entry.is_dir()) for entry in entries if not entry.name.startswith("."))
    return [name for name, is_dir in visible if is_dir], [name for name, is_dir in visible if not is_dir]


def _inspect(file: str, data: bytes, faults: _Faults) -> tuple[int, int, str] | None:
    """Return width, height and mode, or None after noting what is wrong."""
    from PIL import Image, UnidentifiedImageError

    try:
        image = Image.open(io.BytesIO(data))
        kind = image.format
        if kind in FORMATS:
            image.verify()  # checksums; leaves the image unusable
            image = Image.open(io.BytesIO(data))
            image.load()  # decodes, so that a truncated file is found
    except UnidentifiedImageError:
        if data.startswith(MAGIC) or file.lower().endswith(IMAGE_SUFFIXES):
            faults.corrupt.append(f"{file}: {len(data)} bytes, no image that can be identified")
        else:
            faults.foreign.append(f"{file}: {len(data)} bytes")
        return None
    except Exception as exc:  # decoders raise OSError, SyntaxError, ValueError, struct.error, zlib.error, ...
        faults.corrupt.append(f"{file}: {exc}")
        return None
    if kind not in FORMATS:
        faults.unsupported.append(f"{file}: {kind}")
        return None
    deep = kind == "PNG" and data[PNG_DEPTH_AT] == 16
    if deep or image.mode not in MODES:
        faults.unsupported.append(f"{file}: {kind} of mode {image.mode}" + (", 16 bits" if deep else ""))
        return None
    return image.width, image.height, image.mode


def _raise_faults(path: str, total: int, faults: _Faults) -> None:
    if faults.corrupt:
        what = f"{len(faults.corrupt):,} of {total:,} images in {path} cannot be decoded"
        raise HeadraceError("HR-DATA-021", what, faults.corrupt, "whole PNG or JPEG files", _remove(faults.corrupt))
    if faults.foreign:
        what = f"{len(faults.foreign):,} of {total:,} files in the class folders of {path} are no images"
        raise HeadraceError("HR-DATA-025", what, faults.foreign, "PNG or JPEG files only", _remove(faults.foreign))
    if faults.unsupported:
        what = f"{len(faults.unsupported):,} of {total:,} images in {path} have a mode or format that is not read"
        first = _path(faults.unsupported[0])
        target = f"{os.path.splitext(first)[0]}.png"
        script = f"from PIL import Image; Image.open({first!r}).convert('L').save({target!r})"
        fix = [f'python3 -c "{script}"', "convert the others likewise: 'L' is gray, 'RGB' colour"]
        raise HeadraceError("HR-DATA-023", what, faults.unsupported, "PNG or JPEG, mode L or RGB, 8 bits", fix)


def _require_one_shape(files: Sequence[str], shapes: Sequence[tuple[int, int, str]]) -> None:
    counts = collections.Counter(shapes)
    usual, count = counts.most_common(1)[0]
    odd = [f"{file}: {_shape(shape)}" for file, shape in zip(files, shapes, strict=True) if shape != usual]
    if odd:
        what = f"{len(odd):,} of {len(files):,} images have another size or mode than {_shape(usual)}"
        fix = [f"resize or convert them, or move them away:  mv {shlex.quote(_path(odd[0]))} .."]
        raise HeadraceError("HR-DATA-022", what, odd, f"{_shape(usual)}, as {count:,} images are", fix)


def _shape(shape: tuple[int, int, str]) -> str:
    width, height, mode = shape
    return f"{width}x{height} {mode}"


def _path(line: str) -> str:
    return line.split(": ")[0]


def _remove(lines: Sequence[str]) -> list[str]:
    return [f"replace them, or leave them out:  rm {shlex.quote(_path(lines[0]))}"]
