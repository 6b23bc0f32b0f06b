"""Which of the two supported stacks runs this process, without importing any of it."""

from __future__ import annotations

import platform
from importlib import metadata


def stack() -> dict[str, str]:
    """Return name and versions: `current` is TFX 1.17 or newer, `compat` the last one for glibc older than 2.39."""
    tfx = _version("tfx")
    return {
        "name": "compat" if tfx.startswith("1.16") else "current",
        "python": platform.python_version(),
        "tfx": tfx,
        "tensorflow": _version("tensorflow"),
        "glibc": platform.libc_ver()[1],
    }


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "missing"
