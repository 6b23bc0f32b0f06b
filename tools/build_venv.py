"""Builds .venv from the lock of the stack that fits this machine.

Idempotent; an interrupted build is redone, never used. Standard library only, Python 3.9 or newer: `tools/setup` runs
it before there is a virtual environment.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import queue
import re
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

from pipeline import __version__
from pipeline.errors import HeadraceError
from tools.machine import read_glibc, read_machine
from tools.stack import Choice, dotted, pick

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
TOOLS = ROOT / ".tools"
LOG = TOOLS / "setup.log"
STAMP = "headrace-stack.json"
NEEDED_BYTES = 4 * 1024**3  # .venv is 3.0 GB on both stacks; the rest is what uv fetches first
QUIET_S = 15  # a log file gets a sign of life this often


def main() -> int:
    """Set up, or see that it is done. Returns the exit code."""
    started = time.monotonic()
    TOOLS.mkdir(exist_ok=True)
    with (TOOLS / "lock").open("w") as lock:
        wait_for_turn(lock)
        if stamp := finished_stamp(VENV):
            say("setup", f"stack {stamp['stack']}, Python {stamp['python']}: .venv is up to date")
            return 0
        try:
            choice = pick(read_machine())
            say("stack", f"{choice.stack.name}: {choice.why}")
            build(choice)
        except HeadraceError as error:
            print(error, file=sys.stderr)
            return error.exit_code
        except KeyboardInterrupt:
            print("\ninterrupted; nothing half-built will be used. Again: make setup", file=sys.stderr)
            return 130
    say("ready", ".venv", time.monotonic() - started)
    return 0


def wait_for_turn(lock) -> None:
    """Hold `lock` for this process and its children: an installer that outlives a killed set-up still writes."""
    os.set_inheritable(lock.fileno(), True)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        say("setup", "waiting for another set-up of this folder to end")
        fcntl.flock(lock, fcntl.LOCK_EX)


def finished_stamp(venv: Path) -> dict | None:
    """Return what `venv` was built from, or None when it is unfinished or was built from something else."""
    try:
        stamp = json.loads((venv / STAMP).read_text())
        same = stamp["fingerprint"] == fingerprint(stamp["stack"], stamp["python_path"])
    except (OSError, ValueError, KeyError):
        return None
    whole = (venv / "bin" / "python").exists() and (venv / "bin" / "headrace").exists()
    return stamp if same and whole else None


def fingerprint(stack: str, python_path: str) -> str:
    """Hash all that .venv depends on, its own place included: the scripts in it carry absolute paths."""
    digest = hashlib.sha256(json.dumps([str(ROOT), python_path, read_glibc()]).encode())
    for name in (f"requirements/{stack}.lock", "requirements/build.lock", "requirements/uv.lock", "setup.py"):
        digest.update((ROOT / name).read_bytes())
    return digest.hexdigest()


def build(choice: Choice) -> None:
    """Build .venv anew and stamp it last.

    Raises:
        HeadraceError: HR-SETUP-004 a package cannot be installed, HR-SETUP-005 the disk is too full.
    """
    require_space(ROOT)
    LOG.write_text("")
    lock = ROOT / "requirements" / f"{choice.stack.name}.lock"
    uv = install_uv(choice.python.path)
    environ = {**os.environ, **index_settings(TOOLS / "venv" / "bin" / "pip"), "UV_NO_PROGRESS": "1"}
    shutil.rmtree(VENV, ignore_errors=True)
    run("packages", "a new .venv", [uv, "venv", "--quiet", "--python", choice.python.path, VENV], environ)
    into = [uv, "pip", "install", "--python", VENV / "bin" / "python"]
    count = len(re.findall(r"(?m)^[a-z0-9]", lock.read_text()))
    run(
        "packages",
        f"{count} pinned in requirements/{lock.name}, every hash checked",
        [*into, "--require-hashes", "--build-constraints", ROOT / "requirements" / "build.lock", "-r", lock],
        environ,
    )
    run(
        "project",
        f"headrace {__version__}, editable",
        [*into, "--offline", "--no-deps", "--no-build-isolation", "--editable", ROOT],
        environ,
    )
    write_stamp(choice)


def write_stamp(choice: Choice) -> None:
    """Mark .venv as whole, in one step."""
    stamp = {
        "stack": choice.stack.name,
        "python": dotted(choice.python.version),
        "python_path": choice.python.path,
        "glibc": dotted(read_glibc()),
        "fingerprint": fingerprint(choice.stack.name, choice.python.path),
    }
    part = VENV / f"{STAMP}.part"
    part.write_text(json.dumps(stamp, indent=1) + "\n")
    part.replace(VENV / STAMP)


def require_space(folder: Path, needed_bytes: int = NEEDED_BYTES) -> None:
    """Raise HR-SETUP-005 unless .venv fits on the disk. What the old .venv holds counts as free."""
    free = shutil.disk_usage(folder).free
    if free < needed_bytes and not VENV.exists():
        raise HeadraceError(
            "HR-SETUP-005",
            "the disk is too full for .venv",
            seen=[f"{free / 1e9:.1f} GB free at {folder}"],
            expected=f"{needed_bytes / 1e9:.1f} GB",
            fix=["free some space, then  make setup"],
        )


def install_uv(python: str) -> Path:
    """Return uv, installed by pip from requirements/uv.lock into .tools/venv unless it is there already."""
    lock, folder = ROOT / "requirements" / "uv.lock", TOOLS / "venv"
    stamp, uv = folder / "installed.lock", folder / "bin" / "uv"
    if stamp.exists() and stamp.read_text() == lock.read_text() and (folder / "bin" / "python").exists():
        return uv
    shutil.rmtree(folder, ignore_errors=True)
    run("tools", "a venv for the installer", [python, "-m", "venv", folder], os.environ)
    pip = [folder / "bin" / "python", "-m", "pip", "install", "--disable-pip-version-check", "--no-input"]
    options = ["--require-hashes", "--only-binary", ":all:", "-r", lock]
    run("tools", f"{lock.read_text().split()[0].replace('==', ' ')} in .tools/venv", [*pip, *options], os.environ)
    stamp.write_text(lock.read_text())
    return uv


def index_settings(pip: Path) -> dict:
    """Return a mirror and a CA bundle set for pip as uv's variables: uv reads none of pip's settings."""
    listed = subprocess.run([str(pip), "config", "list"], capture_output=True, text=True, check=False).stdout
    settings = dict(re.findall(r"(?m)^\S*?\.(index-url|cert)='(.*)'$", listed))
    names = {"index-url": "UV_DEFAULT_INDEX", "cert": "SSL_CERT_FILE"}
    return {names[key]: value for key, value in settings.items() if names[key] not in os.environ}


def run(label: str, what: str, command: list, environ) -> None:
    """Run `command`, show its latest line while it works, and its last lines when it fails."""
    started = time.monotonic()
    streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    command = [str(part) for part in command]
    with subprocess.Popen(command, env=environ, cwd=ROOT, close_fds=False, **streams) as process:
        try:
            lines = follow(process, label, what, started)
        except BaseException:
            process.kill()
            raise
    if process.returncode:
        raise HeadraceError(
            "HR-SETUP-004",
            f"{label}: {what}: the installer stopped",
            seen=[line for line in lines if not line.startswith((" ", "WARNING: Retrying"))][-5:],
            expected="the package index is reachable and serves the locked files",
            fix=["make setup   (what was fetched is kept)", f"all it said: {LOG.relative_to(ROOT)}"],
        )
    say(label, what, time.monotonic() - started)


def follow(process: subprocess.Popen, label: str, what: str, started: float) -> list:
    """Return all lines that `process` prints, with a live line on a terminal and a sign of life in a log."""
    lines, pending = [], queue.Queue()

    def read() -> None:
        for line in process.stdout:
            pending.put(line.rstrip())
        pending.put(None)

    threading.Thread(target=read, daemon=True).start()
    live, told = sys.stdout.isatty(), started
    with LOG.open("a") as log:
        while True:
            try:
                line = pending.get(timeout=0.5)
            except queue.Empty:
                line = ""
            if line is None:
                return lines
            if line:
                lines.append(line)
                print(line, file=log, flush=True)
            now = time.monotonic()
            latest = lines[-1].strip().split(" (from")[0] if lines else what
            if live:
                print(f"\r\033[K  {label:<10} {latest[:60]:<60} {now - started:6.1f} s", end="", flush=True)
            elif now - told >= QUIET_S:
                told = now
                say(label, f"… {latest[:60]}", now - started)


def say(label: str, text: str, seconds: float | None = None) -> None:
    """Print one line of progress, over the live one if there is one."""
    start = "\r\033[K" if sys.stdout.isatty() else ""
    took = "" if seconds is None else f" {seconds:6.1f} s"
    print(f"{start}  {label:<10} {text:<60}{took}".rstrip(), flush=True)


if __name__ == "__main__":
    sys.exit(main())
