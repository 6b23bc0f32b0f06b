"""Read Parquet files in columns."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import TYPE_CHECKING

from components.ingest.source import Places, Source, find_files, row_locator
from components.ingest.types import Odd, not_finite, to_float32
from pipeline.config.model import DataConfig
from pipeline.errors import HeadraceError
from pipeline.system_errors import coded_os_errors

if TYPE_CHECKING:
    import pyarrow as pa


def read_parquet(path: str, data: DataConfig, declared: Mapping[str, str] | None = None) -> Source:
    """Read a Parquet file, or all those of a folder.

    Integers and booleans become int64, other numbers float32, text bytes, dates and times ISO 8601 bytes (UTC where
    they have a zone). A column that the schema declares FLOAT becomes float32 from integers too.

    Args:
        path: file or folder.
        data: not used; Parquet files describe themselves.
        declared: column -> INT, FLOAT or BYTES, from the schema.

    Raises: HR-DATA-001, HR-DATA-002, HR-DATA-004, HR-DATA-008, HR-DATA-016, HR-DATA-020, HR-DATA-027, HR-DATA-028,
    HR-SYS-002.
    """
    import pyarrow as pa

    files = find_files(path, "parquet")
    tables, size_bytes = [], 0
    for file in files:
        with coded_os_errors(file), open(file, "rb") as opened:
            content = opened.read()
        size_bytes += len(content)
        tables.append(_read_table(file, content))
        _require_same_columns(files[0], tables[0], file, tables[-1])
    table = pa.concat_tables([each.replace_schema_metadata(None) for each in tables])
    if table.num_rows == 0:
        seen = f"{table.num_columns} columns: {', '.join(table.column_names)}"
        raise HeadraceError("HR-DATA-004", f"{path} has no rows", [seen], "at least two rows")
    locate = row_locator([(file, each.num_rows) for file, each in zip(files, tables, strict=True)])

    def places(rows) -> list[str]:
        return [f"{file} row {row:,} (from 0)" for file, row in locate(rows)]

    return Source(_convert(path, table.combine_chunks(), declared or {}, places), places, size_bytes)


def _read_table(file: str, content: bytes) -> pa.Table:
    import pyarrow as pa
    from pyarrow import parquet

    try:
        table = parquet.ParquetFile(pa.BufferReader(content)).read()
        table.validate(full=True)
    except (pa.ArrowException, OSError, ValueError) as exc:
        seen = [f"{len(content):,} bytes, first {content[:4]!r}, last {content[-4:]!r}", f"{type(exc).__name__}: {exc}"]
        fix = [f"ls -l {shlex.quote(file)}", "copy or write the file again"]
        what = f"{file} is corrupt, truncated or not Parquet"
        raise HeadraceError("HR-DATA-027", what, seen, "a file that starts and ends with b'PAR1'", fix) from exc
    names = table.column_names
    if repeated := sorted({name for name in names if names.count(name) > 1}):
        raise HeadraceError(
            "HR-DATA-008", f"{file} repeats column names", [repr(name) for name in repeated], "each name once"
        )
    return table


def _require_same_columns(first: str, expected: pa.Table, file: str, found: pa.Table) -> None:
    before, after = _types(expected), _types(found)
    if before != after:
        seen = [
            f"{file}: {name} {after.get(name, 'lacking')}, in {first} {before.get(name, 'lacking')}"
            for name in {**before, **after}
            if before.get(name) != after.get(name)
        ]
        seen = seen or [f"{file} has the same columns in another order"]
        fix = [f"correct {file}", f"or move it out of the folder:  mv {file} .."]
        raise HeadraceError(
            "HR-DATA-020", f"{file} has other columns than {first}", seen, "the same columns and types", fix
        )


def _types(table: pa.Table) -> dict[str, str]:
    return {field.name: str(field.type) for field in table.schema}


def _convert(path: str, table: pa.Table, declared: Mapping[str, str], places: Places) -> pa.Table:
    import pyarrow as pa

    columns, infinite, refused = [], [], []
    for name, column in zip(table.column_names, table.columns, strict=True):
        converted = _convert_column(name, column, declared.get(name), infinite)
        if converted is None:
            refused.append(f"{name}: {column.type}")
        columns.append(converted)
    if refused:
        fix = ["write one number or text a row, such as one column per element"]
        what = f"{path} has columns of types that cannot be read"
        raise HeadraceError("HR-DATA-028", what, refused, "numbers, text, booleans, dates or times", fix)
    if infinite:
        raise not_finite(infinite, places, table.num_rows)
    return pa.table(columns, names=table.column_names)


def _convert_column(
    name: str, column: pa.ChunkedArray, declared: str | None, infinite: list[Odd]
) -> pa.ChunkedArray | None:
    import pyarrow as pa

    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    kind = column.type
    if pa.types.is_boolean(kind) or pa.types.is_integer(kind):
        if declared == "FLOAT":
            return column.cast(pa.int64()).cast(pa.float32(), safe=False)
        try:
            return column.cast(pa.int64())
        except pa.ArrowInvalid:  # uint64 beyond int64 is an identifier: a float would lose its last digits
            return column.cast(pa.string()).cast(pa.binary())
    if pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        wide = column.cast(pa.float64(), safe=False)
        return to_float32(name, wide, wide.cast(pa.string()), infinite)
    if pa.types.is_null(kind):
        return column.cast(pa.binary())
    text = _as_text(column)
    return None if text is None else _empty_as_null(text.cast(pa.binary()))


def _as_text(column: pa.ChunkedArray) -> pa.ChunkedArray | None:
    """Return text, dates and times as text or bytes, or None for any other type."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = column.type
    if pa.types.is_timestamp(kind):
        if kind.tz is None:
            return column.cast(pa.string())
        return pc.binary_join_element_wise(column.cast(pa.timestamp(kind.unit)).cast(pa.string()), "Z", "")
    if pa.types.is_date(kind) or pa.types.is_time(kind):
        return column.cast(pa.string())
    is_text = pa.types.is_string(kind) or pa.types.is_large_string(kind)
    is_bytes = pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind)
    return column if is_text or is_bytes else None


def _empty_as_null(column: pa.ChunkedArray) -> pa.ChunkedArray:
    import pyarrow as pa
    import pyarrow.compute as pc

    empty = pc.equal(pc.binary_length(column), pa.scalar(0, pa.int32()))
    return pc.if_else(empty, pa.scalar(None, pa.binary()), column)
