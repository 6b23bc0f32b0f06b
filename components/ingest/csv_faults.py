"""Say what is wrong with a CSV file, and on which line: slow and exact, run on the way to an error only."""

from __future__ import annotations

import collections
import contextlib
import csv
import io
import itertools
import re
import shlex
from collections.abc import Iterator, Sequence

from pipeline.errors import HeadraceError, bounded

DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}
FOREIGN = {  # first bytes of a file -> format and fix
    b"PAR1": ("Parquet", "--set data.format=parquet"),
    b"\x1f\x8b": ("gzip", "gunzip -k {file}"),
    b"PK\x03\x04": ("ZIP (as .xlsx and .zip files are)", "save it as CSV UTF-8, or unzip it first"),
    b"BZh": ("bzip2", "bunzip2 -k {file}"),
    b"\xfd7zXZ": ("xz", "xz -dk {file}"),
    b"\x28\xb5\x2f\xfd": ("zstd", "zstd -dk {file}"),
    b"\x89PNG": ("PNG", "--set data.format=images with the folder of the class folders"),
    b"\xff\xd8\xff": ("JPEG", "--set data.format=images with the folder of the class folders"),
}
UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")
MAX_FIELD = 2**31 - 1
SNIPPET_CHARS = 40
SENTINEL = b"\x1eend\x1e"
SURROGATE = 0xDC00  # what "surrogateescape" adds to a byte that is not UTF-8
NOT_UTF8 = re.compile("[\udc80-\udcff]")


def checked_header(file: str, content: bytes, delimiter: str) -> list[str]:
    """Return the column names of a file.

    Raises: HR-DATA-003 (empty), HR-DATA-005 (delimiter), HR-DATA-006 (not UTF-8), HR-DATA-008 (duplicate names),
    HR-DATA-009 (column without a name), HR-DATA-030 (another format).
    """
    _refuse_foreign(file, content)
    if not content.removeprefix(b"\xef\xbb\xbf").strip():
        seen = f"{len(content)} bytes" + (", nothing but blank lines" if content else "")
        raise HeadraceError(
            "HR-DATA-003", f"{file} is empty", [seen], "a header line and rows", [f"ls -l {shlex.quote(file)}"]
        )
    start, header, _ = next(_records(content, delimiter))
    if any(NOT_UTF8.search(name) for name in header):
        raise _not_utf8(file, content, delimiter)
    _refuse_delimiter(file, header, delimiter)
    repeated = {name: count for name, count in collections.Counter(header).items() if count > 1 and name.strip()}
    if repeated:
        seen = [f"{name!r} {count} times" for name, count in repeated.items()]
        fix = [f"rename the columns on line {start} of {file}"]
        raise HeadraceError("HR-DATA-008", f"{file}:{start} repeats column names", seen, "each name once", fix)
    unnamed = [position for position, name in enumerate(header, 1) if not name.strip()]
    if unnamed:
        seen = [f"column {position} of {len(header)}" + _after(header, position) for position in unnamed]
        fix = [f"name it on line {start} of {file}", "if pandas wrote the file:  to_csv(..., index=False)"]
        raise HeadraceError("HR-DATA-009", f"{file}:{start} has a column without a name", seen, "a name each", fix)
    return header


def no_rows(path: str, header: Sequence[str]) -> HeadraceError:
    """Return HR-DATA-004 for a file that ends after its header."""
    seen = f"{len(header)} column names and nothing below: {', '.join(header)}"
    return HeadraceError(
        "HR-DATA-004", f"{path} has a header and no rows", [seen], "at least two rows", [f"head -3 {shlex.quote(path)}"]
    )


def open_quote(file: str, content: bytes, delimiter: str) -> HeadraceError | None:
    """Return HR-DATA-029 if a quote is closed by none, or by one that opens a field further down.

    Both swallow the rows between without an error from any reader.
    """
    for line, fields, text in _records(content + b"\n" + SENTINEL, delimiter):
        swallowed = fields != [SENTINEL.decode()] and fields[-1].endswith(SENTINEL.decode())
        if swallowed or ("\n" in text.rstrip() and not _strict(text, delimiter)):
            first = bounded(text.splitlines()[0], SNIPPET_CHARS)
            fix = [f"close the quote that opens on line {line}, or double it if it belongs to the text"]
            fix += [f"sed -n {line}p {shlex.quote(file)}"]
            what = f"{file}:{line} opens a quote that is never closed"
            return HeadraceError("HR-DATA-029", what, [f"{file}:{line} {first}"], "quotes in pairs", fix)
    return None


def explain(file: str, content: bytes, delimiter: str, header: Sequence[str], cause: Exception) -> HeadraceError:
    """Return the error that names the lines at fault, after Arrow has refused the file."""
    width = len(header)
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        return _not_utf8(file, content, delimiter)
    if not any(True for _ in itertools.islice(_records(content, delimiter), 1, None)):
        return no_rows(file, header)
    if fault := open_quote(file, content, delimiter):
        return fault
    ragged = [(line, len(fields), text) for line, fields, text in _records(content, delimiter) if len(fields) != width]
    if not ragged:
        return HeadraceError(
            "HR-DATA-007", f"{file} cannot be read as CSV", [str(cause)], f"{width} fields in each row"
        )
    seen = [f"{file}:{line} has {count} of {width} fields: {bounded(text, 80)}" for line, count, text in ragged]
    line = ragged[0][0]
    fix = [
        f"sed -n {line}p {shlex.quote(file)}",
        "a text that holds the delimiter or a line break stands in double quotes",
    ]
    what = f"{file}:{line} has another number of fields than the header"
    return HeadraceError("HR-DATA-007", what, seen, f"{width} fields in each row", fix)


