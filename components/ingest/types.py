"""Column types: numbers become int64 or float32, everything else bytes; decided on all rows, with the schema's help."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from components.ingest.source import Places
from pipeline.errors import HeadraceError

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from tensorflow_metadata.proto.v0 import schema_pb2

INTEGER = r"^-?[0-9]+$"
NUMBER = r"^-?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"
NOT_FINITE_OR_EMPTY = r"^(-?(?i:nan|inf|infinity))?$"
INT64_END = 2.0**63
AROUND_NUMBER = r"^[ \t]*\+?|[ \t]+$"  # "+5" and " 5" are numbers to a person, though not to Arrow
# A column is one of numbers with odd words in it if most values are numbers, and the words are few or of few kinds
# ("NA", "unknown"). Ticket numbers, of which a quarter have letters, are text.
MAX_WORD_SHARE = 0.1
MAX_WORD_KINDS = 3
PROBE_ROWS = 100


@dataclass(frozen=True)
class Odd:
    """A value that does not fit its column: how often it occurs, and the first row (from 0)."""

    column: str
    value: str
    count: int
    row: int


def declared_types(schema: schema_pb2.Schema) -> dict[str, str]:
    """Return INT, FLOAT or BYTES for each column that the schema types."""
    from tensorflow_metadata.proto.v0 import schema_pb2

    names = {number: name for name, number in schema_pb2.FeatureType.items()}
    return {feature.name: names[feature.type] for feature in schema.feature if names[feature.type] != "TYPE_UNKNOWN"}


def infer_types(text: pa.Table, declared: Mapping[str, str], places: Places) -> pa.Table:
    """Return a table of text with int64, float32 and binary columns, an empty text as null.

    Raises: HR-DATA-016 (NaN, infinity, beyond float32), HR-DATA-017 (words among numbers).
    """
    import pyarrow as pa

    columns, infinite, words = [], [], []
    for name, column in zip(text.column_names, text.columns, strict=True):
        values = _empty_as_null(column)
        number = (
            None if declared.get(name) == "BYTES" else _as_number(name, values, declared.get(name), infinite, words)
        )
        columns.append(values.cast(pa.binary()) if number is None else number)
    if words:
        raise _mixed(words, places, text.num_rows)
    if infinite:
        raise not_finite(infinite, places, text.num_rows)
    return pa.table(columns, names=text.column_names)


def to_float32(name: str, column: pa.ChunkedArray, text: pa.ChunkedArray, infinite: list[Odd]) -> pa.ChunkedArray:
    """Return a float64 column as float32; values that are not finite there are appended to `infinite` as in `text`."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    narrow = column.cast(pa.float32(), safe=False)
    finite = np.asarray(pc.fill_null(pc.is_finite(narrow), True))
    if not finite.all():
        infinite += odd_values(name, text, ~finite)
    return narrow


def odd_values(name: str, text: pa.ChunkedArray, wrong: np.ndarray) -> list[Odd]:
    """Return the distinct values of text (string [n]) where `wrong` (bool [n]) holds, the most frequent first."""
    import numpy as np
    import pyarrow as pa

    rows = np.flatnonzero(wrong)
    taken = np.array(text.take(pa.array(rows)).to_pylist(), dtype=object)
    values, first, counts = np.unique(taken, return_index=True, return_counts=True)
    odd = [Odd(name, values[i], int(counts[i]), int(rows[first[i]])) for i in range(len(values))]
    return sorted(odd, key=lambda each: (-each.count, each.row))


def describe(odd: list[Odd], places: Places, total: int) -> list[str]:
    """Return one line a value: column, value, how often, and where it is first."""
    shown = odd[:20]
    where = dict(zip(sorted({each.row for each in shown}), places(sorted({each.row for each in shown})), strict=True))
    lines = [f"{each.column}: {each.value!r} {_often(each.count, total)}{where[each.row]}" for each in shown]
    return lines + ["further values"] * (len(odd) - len(shown))


def not_finite(odd: list[Odd], places: Places, total: int) -> HeadraceError:
    """Return HR-DATA-016."""
    names = list(dict.fromkeys(each.column for each in odd))
    what = f"{_columns(names)} of numbers {_hold(names)} NaN, infinity or values beyond float32"
    fix = ["leave the field empty where a value is missing", _as_text(names)]
    return HeadraceError("HR-DATA-016", what, describe(odd, places, total), "finite numbers up to 3.4e38", fix)


