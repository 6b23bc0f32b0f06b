"""JSON text as RapidJSON 1.1.0 writes it, which is what TensorFlow Serving's clients read.

Source: rapidjson v1.1.0 prettywriter.h and internal/dtoa.h, by behaviour.
"""

from __future__ import annotations

import json
import math
from decimal import Decimal

INDENT = "    "
_ESCAPES = {code: f"\\u{code:04X}" for code in range(0x20)}
_ESCAPES |= {ord(raw): "\\" + letter for raw, letter in zip('"\\\b\f\n\r\t', '"\\bfnrt', strict=True)}


class Writer:
    """Writes a document as RapidJSON's PrettyWriter: four spaces, and arrays on one line where `single_line` is set."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.levels: list[list] = []  # [is an array, values so far] of each open container
        self.single_line = False

    def raw(self, text: str) -> None:
        """Write a finished value, or a finished key."""
        self._prefix()
        self.parts.append(text)

    def string(self, text: str) -> None:
        """Write a string value or a key."""
        self.raw(quote(text))

    def open(self, is_array: bool) -> None:
        """Start an array or an object."""
        self.raw("[" if is_array else "{")
        self.levels.append([is_array, 0])

    def close(self) -> None:
        """End the innermost array or object."""
        is_array, count = self.levels.pop()
        if count and not (is_array and self.single_line):
            self._newline()
        self.parts.append("]" if is_array else "}")

    def text(self) -> str:
        """Return what was written."""
        return "".join(self.parts)

    def _prefix(self) -> None:
        if not self.levels:
            return
        level = self.levels[-1]
        is_array, count = level
        level[1] += 1
        if is_array:
            if count:
                self.parts.append(", " if self.single_line else ",")
            if not self.single_line:
                self._newline()
        elif count % 2:
            self.parts.append(": ")
        else:
            if count:
                self.parts.append(",")
            self._newline()

    def _newline(self) -> None:
        self.parts.append("\n" + INDENT * len(self.levels))


def quote(text: str) -> str:
    """Return a JSON string literal; characters beyond ASCII stay as they are."""
    return f'"{text.translate(_ESCAPES)}"'


def dump(value: object) -> str:
    """Return a parsed value as text, as error messages quote it."""
    if isinstance(value, float):
        import numpy as np

        fits = abs(value) <= float(np.finfo(np.float32).max)
        return decimal(np.float32(value) if fits else value)
    writer = Writer()
    _write(writer, value)
    return writer.text()


def _write(writer: Writer, value: object) -> None:
    if isinstance(value, dict):
        writer.open(is_array=False)
        for name, member in value.items():
            writer.string(name)
            _write(writer, member)
        writer.close()
    elif isinstance(value, list):
        writer.open(is_array=True)
        for element in value:
            _write(writer, element)
        writer.close()
    elif isinstance(value, str):
        writer.string(value)
    elif isinstance(value, float):
        writer.raw(shortest(value))
    else:
        writer.raw(json.dumps(value))


def decimal(value) -> str:
    """Return a float32 or float64 as TensorFlow Serving writes it: %g, more digits only if that does not round-trip.

    Source: tensorflow_serving/util/json_tensor.cc, WriteDecimal.
    """
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "-Infinity" if value < 0 else "Infinity"
    is_float32 = getattr(value, "itemsize", 8) == 4
    text = f"{value:g}"
    if (type(value)(text) if is_float32 else float(text)) != value:
        text = f"{value:.{9 if is_float32 else 17}g}"
    return text if "." in text or "e" in text else text + ".0"


def shortest(value: float) -> str:
    """Return a float64 with the fewest digits that read back, laid out as RapidJSON's dtoa."""
    if not math.isfinite(value):
        return decimal(value)
    sign, digit_tuple, exponent = Decimal(repr(value)).as_tuple()
    digits = "".join(map(str, digit_tuple)).rstrip("0") or "0"
    point = len(digit_tuple) + exponent if digits != "0" else 1  # digits before the decimal point
    minus = "-" if sign else ""
    if len(digits) <= point <= 21:
        return f"{minus}{digits:0<{point}}.0"
    if 0 < point <= 21:
        return f"{minus}{digits[:point]}.{digits[point:]}"
    if -6 < point <= 0:
        return f"{minus}0.{'0' * -point}{digits}"
    fraction = f".{digits[1:]}" if len(digits) > 1 else ""
    return f"{minus}{digits[0]}{fraction}e{point - 1}"