def lines_of(rows: Sequence[tuple[str, int]], delimiter: str) -> list[str]:
    """Return `file:line` for rows, given as (file, row counted from 0 without the header and blank lines)."""
    wanted = collections.defaultdict(set)
    for file, row in rows:
        wanted[file].add(row)
    lines = {}
    for file, numbers in wanted.items():
        with open(file, "rb") as opened:
            content = opened.read()
        last = max(numbers)
        for row, (line, _, _) in enumerate(_records(content, delimiter), -1):  # the header is record -1
            if row in numbers:
                lines[file, row] = line
            if row >= last:
                break
    return [f"{file}:{lines[file, row]}" for file, row in rows]


def _records(content: bytes, delimiter: str) -> Iterator[tuple[int, list[str], str]]:
    """Yield the line where each record starts, its fields and its text; bytes that are not UTF-8 become surrogates."""
    lines: list[str] = []

    def remember() -> Iterator[str]:
        for line in io.TextIOWrapper(io.BytesIO(content), "utf-8-sig", "surrogateescape", newline=""):
            lines.append(line)
            yield line

    start = 1
    with _long_fields():
        for fields in csv.reader(remember(), delimiter=delimiter):
            text = "".join(lines)
            if fields:
                yield start, fields, text
            start += len(lines)
            lines.clear()


def _strict(text: str, delimiter: str) -> bool:
    """Say whether each closing quote of a record is followed by a delimiter or the end."""
    try:
        with _long_fields():
            return bool(next(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)))
    except csv.Error:
        return False


@contextlib.contextmanager
def _long_fields() -> Iterator[None]:
    previous = csv.field_size_limit(MAX_FIELD)
    try:
        yield
    finally:
        csv.field_size_limit(previous)


def _refuse_foreign(file: str, content: bytes) -> None:
    for mark, (name, fix) in FOREIGN.items():
        if content.startswith(mark):
            advice = [fix.format(file=shlex.quote(file))]
            raise HeadraceError(
                "HR-DATA-030", f"{file} is a {name} file", [f"it starts with {mark!r}"], "CSV text", advice
            )
    if content.startswith(UTF16_MARKS):
        raise HeadraceError(
            "HR-DATA-006", f"{file} is UTF-16", ["its byte order mark"], "UTF-8", _iconv(file, "UTF-16")
        )


def _refuse_delimiter(file: str, header: Sequence[str], delimiter: str) -> None:
    if len(header) != 1:
        return
    counts = {other: header[0].count(other) for other in DELIMITERS if other != delimiter}
    likely = max(counts, key=counts.get)
    if counts[likely]:
        shown = "$'\\t'" if likely == "\t" else f"'{likely}'"
        what = f"{file} is not separated by {delimiter!r}: {DELIMITERS[likely]} is the likely delimiter"
        seen = [f"one column named {bounded(header[0], 80)!r}"]
        expected = f"{counts[likely] + 1} columns"
        raise HeadraceError("HR-DATA-005", what, seen, expected, [f"--set data.delimiter={shown}"])


def _not_utf8(file: str, content: bytes, delimiter: str) -> HeadraceError:
    seen, codes, header, first = [], set(), [], 0
    for line, fields, text in _records(content, delimiter):
        header = header or fields
        found = NOT_UTF8.findall(text)
        codes.update(ord(char) - SURROGATE for char in found)
        if found:
            first = first or line
            position = next((index for index, field in enumerate(fields) if NOT_UTF8.search(field)), 0)
            name = repr(_as_windows(header[position])) if position < len(header) else position + 1
            value = bounded(_as_windows(fields[position]), SNIPPET_CHARS)
            seen.append(f"{file}:{line} column {name}: byte 0x{ord(found[0]) - SURROGATE:02X} in {value!r}")
    encoding = "WINDOWS-1252" if any(0x80 <= code <= 0x9F for code in codes) else "ISO-8859-1"
    what = f"{file}:{first} is not UTF-8; it looks like {encoding}"
    return HeadraceError("HR-DATA-006", what, seen, "UTF-8, with or without a byte order mark", _iconv(file, encoding))


def _as_windows(text: str) -> str:
    return text.encode("utf-8", "surrogateescape").decode("cp1252", "replace")


def _iconv(file: str, encoding: str) -> list[str]:
    target = f"{file.removesuffix('.csv')}-utf8.csv"
    return [
        f"iconv -f {encoding} -t UTF-8 {shlex.quote(file)} > {shlex.quote(target)}",
        f"--set data.path={shlex.quote(target)}",
    ]


def _after(header: Sequence[str], position: int) -> str:
    return f", after {header[position - 2]!r}" if position > 1 else ""
