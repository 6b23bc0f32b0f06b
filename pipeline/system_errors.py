"""Faults of the operating system as coded errors: disk full, permission, read-only, too many open files."""

from __future__ import annotations

import contextlib
import errno
import os
import re
from collections.abc import Iterator

from pipeline.errors import HeadraceError

CODE_OF_ERRNO = {
    errno.ENOSPC: "HR-SYS-001",
    errno.EDQUOT: "HR-SYS-001",
    errno.EFBIG: "HR-SYS-001",
    errno.EACCES: "HR-SYS-002",
    errno.EPERM: "HR-SYS-002",
    errno.EROFS: "HR-SYS-003",
    errno.EMFILE: "HR-SYS-004",
    errno.ENFILE: "HR-SYS-004",
}
# TensorFlow and Arrow raise their own types, whose text carries the operating system's words.
ERRNO_OF_TEXT = {os.strerror(number).lower(): number for number in CODE_OF_ERRNO}
# They cut off strerror's words at times, as in "PERMISSION_DENIED: /out/x".
ERRNO_OF_TEXT |= {"permission_denied": errno.EACCES}


def translate_os_error(exc: BaseException, path: str | os.PathLike) -> HeadraceError:
    """Return the coded error for an `OSError`, or for a TensorFlow or Arrow error that wraps one.

    `path` names the file or folder when the exception does not.
    """
    named = getattr(exc, "filename", None) or path
    where = os.fsdecode(named) if isinstance(named, (str, bytes, os.PathLike)) else str(path)
    code = CODE_OF_ERRNO.get(errno_of(exc), "HR-SYS-005")
    what, expected, fix = _ADVICE[code](where)
    return HeadraceError(code, what, [f"{type(exc).__name__}: {exc}"], expected, fix)


def errno_of(exc: BaseException) -> int | None:
    """Return the errno that the exception carries, or the one that its text names."""
    number = getattr(exc, "errno", None)
    if isinstance(number, int):
        return number
    text = str(exc).lower()
    return next(
        (number for words, number in ERRNO_OF_TEXT.items() if re.search(rf"\b{re.escape(words)}\b", text)), None
    )


@contextlib.contextmanager
def coded_os_errors(path: str | os.PathLike) -> Iterator[None]:
    """Raise faults of the operating system inside the block as coded errors.

    Raises: HR-SYS-001 to HR-SYS-005.
    """
    try:
        yield
    except HeadraceError:
        raise
    except OSError as exc:
        raise translate_os_error(exc, path) from exc
    except Exception as exc:
        if errno_of(exc) in CODE_OF_ERRNO:
            raise translate_os_error(exc, path) from exc
        raise


def _nearest_folder(path: str) -> str:
    folder = os.path.abspath(path)
    while not os.path.isdir(folder):
        folder = os.path.dirname(folder)
    return folder


def _disk_full(path: str) -> tuple[str, str, list[str]]:
    folder = _nearest_folder(path)
    return (
        f"disk full while writing {path}",
        "free space",
        [f"df -h {folder}", "headrace clean", "then repeat the command"],
    )


def _no_permission(path: str) -> tuple[str, str, list[str]]:
    folder = _nearest_folder(path)
    return f"no permission for {path}", "a path that this user may use", [f"ls -ld {folder} {path}", "id"]


def _read_only(path: str) -> tuple[str, str, list[str]]:
    fix = [f"findmnt -T {_nearest_folder(path)}", "or write elsewhere:  --set root=FOLDER"]
    return f"{path} is on a read-only file system", "a writable folder", fix


def _too_many_files(path: str) -> tuple[str, str, list[str]]:
    return f"too many open files at {path}", "a higher limit", ["ulimit -n 65536", "then repeat the command"]


def _other(path: str) -> tuple[str, str, list[str]]:
    return f"input or output error at {path}", "", ["look at the system's log (dmesg), then repeat the command"]


_ADVICE = {
    "HR-SYS-001": _disk_full,
    "HR-SYS-002": _no_permission,
    "HR-SYS-003": _read_only,
    "HR-SYS-004": _too_many_files,
    "HR-SYS-005": _other,
}
