"""Tensors from JSON as TensorFlow Serving's REST API reads them, with its error texts.

Source: tensorflow_serving/util/json_tensor.cc, by behaviour.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pipeline.serving.json_parse import parse
from pipeline.serving.json_write import dump
from pipeline.serving.status import Code, ServingError, invalid_argument

if TYPE_CHECKING:
    import numpy as np

DEFAULT_SIGNATURE = "serving_default"
FLOAT_MAX = 3.4028234663852886e38
_INTEGERS = {  # dtype: the range that RapidJSON's IsInt, IsInt64, IsUint, IsUint64 accept
    "int8": (-(2**31), 2**31 - 1),
    "int16": (-(2**31), 2**31 - 1),
    "int32": (-(2**31), 2**31 - 1),
    "uint8": (-(2**31), 2**31 - 1),
    "int64": (-(2**63), 2**63 - 1),
    "uint32": (0, 2**32 - 1),
    "uint64": (0, 2**64 - 1),
}
_NUMPY = {"float": "float32", "double": "float64", "string": "object"}


@dataclass(frozen=True)
class PredictBody:
    """A `:predict` body before its tensors are read.

    Args:
        document: the JSON object.
        signature: signature name, `serving_default` if the body names none.
    """

    document: dict
    signature: str

    @property
    def by_row(self) -> bool:
        """Whether the tensors are given by row (`instances`, answered by `predictions`)."""
        return "instances" in self.document


def parse_predict(body: bytes) -> PredictBody:
    """Return the body of a `:predict` request.

    Raises: ServingError INVALID_ARGUMENT with TensorFlow Serving's text.
    """
    document = parse(body)
    if not isinstance(document, dict):
        raise _format_error(document, "Is not object")
    signature = document.get("signature_name", "")
    if not isinstance(signature, str):
        raise _format_error(document, "not formatted correctly. 'signature_name' key must be a string value.")
    return PredictBody(document, signature or DEFAULT_SIGNATURE)


def read_tensors(body: PredictBody, dtypes: Mapping[str, str]) -> dict[str, np.ndarray]:
    """Return one array a named input; given by row, the first dimension is the row.

    Args:
        body: a parsed request.
        dtypes: TensorFlow's dtype name (`float`, `int64`, `string`) of each input of the signature.

    Raises: ServingError with TensorFlow Serving's code and text.
    """
    document = body.document
    if not dtypes:
        raise invalid_argument(f"Failed to get input map for signature: {document.get('signature_name') or 'DEFAULT'}")
    if body.by_row and "inputs" in document:
        text = "Not formatted correctly expecting only one of 'inputs' or 'instances' keys to exist "
        raise _format_error(document, text)
    if body.by_row:
        return _from_instances(document, dtypes)
    if "inputs" in document:
        return _from_inputs(document["inputs"], dtypes)
    raise invalid_argument("Missing 'inputs' or 'instances' key")


def _from_instances(document: dict, dtypes: Mapping[str, str]) -> dict[str, np.ndarray]:
    instances = document["instances"]
    if not isinstance(instances, list):
        raise _format_error(document, "Excepting 'instances' to be an list/array")
    if not instances:
        raise _format_error(document, "No values in 'instances' array")
    if not isinstance(instances[0], dict) and len(dtypes) > 1:
        raise invalid_argument(
            "instances is a plain list, but expecting list of objects as multiple "
            "input tensors required as per tensorinfo_map"
        )
    columns = {name: _Column(dtype) for name, dtype in dtypes.items()}
    named = _is_named(instances[0])
    for index, element in enumerate(instances):
        if named:
            _add_object(columns, index, element)
            continue
        if _is_named(element):
            raise invalid_argument(f"Expecting value/list but got object at item {index} of input list")
        try:
            next(iter(columns.values())).add(element)
        except ServingError as error:
            raise invalid_argument(f"Failed to process element: {index} of 'instances' list. Error: {error}") from None
    return {name: column.array() for name, column in columns.items() if column.rows}


def _add_object(columns: dict[str, _Column], index: int, element: object) -> None:
    if not _is_named(element):
        raise invalid_argument(f"Expecting object but got list at item {index} of input list")
    for name, value in element.items():
        try:
            if name not in columns:
                raise invalid_argument(f"JSON object: does not have named input: {name}")
            columns[name].add(value)
        except ServingError as error:
            raise invalid_argument(
                f"Failed to process element: {index} key: {name} of 'instances' list. Error: {error}"
            ) from None
    if element.keys() != columns.keys():
        raise invalid_argument(
            f"Failed to process element: {index} of 'instances' list. JSON object: {dump(element)}"
            f" keys must be equal to: {','.join(sorted(columns))}"
        )


def _from_inputs(value: object, dtypes: Mapping[str, str]) -> dict[str, np.ndarray]:
    if not _is_named(value):
        if len(dtypes) > 1:
            raise invalid_argument(
                "inputs is a plain value/list, but expecting an object as multiple "
                "input tensors required as per tensorinfo_map"
            )
        value = {next(iter(dtypes)): value}
    inputs = {}
    for name, dtype in dtypes.items():
        if name not in value:
            raise invalid_argument(f"Missing named input: {name} in 'inputs' object.")
        shape = _shape(value[name])
        values: list = []
        _fill(value[name], 0, shape, dtype, values)
        inputs[name] = _array(values, shape, dtype)
    return inputs


class _Column:
    """One named input over the rows of `instances`; every row has the shape of the first."""

    def __init__(self, dtype: str) -> None:
        self.dtype = dtype
        self.rows = 0
        self.size = 0
        self.shape: list[int] = []
        self.values: list = []

    def add(self, value: object) -> None:
        """Add the value of the next row."""
        shape = _shape(value)
        before = len(self.values)
        _fill(value, 0, shape, self.dtype, self.values)
        size = len(self.values) - before
        if self.rows == 0:
            self.size, self.shape = size, shape
        elif size != self.size:
            raise invalid_argument(f"Expecting tensor size: {self.size} but got: {size}")
        elif shape != self.shape:
            raise invalid_argument(f"Expecting shape {_shape_text(self.shape)} but got: {_shape_text(shape)}")
        self.rows += 1

    def array(self) -> np.ndarray:
        """Return the rows as one array, [rows, ...]."""
        return _array(self.values, [self.rows, *self.shape], self.dtype)


def _shape(value: object) -> list[int]:
    shape = []
    while isinstance(value, list):
        shape.append(len(value))
        if not value:
            break
        value = value[0]
    return shape


def _shape_text(shape: list[int]) -> str:
    return f"[{','.join(map(str, shape))}]"


def _fill(value: object, level: int, shape: list[int], dtype: str, into: list) -> None:
    if not isinstance(value, list):
        if level != len(shape):
            raise invalid_argument(
                f"JSON Value: {dump(value)} found at incorrect level: {level + 1}"
                f" in the JSON DOM. Expected at level: {len(shape)}"
            )
        into.append(_scalar(value, dtype))
        return
    if level >= len(shape):
        raise invalid_argument(f"Encountered list at unexpected level: {level} expected < {len(shape)}")
    if len(value) != shape[level]:
        raise invalid_argument(
            f"Encountered list at unexpected size: {len(value)} at level: {level} expected size: {shape[level]}"
        )
    for element in value:
        _fill(element, level + 1, shape, dtype, into)


def _scalar(value: object, dtype: str) -> object:
    kind = type(value)
    if dtype == "string":
        if kind is str:
            return _bytes(value)
        if kind is dict:
            return _from_base64(value)
    elif kind is dict:
        pass
    elif dtype in ("float", "double"):
        if kind is int or kind is float:
            if not _lossless(value, dtype):
                text = f"Cannot convert JSON value: {dump(value)} to {dtype} without loss of precision."
                raise invalid_argument(text)
            return value
    elif dtype in _INTEGERS:
        low, high = _INTEGERS[dtype]
        if kind is int and low <= value <= high:
            return value
    elif dtype == "bool":
        if kind is bool:
            return value
    else:
        raise ServingError(Code.UNIMPLEMENTED, f"Conversion of JSON Value: {dump(value)} to type: {dtype}")
    raise invalid_argument(f"JSON Value: {dump(value)} Type: {_type_text(value)} is not of expected type: {dtype}")


def _lossless(value: float | int, dtype: str) -> bool:
    """Integers must fit the mantissa; decimals only the range, since a decimal fraction is rounded anyway."""
    if type(value) is int and -(2**63) <= value < 2**64:
        return abs(value) <= (2**24 - 1 if dtype == "float" else 2**53 - 1)
    return dtype == "double" or abs(value) == float("inf") or value != value or abs(value) <= FLOAT_MAX


def _type_text(value: object) -> str:
    if isinstance(value, bool):
        return str(value)
    names = {type(None): "Null", dict: "Object", list: "Array", str: "String"}
    return names.get(type(value), "Number")


def _is_base64(value: object) -> bool:
    return isinstance(value, dict) and len(value) == 1 and isinstance(value.get("b64"), str)


def _is_named(value: object) -> bool:
    return isinstance(value, dict) and not _is_base64(value)


def _from_base64(value: dict) -> bytes:
    if not _is_base64(value):
        raise invalid_argument(f"JSON Value: {dump(value)} not formatted correctly for base64 data")
    text = re.sub(r"[ \t\r\n]", "", value["b64"]).rstrip("=")
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    except (binascii.Error, ValueError):
        raise invalid_argument("Unable to base64 decode") from None


def _bytes(text: str) -> bytes:
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # a lone surrogate that was written as an escape
        return text.encode("utf-8", "surrogatepass")


def _array(values: list, shape: list[int], dtype: str) -> np.ndarray:
    import numpy as np

    wide = np.array(values, dtype=_NUMPY.get(dtype, "int64" if dtype in ("int8", "int16", "uint8") else dtype))
    return wide.astype(_NUMPY.get(dtype, dtype), copy=False).reshape(shape)


def _format_error(value: object, text: str) -> ServingError:
    return invalid_argument(f"JSON Value: {dump(value)} {text}")
