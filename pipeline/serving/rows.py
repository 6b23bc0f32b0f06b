"""Rows that a person hands over: JSON, JSON lines or CSV, checked against the model's raw inputs."""

from __future__ import annotations

import base64
import binascii
import csv
import difflib
import json
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path

from pipeline.errors import HeadraceError, bounded
from pipeline.serving.model import TensorSpec

IMAGE = "image"  # the raw feature of image tasks: the encoded bytes of a PNG or JPEG file
MISSING = {"string": b"", "float": float("nan"), "double": float("nan")}  # how the `raw` signature takes it
_KINDS = {
    "float": "a number",
    "double": "a number",
    "int64": "a whole number",
    "int32": "a whole number",
    "string": "text",
}


def parse_json_row(text: str) -> list[dict]:
    """Return the rows of a JSON object, or of a JSON list of objects.

    Raises: HR-PREDICT-001.
    """
    return _as_rows(_json(text, "--row"), "--row")


def read_rows(path: str, inputs: Mapping[str, TensorSpec]) -> list[dict]:
    """Return the rows of a file: CSV with a header (`.csv`), else JSON lines or one JSON list.

    Args:
        path: file to read, UTF-8.
        inputs: raw inputs of the model; CSV cells are read as their types.

    Raises: HR-PREDICT-001 for text that is not JSON or CSV, HR-PREDICT-006 for a file that cannot be read.
    """
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise HeadraceError(
            "HR-PREDICT-001",
            f"{path} is not UTF-8 text",
            seen=[f"byte {error.object[error.start]:#04x} at offset {error.start}"],
            expected="UTF-8",
            fix=[f"iconv -f latin1 -t utf-8 {path} > rows.csv"],
        ) from error
    except OSError as error:
        raise HeadraceError(
            "HR-PREDICT-006",
            f"{path} cannot be read",
            seen=[error.strerror or str(error)],
            expected="a CSV file with a header, or a file of JSON lines",
            fix=["give the path of a file that exists and can be read"],
        ) from error
    if path.lower().endswith(".csv"):
        return _csv_rows(path, text, inputs)
    if text.lstrip().startswith("["):
        return _as_rows(_json(text, path), path)
    lines = [(number, line) for number, line in enumerate(text.splitlines(), 1) if line.strip()]
    return [row for number, line in lines for row in _as_rows(_json(line, f"{path}:{number}"), f"{path}:{number}")]


def _json(text: str, where: str) -> object:
    try:
        return json.loads(text)
    except ValueError as error:
        raise HeadraceError(
            "HR-PREDICT-001",
            f"{where} is not JSON",
            seen=[f"{bounded(text, 80)}: {error}"],
            expected='an object, such as {"distance": 733, "carrier": "UA"}',
            fix=["quote names and text with \" and put the whole row in ' on a shell's command line"],
        ) from error


def _as_rows(value: object, where: str) -> list[dict]:
    rows = value if isinstance(value, list) else [value]
    for row in rows:
        if not isinstance(row, dict):
            raise HeadraceError(
                "HR-PREDICT-001",
                f"{where} is not a row",
                seen=[bounded(json.dumps(row), 80)],
                expected='an object, such as {"distance": 733, "carrier": "UA"}',
                fix=["write one object a row, a value for each column name"],
            )
    return rows


def _csv_rows(path: str, text: str, inputs: Mapping[str, TensorSpec]) -> list[dict]:
    reader = csv.reader(text.splitlines(keepends=True))
    header = next(reader, [])
    rows = []
    for cells in reader:
        if not cells:
            continue
        if len(cells) != len(header):
            raise HeadraceError(
                "HR-PREDICT-001",
                f"{path}:{reader.line_num} has another number of cells than the header",
                seen=[f"{len(cells)} cells: {bounded(','.join(cells), 80)}", f"{len(header)} in the header"],
                expected="one cell a column, separated by commas",
                fix=[f"correct line {reader.line_num} of {path}"],
            )
        rows.append({name: read_cell(cell, inputs.get(name)) for name, cell in zip(header, cells, strict=True)})
    return rows


