"""Real database servers for ML Metadata, started on a free loopback port in a folder of the test's own."""

from __future__ import annotations

import contextlib
import glob
import os
import pwd
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

STARTS_WITHIN_S = 60
PASSWORD = "a secret: 'quoted' & more"


@dataclass(frozen=True)
class Database:
    """A running server, as the steps are told of it."""

    backend: str
    port: int
    user: str = "headrace"
    database: str = "headrace"

    def environ(self, **changed: str) -> dict[str, str]:
        """Return the variables of a pod, with changes such as PASSWORD="wrong"."""
        values = {
            "BACKEND": self.backend,
            "HOST": "127.0.0.1",
            "PORT": str(self.port),
            "DATABASE": self.database,
            "USER": self.user,
            "PASSWORD": PASSWORD,
        }
        return {f"HEADRACE_METADATA_{name}": value for name, value in {**values, **changed}.items()}

    def overrides(self) -> list[str]:
        """Return the configuration that a pipeline is compiled with."""
        return [
            f"kubernetes.metadata={{backend: {self.backend}, host: 127.0.0.1, port: {self.port},"
            f" database: {self.database}, secret: headrace-metadata}}"
        ]

    def secrets(self) -> dict[str, dict[str, str]]:
        """Return the secret that the compiled pipeline names."""
        return {"headrace-metadata": {"username": self.user, "password": PASSWORD}}


def missing(backend: str) -> str:
    """Say which Debian package a test lacks, or nothing."""
    if backend == "mysql":
        return "" if _mariadbd() else "needs mariadb-server"
    return "" if _postgres("initdb") else "needs postgresql"


@contextlib.contextmanager
def server(backend: str, folder: Path) -> Iterator[Database]:
    """Run a server with an empty database and a user for it."""
    with mariadb(folder) if backend == "mysql" else postgresql(folder) as database:
        yield database


@contextlib.contextmanager
def mariadb(folder: Path) -> Iterator[Database]:
    """Run MariaDB."""
    data, port, owner = folder / "data", _free_port(), _unprivileged("mysql")
    _own(folder, owner)
    as_owner = {"user": owner} if owner else {}
    subprocess.run(
        ["mariadb-install-db", "--no-defaults", f"--datadir={data}", "--auth-root-authentication-method=normal"],
        check=True,
        capture_output=True,
        **as_owner,
    )
    command = [_mariadbd(), "--no-defaults", f"--datadir={data}", f"--socket={folder}/s", f"--port={port}"]
    log = open(folder / "log", "w")  # noqa: SIM115 the server's, for as long as it runs
    process = subprocess.Popen(
        [*command, "--bind-address=127.0.0.1", f"--pid-file={folder}/pid"], stdout=log, stderr=log, **as_owner
    )
    client = ["mariadb", "--no-defaults", f"--socket={folder}/s", "-uroot"]
    quoted = PASSWORD.replace("'", "''")
    try:
        _until(lambda: subprocess.run([*client, "-e", "SELECT 1"], capture_output=True).returncode == 0, folder)
        for sql in (
            "CREATE DATABASE headrace",
            f"CREATE USER headrace@'%' IDENTIFIED BY '{quoted}'",
            "GRANT ALL ON headrace.* TO headrace@'%'",
            "DELETE FROM mysql.global_priv WHERE User = ''",
            "FLUSH PRIVILEGES",
        ):
            subprocess.run([*client, "-e", sql], check=True, capture_output=True)
        yield Database("mysql", port)
    finally:
        _end(process)
        log.close()


@contextlib.contextmanager
def postgresql(folder: Path) -> Iterator[Database]:
    """Run PostgreSQL."""
    data, port, owner = folder / "data", _free_port(), _unprivileged("postgres")
    _own(folder, owner)
    as_owner = {"user": owner} if owner else {}
    (folder / "password").write_text(PASSWORD)
    _own(folder / "password", owner)
    subprocess.run(
        [_postgres("initdb"), "-D", str(data), "-U", "admin", "-A", "scram-sha-256", f"--pwfile={folder}/password"],
        check=True,
        capture_output=True,
        **as_owner,
    )
    log = open(folder / "log", "w")  # noqa: SIM115 the server's, for as long as it runs
    process = subprocess.Popen(
        [_postgres("postgres"), "-D", str(data), "-p", str(port), "-h", "127.0.0.1", "-k", str(folder)],
        stdout=log,
        stderr=log,
        **as_owner,
    )
    environ = {**os.environ, "PGPASSWORD": PASSWORD}
    client = [_postgres("psql"), "-h", "127.0.0.1", "-p", str(port), "-U", "admin", "-d", "postgres", "-c"]
    try:
        ask = [*client, "SELECT 1"]
        _until(lambda: subprocess.run(ask, capture_output=True, env=environ).returncode == 0, folder)
        quoted = PASSWORD.replace("'", "''")
        for sql in (f"CREATE ROLE headrace LOGIN PASSWORD '{quoted}'", "CREATE DATABASE headrace OWNER headrace"):
            subprocess.run([*client, sql], check=True, capture_output=True, env=environ)
        yield Database("postgresql", port)
    finally:
        _end(process)
        log.close()


def _mariadbd() -> str:
    return shutil.which("mariadbd") or next((p for p in ("/usr/sbin/mariadbd",) if os.path.exists(p)), "")


def _postgres(program: str) -> str:
    found = sorted(glob.glob(f"/usr/lib/postgresql/*/bin/{program}"))
    return found[-1] if found else shutil.which(program) or ""


def _unprivileged(name: str) -> str:
    """Return the account that a server runs as when the tests run as root, which both servers refuse."""
    if os.getuid() != 0:
        return ""
    try:
        return pwd.getpwnam(name).pw_name
    except KeyError:
        return "nobody"


def _own(path: Path, owner: str) -> None:
    path.mkdir(parents=True, exist_ok=True) if not path.exists() else None
    if owner:
        shutil.chown(path, owner)
        for parent in path.parents:  # pytest's folders are closed to others
            if parent.stat().st_uid == 0 and str(parent).startswith("/tmp/"):
                parent.chmod(parent.stat().st_mode | 0o055)


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def _until(ready, folder: Path) -> None:
    ends = time.monotonic() + STARTS_WITHIN_S
    while time.monotonic() < ends:
        if ready():
            return
        time.sleep(0.1)
    raise AssertionError(f"the server does not start: {(folder / 'log').read_text()[-2000:]}")


def _end(process: subprocess.Popen) -> None:
    process.terminate()
    try:
        process.wait(20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
