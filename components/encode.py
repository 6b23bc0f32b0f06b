"""Serialize Arrow columns as tf.Example: the same bytes for the same rows, always.

tfx_bsl's encoder writes the features of an example in an order that differs from call to call, so that equal data has
unequal digests. This one writes them in the order of their names, and takes half the time: each distinct value of a
column of single values is encoded once, and Arrow joins the pieces.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

# Field numbers. Source: tensorflow/core/example/example.proto and feature.proto.
EXAMPLE_FEATURES = FEATURES_ENTRY = ENTRY_NAME = LIST_VALUES = 1
ENTRY_VALUE = 2
BYTES_LIST, FLOAT_LIST, INT64_LIST = 1, 2, 3
LENGTH_DELIMITED = 2


def encode_examples(batch: pa.RecordBatch) -> list[bytes]:
    """Return one serialized tf.Example a row.

    Columns are int64, float32 or binary, or lists of them; a null becomes a feature without values, as TFX writes it.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if not batch.num_columns:
        return [b""] * batch.num_rows
    order = sorted(range(batch.num_columns), key=lambda index: batch.schema.names[index].encode())
    entries = [_entries(batch.schema.names[index].encode(), batch.column(index)) for index in order]
    empty = pa.scalar(b"", pa.binary())
    bodies = pc.binary_join_element_wise(*entries, empty)
    heads = _once_each(pc.binary_length(bodies), lambda size: _key(EXAMPLE_FEATURES) + _varint(size))
    return pc.binary_join_element_wise(heads, bodies, empty).to_pylist()


def _entries(name: bytes, column: pa.Array) -> pa.Array:
    """Return the map entry `name -> Feature` of each row."""
    import pyarrow as pa
    import pyarrow.compute as pc

    is_list = pa.types.is_list(column.type)
    kind = column.type.value_type if is_list else column.type
    if pa.types.is_float32(kind):
        return pa.array(_entries_of(name, FLOAT_LIST, _slices(column, is_list)), pa.binary())
    if is_list and not column.null_count and len(column.flatten()) == len(column) and pc.all(_single(column)).as_py():
        return _entries(name, column.flatten())
    if pa.types.is_int64(kind):
        number, encode = INT64_LIST, _varint
    elif pa.types.is_binary(kind):
        number, encode = BYTES_LIST, lambda value: value
    else:
        raise TypeError(f"column {name!r} is {column.type}: int64, float32 or binary are encoded")
    if is_list and number == BYTES_LIST:  # strings are never packed: a field each
        rows = (b"".join(_field(LIST_VALUES, value) for value in row or ()) for row in column.to_pylist())
        return pa.array([_entry(name, _field(number, row) if row else b"") for row in rows], pa.binary())
    if is_list:
        varints = {value: _varint(value) for value in column.flatten().unique().to_pylist()}
        rows = (b"".join(varints[value] for value in row or ()) for row in column.to_pylist())
        return pa.array(_entries_of(name, number, list(rows)), pa.binary())
    entries = _once_each(column, lambda value: _entry(name, _field(number, _field(LIST_VALUES, encode(value)))))
    return pc.fill_null(entries, _entry(name, b""))


def _single(column: pa.ListArray) -> pa.Array:
    import pyarrow.compute as pc

    return pc.equal(column.value_lengths(), 1)


def _entry(name: bytes, feature: bytes) -> bytes:
    return _field(FEATURES_ENTRY, _field(ENTRY_NAME, name) + _field(ENTRY_VALUE, feature))


def _entries_of(name: bytes, number: int, bodies: list[bytes]) -> list[bytes]:
    """Return the entry of each row from its packed values; all that stands before them depends on their length only."""
    heads = {0: _entry(name, b"")}
    for size in {len(body) for body in bodies} - {0}:
        heads[size] = _entry(name, _field(number, _field(LIST_VALUES, bytes(size))))[:-size]
    return [heads[len(body)] + body for body in bodies]


def _slices(column: pa.Array, is_list: bool) -> list[bytes]:
    """Return the float32 values of each row in memory order, which is little-endian; a null is empty."""
    import numpy as np

    flat = (column.flatten() if is_list else column.drop_null()).to_numpy(zero_copy_only=False).astype("<f4").tobytes()
    sizes = np.asarray(column.value_lengths().fill_null(0) if is_list else column.is_valid()).astype(np.int64) * 4
    ends = np.cumsum(sizes)
    return [flat[start:end] for start, end in zip((ends - sizes).tolist(), ends.tolist(), strict=True)]


def _once_each(column: pa.Array, encode) -> pa.Array:
    """Return `encode` of each value, called once a distinct one; null stays null."""
    import pyarrow as pa
    import pyarrow.compute as pc

    coded = pc.dictionary_encode(column)
    return pa.array([encode(value) for value in coded.dictionary.to_pylist()], pa.binary()).take(coded.indices)


def _field(number: int, body: bytes) -> bytes:
    return _key(number) + _varint(len(body)) + body


def _key(number: int) -> bytes:
    return bytes([number << 3 | LENGTH_DELIMITED])


def _varint(value: int) -> bytes:
    """Return a base-128 varint; a negative number is its 64-bit two's complement.

    Source: protobuf.dev, Encoding, "Base 128 Varints".
    """
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)
