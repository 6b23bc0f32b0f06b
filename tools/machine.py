"""The facts about this machine that decide the stack: C library, Pythons, compiler, distribution."""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

from tools.stack import Interpreter, Machine

NAMES = ("python3", "python3.13", "python3.12", "python3.11")
PROBE_TIMEOUT_S = 20

# Runs under any Python that the machine has, so it must parse everywhere; anything but a plain CPython exits 3.
PROBE = """
import json, os, sys, sysconfig, importlib.util as u
if sys.implementation.name != "cpython" or sysconfig.get_config_var("Py_GIL_DISABLED") or sys.maxsize < 2**32:
    sys.exit(3)
print(json.dumps({
    "path": getattr(sys, "_base_executable", None) or sys.executable,
    "version": list(sys.version_info[:3]),
    "has_venv": bool(u.find_spec("venv") and u.find_spec("ensurepip")),
    "has_headers": os.path.exists(os.path.join(sysconfig.get_paths()["include"], "Python.h")),
}))
"""


def read_machine(environ: Mapping[str, str] = os.environ) -> Machine:
    """Look at this machine."""
    return Machine(
        system=platform.system(),
        processor=platform.machine(),
        glibc=read_glibc(),
        pythons=tuple(find_pythons(environ)),
        compiler=shutil.which(environ.get("CXX", "g++").split()[0], path=environ.get("PATH")),
        distribution=read_distribution(),
        has_apt=shutil.which("apt-get", path="/usr/bin") is not None,
        is_root=os.geteuid() == 0,
    )


def read_glibc() -> tuple | None:
    """Return glibc's version, such as (2, 36); None on musl and others."""
    try:
        text = os.confstr("CS_GNU_LIBC_VERSION") or ""
    except (ValueError, OSError):
        return None
    match = re.fullmatch(r"glibc (\d+)\.(\d+).*", text)
    return (int(match[1]), int(match[2])) if match else None


def read_distribution(path: Path = Path("/etc/os-release")) -> str:
    """Return ID and VERSION_ID of os-release(5), such as `debian-12`; empty where there is no such file."""
    if not path.exists():
        return ""
    pairs = dict(line.split("=", 1) for line in path.read_text().splitlines() if "=" in line)
    return "-".join(pairs.get(key, "").strip("\"'") for key in ("ID", "VERSION_ID"))


def find_pythons(environ: Mapping[str, str] = os.environ) -> Iterator[Interpreter]:
    """Yield each Python once: those of PATH first, then those in pyenv's versions folder, newest first."""
    folders = environ.get("PATH", "").split(os.pathsep)
    # every folder of PATH counts, not the first hit only: a pyenv shim in front often hides a good /usr/bin/python3
    on_path = [Path(folder, name) for name in NAMES for folder in folders if folder]
    seen, pyenv = set(), pyenv_root(environ)
    for path in [*on_path, *pyenv_pythons(pyenv)]:
        if not path.exists():
            continue
        python = probe(path, pyenv)
        if python and os.path.realpath(python.path) not in seen:
            seen.add(os.path.realpath(python.path))
            yield python


def pyenv_root(environ: Mapping[str, str]) -> Path:
    """Return the folder that pyenv keeps its Pythons under."""
    return Path(environ.get("PYENV_ROOT") or Path(environ.get("HOME", "/root"), ".pyenv"))


def pyenv_pythons(root: Path) -> list[Path]:
    """Return the Pythons from 3.10 in pyenv's versions folder, newest first, whatever `pyenv global` says."""
    found = []
    for folder in root.glob("versions/3.*"):
        if (match := re.fullmatch(r"3\.(\d+)\.(\d+)", folder.name)) and int(match[1]) >= 10:
            found.append((int(match[1]), int(match[2]), folder / "bin" / "python3"))
    return [path for _, _, path in sorted(found, reverse=True)]


def probe(path: Path, pyenv: Path) -> Interpreter | None:
    """Ask the Python at `path` what it is; None when it does not run (a hollow shim) or is no plain CPython."""
    try:
        answer = subprocess.run(
            [str(path), "-E", "-S", "-c", PROBE], capture_output=True, text=True, timeout=PROBE_TIMEOUT_S, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    facts = json.loads(answer.stdout)
    source = "pyenv" if pyenv in Path(facts["path"]).parents else "PATH"
    return Interpreter(facts["path"], tuple(facts["version"]), source, facts["has_venv"], facts["has_headers"])