def _mixed(odd: list[Odd], places: Places, total: int) -> HeadraceError:
    names = list(dict.fromkeys(each.column for each in odd))
    what = f"{_columns(names)} of numbers {_hold(names)} words"
    fix = ["leave the field empty where a value is missing, or correct it", _as_text(names)]
    return HeadraceError("HR-DATA-017", what, describe(odd, places, total), "numbers or empty fields", fix)


def _as_number(
    name: str, values: pa.ChunkedArray, declared: str | None, infinite: list[Odd], words: list[Odd]
) -> pa.ChunkedArray | None:
    """Return the column as int64 or float32, or None if it is text; odd values are appended to the lists."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    if values.null_count == len(values):
        return {"INT": values.cast(pa.int64()), "FLOAT": values.cast(pa.float32())}.get(declared)
    if (number := _parse(values)) is None:
        found = _words_among_numbers(values)
        if found is None:
            return None
        if len(found):
            words += odd_values(name, values, np.asarray(pc.is_in(values, value_set=found)))
            return None
        values = _empty_as_null(_trim(values))
        number = _parse(values)
    if number.type == pa.int64():
        return number.cast(pa.float32(), safe=False) if declared == "FLOAT" else number
    huge = declared != "FLOAT" and pc.any(pc.greater_equal(pc.abs(number), INT64_END)).as_py()
    if huge and pc.all(pc.match_substring_regex(values, INTEGER)).as_py():
        return None  # integers beyond int64 are identifiers: a float would lose their last digits
    return to_float32(name, number, values, infinite)


def _words_among_numbers(values: pa.ChunkedArray) -> pa.Array | None:
    """Return the words of a column of numbers, or None if the column is text."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    values, counts = pc.value_counts(values.drop_null()).flatten()
    counts, trimmed = np.asarray(counts), _trim(values)
    is_number = np.asarray(pc.match_substring_regex(trimmed, NUMBER))
    is_word = ~is_number & ~np.asarray(pc.match_substring_regex(trimmed, NOT_FINITE_OR_EMPTY))
    in_words, in_numbers = counts[is_word].sum(), counts[is_number].sum()
    few = in_words <= MAX_WORD_SHARE * counts.sum() or is_word.sum() <= MAX_WORD_KINDS
    is_text = in_words and not (few and in_numbers > in_words)
    return None if is_text else values.filter(pa.array(is_word))


def _parse(values: pa.ChunkedArray) -> pa.ChunkedArray | None:
    """Return text as int64 or float64, or None if a value is neither."""
    import pyarrow as pa
    import pyarrow.compute as pc

    number = _cast(values, pa.int64())
    if number is None:
        return _cast(values, pa.float64())
    hexadecimal = pc.or_(pc.match_substring(values, "x"), pc.match_substring(values, "X"))  # Arrow reads 0x1F
    return None if pc.any(hexadecimal).as_py() else number


def _trim(values: pa.ChunkedArray) -> pa.ChunkedArray:
    import pyarrow.compute as pc

    return pc.replace_substring_regex(values, AROUND_NUMBER, "")


def _cast(values: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray | None:
    import pyarrow as pa

    try:
        values.slice(0, PROBE_ROWS).cast(kind)  # Arrow writes a message for each value that fails: a second a million
        return values.cast(kind)
    except pa.ArrowInvalid:
        return None


def _empty_as_null(column: pa.ChunkedArray) -> pa.ChunkedArray:
    import pyarrow as pa
    import pyarrow.compute as pc

    empty = pc.equal(pc.binary_length(column), pa.scalar(0, pa.int32()))
    if not pc.any(empty).as_py():
        return column
    return pc.if_else(empty, pa.scalar(None, pa.string()), column)


def _often(count: int, total: int) -> str:
    return "at " if count == 1 else f"in {count:,} of {total:,} rows, first at "


def _columns(names: list[str]) -> str:
    quoted = ", ".join(repr(name) for name in names)
    return f"column {quoted}" if len(names) == 1 else f"columns {quoted}"


def _hold(names: list[str]) -> str:
    return "holds" if len(names) == 1 else "hold"


def _as_text(names: list[str]) -> str:
    return f"if it is text:  type: BYTES for feature {names[0]!r} in the schema"
