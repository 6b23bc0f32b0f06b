"""Read CSV files in columns. What is wrong with a file is found by `csv_faults`, once reading it has failed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from components.ingest import csv_faults
from components.ingest.source import Source, find_files, row_locator
from components.ingest.types import infer_types
from pipeline.config.model import DataConfig
from pipeline.errors import HeadraceError
from pipeline.system_errors import coded_os_errors

if TYPE_CHECKING:
    import pyarrow as pa

BLOCK_BYTES = 1 << 26  # the longest record Arrow can read; smaller blocks are not faster
QUOTE = b'"'


def read_csv(path: str, data: DataConfig, declared: Mapping[str, str] | None = None) -> Source:
    """Read a CSV file, or all those of a folder, in UTF-8 with a header line each.

    Types are decided on all rows: a column is int64 or float32 if every value is such a number, else binary. An empty
    field is missing; blank lines are skipped.

    Args:
        path: file or folder.
        data: gives the delimiter.
        declared: column -> INT, FLOAT or BYTES, from the schema; BYTES keeps text as it stands.

    Raises: HR-DATA-001 to HR-DATA-009, HR-DATA-016, HR-DATA-017, HR-DATA-020, HR-DATA-029, HR-DATA-030, HR-SYS-002.
    """
    import pyarrow as pa

    files = find_files(path, "csv")
    tables, size_bytes = [], 0
    for file in files:
        with coded_os_errors(file), open(file, "rb") as opened:
            content = opened.read()
        size_bytes += len(content)
        tables.append(_read_text(file, content, data.delimiter))
        _require_same_columns(files[0], tables[0], file, tables[-1])
    text = pa.concat_tables(tables).combine_chunks()
    if text.num_rows == 0:
        raise csv_faults.no_rows(path, text.column_names)
    locate = row_locator([(file, table.num_rows) for file, table in zip(files, tables, strict=True)])

    def places(rows) -> list[str]:
        return csv_faults.lines_of(locate(rows), data.delimiter)

    return Source(infer_types(text, declared or {}, places), places, size_bytes)


def _read_text(file: str, content: bytes, delimiter: str) -> pa.Table:
    """Return every column as text."""
    import pyarrow as pa
    from pyarrow import csv

    header = csv_faults.checked_header(file, content, delimiter)
    try:
        table = csv.read_csv(
            pa.BufferReader(content),
            read_options=csv.ReadOptions(block_size=BLOCK_BYTES),
            parse_options=csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
            convert_options=csv.ConvertOptions(column_types=dict.fromkeys(header, pa.string())),
        )
    except (pa.ArrowInvalid, UnicodeDecodeError) as exc:
        raise csv_faults.explain(file, content, delimiter, header, exc) from exc
    quotes, lines = content.count(QUOTE), max(content.count(b"\n"), content.count(b"\r"))
    rows_span_lines = quotes and lines > table.num_rows + 1
    if (quotes % 2 or rows_span_lines) and (fault := csv_faults.open_quote(file, content, delimiter)):
        raise fault
    return table


def _require_same_columns(first: str, expected: pa.Table, file: str, found: pa.Table) -> None:
    if found.column_names != expected.column_names:
        lacking = [name for name in expected.column_names if name not in found.column_names]
        more = [name for name in found.column_names if name not in expected.column_names]
        seen = [f"{file} lacks {name!r}" for name in lacking] + [f"{file} also has {name!r}" for name in more]
        seen = seen or [f"{file} has the same columns in another order"]
        fix = [
            f"correct {file}",
            f"or move it out of the folder:  mv {file} ..",
            f"or read one file:  --set data.path={first}",
        ]
        raise HeadraceError(
            "HR-DATA-020", f"{file} has other columns than {first}", seen, ", ".join(expected.column_names), fix
        )