def read_cell(cell: str, spec: TensorSpec | None) -> object:
    """Return a CSV cell as the type of its column; a cell that is no number stays text and is refused later."""
    if cell == "" or spec is None:
        return None
    if spec.dtype == "string" or "_" in cell:  # Python reads 1_000 as a number, no CSV does
        return cell
    try:
        number = float(cell)
        return int(number) if "." not in cell and "e" not in cell.lower() and math.isfinite(number) else number
    except ValueError:
        return cell


def check_rows(
    rows: Sequence[Mapping[str, object]], inputs: Mapping[str, TensorSpec], ignore: Collection[str] = ()
) -> list[dict[str, object]]:
    """Return the rows with exactly the model's inputs: numbers, bytes, or None for a missing value.

    Args:
        rows: rows as handed over.
        inputs: raw inputs of the model.
        ignore: columns that may be there and are left out, such as the label.

    Raises: HR-PREDICT-002 column missing, HR-PREDICT-003 unknown column, HR-PREDICT-004 wrong type,
        HR-PREDICT-005 image that cannot be read.
    """
    checked = []
    for number, row in enumerate(rows, 1):
        _check_names(number, row, inputs, ignore)
        checked.append({name: _value(number, name, row[name], spec) for name, spec in inputs.items()})
    return checked


def _check_names(
    number: int, row: Mapping[str, object], inputs: Mapping[str, TensorSpec], ignore: Collection[str]
) -> None:
    unknown = [name for name in row if name not in inputs and name not in ignore]
    missing = [name for name in inputs if name not in row]
    if unknown:
        raise HeadraceError(
            "HR-PREDICT-003",
            f"row {number} has a column that the model does not know: {', '.join(unknown)}",
            seen=[_did_you_mean(name, missing or inputs) for name in unknown],
            expected=f"the columns {', '.join(inputs)}",
            fix=["rename or remove the column"],
        )
    if missing:
        raise HeadraceError(
            "HR-PREDICT-002",
            f"row {number} lacks the column {', '.join(missing)}",
            seen=[f"the row has {', '.join(row) or 'no column'}"],
            expected=f"the columns {', '.join(inputs)}",
            fix=["add the column; null stands for a missing value"],
        )


def _did_you_mean(name: str, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(name, list(known), n=1)
    return f"{name}: did you mean {close[0]}?" if close else name


def _value(number: int, name: str, value: object, spec: TensorSpec) -> object:
    if value is None:
        return None
    if spec.dtype == "string":
        if isinstance(value, dict) and set(value) == {"b64"}:
            return _decoded(number, name, value["b64"], spec)
        if isinstance(value, str):
            return _image(number, value) if name == IMAGE else value.encode()
    elif type(value) is int or (type(value) is float and (spec.dtype in ("float", "double") or value.is_integer())):
        if spec.dtype in ("float", "double"):
            return float(value)
        if abs(value) < 2**63:
            return int(value)
    raise _wrong_type(number, name, value, spec)


def _wrong_type(number: int, name: str, value: object, spec: TensorSpec) -> HeadraceError:
    return HeadraceError(
        "HR-PREDICT-004",
        f"column {name} of row {number} has the wrong type",
        seen=[bounded(json.dumps(value), 80)],
        expected=f"{_KINDS.get(spec.dtype, spec.dtype)} ({spec.dtype})",
        fix=[f"give {_KINDS.get(spec.dtype, spec.dtype)}, or null for a missing value"],
    )


def _decoded(number: int, name: str, text: object, spec: TensorSpec) -> bytes:
    try:
        return base64.b64decode(str(text), validate=True)
    except (binascii.Error, ValueError) as error:
        raise _wrong_type(number, name, {"b64": text}, spec) from error


def _image(number: int, path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise HeadraceError(
            "HR-PREDICT-005",
            f"the image of row {number} cannot be read",
            seen=[f"{path}: {error.strerror or error}"],
            expected="the path of a PNG or JPEG file",
            fix=["give a path that exists, from the current folder or absolute"],
        ) from error
