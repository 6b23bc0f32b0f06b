"""Write one example data set below the data folder: whole or not at all, and only once."""

from __future__ import annotations

import difflib
import json
import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from pipeline.data import digits, flights, mnist
from pipeline.data.archive import Progress, obtain
from pipeline.errors import HeadraceError
from pipeline.system_errors import coded_os_errors

# Each module has RECIPE (raised when what it writes changes), ABOUT (one line), ARCHIVE (None when nothing is
# downloaded), RESULT (the path that a task reads, relative to the data set's folder) and
# build(folder, archive, progress) -> (rows, note).
DATASETS: dict[str, ModuleType] = {"flights": flights, "digits": digits, "mnist": mnist}
NAMES = tuple(DATASETS)
RECORD = ".source.json"
DOWNLOAD_SHARE = 0.5  # of the progress


@dataclass(frozen=True)
class DataResult:
    """What `fetch` left.

    Args:
        path: the CSV file or the folder of class folders.
        rows: rows or images.
        note: one line for a person.
    """

    path: Path
    rows: int
    note: str


def describe(name: str) -> str:
    """Return one line on a data set."""
    return DATASETS[name].ABOUT


def fetch(
    name: str, dest_root: str | os.PathLike = "data", progress: Progress = lambda fraction, note: None
) -> DataResult:
    """Write the data set below `dest_root/<name>`; return at once when it is there.

    Raises: HR-DATA-101 to HR-DATA-107, HR-SYS-00x.
    """
    if name not in DATASETS:
        near = difflib.get_close_matches(name, NAMES, 1)
        fix = [f"headrace data {each}" for each in near or NAMES]
        raise HeadraceError("HR-DATA-103", f"unknown data set {name!r}", [], " ".join(NAMES), fix)
    root = Path(dest_root)
    folder, module = root / name, DATASETS[name]
    if result := _recorded(folder, module):
        return result
    from filelock import FileLock

    with coded_os_errors(folder):
        root.mkdir(parents=True, exist_ok=True)
        with FileLock(root / f".{name}.lock"):
            result = _recorded(folder, module)  # another process may have written it meanwhile
            return result or _write(folder, module, progress)


def _write(folder: Path, module: ModuleType, progress: Progress) -> DataResult:
    _refuse_foreign_files(folder)
    start, archive = 0.0, None
    if module.ARCHIVE:
        start = DOWNLOAD_SHARE
        archive = obtain(module.ARCHIVE, folder.parent / ".archives", lambda share, note: progress(start * share, note))
    partial = folder.with_name(f".{folder.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir()
    try:
        rows, note = module.build(partial, archive, lambda share, note: progress(start + (1 - start) * share, note))
        record = {"recipe": module.RECIPE, "rows": rows, "note": note, "entries": _entries(partial)}
        (partial / RECORD).write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
        old = folder.with_name(f".{folder.name}.old")
        shutil.rmtree(old, ignore_errors=True)
        if folder.exists():
            folder.rename(old)
        partial.rename(folder)
        shutil.rmtree(old, ignore_errors=True)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    progress(1.0, note)
    return DataResult(folder / module.RESULT, rows, note)


def _recorded(folder: Path, module: ModuleType) -> DataResult | None:
    try:
        record = json.loads((folder / RECORD).read_text(encoding="utf-8"))
        if record["recipe"] == module.RECIPE and record["entries"] == _entries(folder):
            return DataResult(folder / module.RESULT, record["rows"], record["note"])
    except (OSError, ValueError, KeyError):
        pass
    return None


def _entries(folder: Path) -> dict[str, int]:
    """Return the size of each file of `folder` in bytes, and the number of files in each sub-folder."""
    with os.scandir(folder) as entries:
        visible = sorted((entry for entry in entries if not entry.name.startswith(".")), key=lambda entry: entry.name)
        return {entry.name: len(os.listdir(entry)) if entry.is_dir() else entry.stat().st_size for entry in visible}


def _refuse_foreign_files(folder: Path) -> None:
    if folder.exists() and not (folder / RECORD).exists() and (seen := sorted(os.listdir(folder))):
        raise HeadraceError(
            "HR-DATA-107",
            f"{folder} holds files that this command did not write",
            seen,
            "no such folder",
            [f"mv {folder} {folder}.mine"],
        )
