"""One real row of the source data, as a REST client sends it."""

from __future__ import annotations

import base64
import csv
import os
from collections.abc import Mapping
from pathlib import Path

from pipeline.serving.model import Signature, TensorSpec
from pipeline.serving.rows import IMAGE, MISSING, read_cell

SUFFIXES = {"csv": (".csv",), "parquet": (".parquet",), "images": (".png", ".jpg", ".jpeg")}


def read_example_row(path: str, format: str, label: str = "", delimiter: str = ",") -> dict[str, object]:
    """Return the first row of the source data without its label; empty if the data is no longer there.

    Args:
        path: file, folder of files, or folder of one folder a class.
        format: `csv`, `parquet` or `images`.
        label: column to leave out.
        delimiter: of CSV fields.

    Returns: text for CSV, typed values for Parquet, `image` as bytes for images.
    """
    try:
        first = _first_file(path, SUFFIXES[format])
        if first is None:
            return {}
        if format == "images":
            return {IMAGE: first.read_bytes()}
        row = _first_csv_row(first, delimiter) if format == "csv" else _first_parquet_row(first)
    except (OSError, UnicodeDecodeError, csv.Error):
        return {}  # an example is a courtesy; the server serves without it
    return {name: value for name, value in row.items() if name != label}


def _first_file(path: str, suffixes: tuple[str, ...]) -> Path | None:
    if os.path.isfile(path):
        return Path(path)
    for folder, folders, files in os.walk(path):
        folders.sort()
        for name in sorted(files):
            if name.lower().endswith(suffixes) and not name.startswith("."):
                return Path(folder, name)
    return None


def _first_csv_row(path: Path, delimiter: str) -> dict[str, object]:
    with open(path, encoding="utf-8-sig", newline="") as file:
        reader = csv.reader(file, delimiter=delimiter)
        return dict(zip(next(reader, []), next(reader, []), strict=False))


def _first_parquet_row(path: Path) -> dict[str, object]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        batch = next(pq.ParquetFile(path).iter_batches(batch_size=1), None)
    except pa.ArrowException:
        return {}
    return batch.to_pylist()[0] if batch else {}


def to_instance(row: Mapping[str, object], signature: Signature) -> dict[str, object]:
    """Return a row as an element of `instances`: the inputs of the signature, nested as deep as its shapes are.

    Missing values are NaN, which TensorFlow Serving reads as JSON, or the empty string.
    """
    return {name: _nested(_json_value(row.get(name), spec), spec) for name, spec in sorted(signature.inputs.items())}


def _nested(value: object, spec: TensorSpec) -> object:
    """Wrap a value in one list for each dimension after the batch, as TensorFlow Serving wants it."""
    for _ in (spec.shape or ())[1:]:
        value = [value]
    return value


def _json_value(value: object, spec: TensorSpec) -> object:
    if isinstance(value, str):
        value = read_cell(value, spec)
    if value is None:
        value = MISSING.get(spec.dtype, 0)  # whole numbers that may be missing are taken as decimal ones
    if not isinstance(value, bytes):
        return value
    try:
        return value.decode("ascii")
    except UnicodeDecodeError:
        return {"b64": base64.b64encode(value).decode("ascii")}
