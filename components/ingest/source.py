"""The input files: found, opened, and named again when a row is at fault."""

from __future__ import annotations

import difflib
import os
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pipeline.errors import HeadraceError
from pipeline.system_errors import coded_os_errors

if TYPE_CHECKING:
    import pyarrow as pa

SUFFIXES = {"csv": (".csv", ".tsv", ".txt"), "parquet": (".parquet", ".pq")}
IMAGE_SUFFIXES = (".png", ".jpg", ".jpeg")

Places = Callable[[Sequence[int]], list[str]]
"""Names rows (counted from 0 over all files, ascending) as a person finds them, such as `flights.csv:18`."""


@dataclass(frozen=True)
class Source:
    """Typed rows and where they come from.

    Args:
        table: int64, float32 or binary columns; a missing value is null.
        places: names rows.
        size_bytes: size of the files that were read.
    """

    table: pa.Table
    places: Places
    size_bytes: int


def find_files(path: str, kind: str) -> list[str]:
    """Return the file itself, or the files of a folder by name, hidden ones left out.

    Args:
        path: file or folder.
        kind: `csv` or `parquet`.

    Raises: HR-DATA-001 (not found), HR-DATA-002 (folder without such files), HR-SYS-002 (no permission).
    """
    require_path(path)
    if not os.path.isdir(path):
        return [path]
    with coded_os_errors(path):
        names = sorted(name for name in os.listdir(path) if not name.startswith("."))
    files = [os.path.join(path, name) for name in names if name.lower().endswith(SUFFIXES[kind])]
    if not files:
        expected = f"files that end in {', '.join(SUFFIXES[kind])}"
        fix = [f"--set data.format={other}" for other in _formats_of(path, names) if other != kind]
        fix = fix or ["name the file or the right folder:  --set data.path=PATH"]
        raise HeadraceError("HR-DATA-002", f"{path} holds no {kind} files", names or ["an empty folder"], expected, fix)
    return files


def require_path(path: str) -> None:
    """Check that the path exists.

    Raises: HR-DATA-001, HR-SYS-002 when a folder on the way may not be searched.
    """
    with coded_os_errors(path):
        try:
            os.stat(path)
        except (FileNotFoundError, NotADirectoryError):
            raise _not_found(path) from None


def row_locator(files: Sequence[tuple[str, int]]) -> Callable[[Sequence[int]], list[tuple[str, int]]]:
    """Return a function from rows over all files to (file, row in that file).

    Args:
        files: path and number of rows of each file, in the order in which they were read.
    """

    def locate(rows: Sequence[int]) -> list[tuple[str, int]]:
        found = []
        for row in rows:
            for path, count in files:
                if row < count:
                    found.append((path, row))
                    break
                row -= count
        return found

    return locate


def _not_found(path: str) -> HeadraceError:
    folder = os.path.dirname(path) or "."
    there = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
    near = difflib.get_close_matches(os.path.basename(path), there, 3)
    seen = [f"{folder} holds {name}" for name in near or there[:3]] or [f"there is no folder {folder}"]
    fix = [f"--set data.path={shlex.quote(os.path.join(folder, name))}" for name in near[:1]]
    fix += ["headrace data   lists the example data sets and fetches them"]
    return HeadraceError(
        "HR-DATA-001", f"{path} does not exist", seen, f"a file or folder, seen from {os.getcwd()}", fix
    )


def _formats_of(path: str, names: Sequence[str]) -> list[str]:
    found = [kind for kind, ends in SUFFIXES.items() if any(name.lower().endswith(ends) for name in names)]
    folders = [name for name in names if os.path.isdir(os.path.join(path, name))]
    if any(
        file.lower().endswith(IMAGE_SUFFIXES) for name in folders[:3] for file in os.listdir(os.path.join(path, name))
    ):
        found.append("images")
    return found
