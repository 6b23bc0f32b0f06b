"""Answers of the REST API as JSON: predictions by row, outputs by name, and errors.

Source: tensorflow_serving/util/json_tensor.cc, by behaviour.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import TYPE_CHECKING

from pipeline.serving.json_write import Writer, decimal, quote
from pipeline.serving.status import invalid_argument

if TYPE_CHECKING:
    import numpy as np

_INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint32", "uint64")
_DECIMALS = ("float16", "float32", "float64")


def predict_json(outputs: Mapping[str, np.ndarray], by_row: bool) -> str:
    """Return the body of a `:predict` answer: `predictions` by row, or `outputs` by name.

    Raises: ServingError INVALID_ARGUMENT when the outputs differ in their first dimension or cannot be JSON.
    """
    if not outputs:
        raise invalid_argument("Cannot convert empty tensor map to JSON")
    columns = {name: outputs[name] for name in sorted(outputs)}
    writer = Writer()
    writer.open(is_array=False)
    if by_row:
        _write_rows(writer, columns)
    else:
        writer.string("outputs")
        _write_object(writer, columns)
    writer.close()
    return writer.text()


def _write_rows(writer: Writer, columns: dict[str, np.ndarray]) -> None:
    batch = None
    for name, column in columns.items():
        if column.ndim == 0:
            raise invalid_argument(f"Tensor name: {name} has no shape information ")
        if batch is not None and len(column) != batch:
            raise invalid_argument(f"Tensor name: {name} has inconsistent batch size: {len(column)} expecting: {batch}")
        batch = len(column)
    writer.string("predictions")
    writer.open(is_array=True)
    for row in range(batch):
        _write_object(writer, {name: column[row] for name, column in columns.items()}, single_line=True)
    writer.close()


def _write_object(writer: Writer, columns: dict, single_line: bool = False) -> None:
    """Write the value itself if there is one output, else an object of all; rows keep their arrays on one line."""
    if len(columns) > 1:
        writer.open(is_array=False)
    writer.single_line = single_line
    for name, value in columns.items():
        if len(columns) > 1:
            writer.string(name)
        _write_value(writer, value, as_bytes=name.endswith("_bytes"))
    writer.single_line = False
    if len(columns) > 1:
        writer.close()


def _write_value(writer: Writer, value, as_bytes: bool) -> None:
    value = value[()] if getattr(value, "ndim", 1) == 0 else value
    if getattr(value, "ndim", 0):
        writer.open(is_array=True)
        for element in value:
            _write_value(writer, element, as_bytes)
        writer.close()
    elif isinstance(value, bytes) and as_bytes:
        writer.open(is_array=False)
        writer.string("b64")
        writer.string(base64.b64encode(value).decode("ascii"))
        writer.close()
    elif isinstance(value, bytes | str):
        writer.string(value.decode("utf-8", "surrogateescape") if isinstance(value, bytes) else value)
    else:
        writer.raw(_number(value))


def _number(value) -> str:
    import numpy as np

    name = value.dtype.name
    if name in _DECIMALS:
        return decimal(np.float32(value) if name == "float16" else value)
    if name in _INTEGERS:
        return str(int(value))
    if name == "bool":
        return "true" if value else "false"
    raise invalid_argument(f"Failed to write JSON value for tensor type: {name}")


def error_json(message: str) -> str:
    """Return the body of an error answer."""
    return f'{{\n    "error": {quote(message)}\n}}'
