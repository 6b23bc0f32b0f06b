"""What a task leaves on disk: records of finished nodes, runs, and the lock that keeps two runs apart.

    runs/<task>/lock              held by the run in progress
    runs/<task>/records/<node>/<key>.json     one finished node: its parts, outputs and summary
    runs/<task>/<run id>/run.json             one run, rewritten whole after each node
    runs/<task>/metadata.sqlite, artifacts/   ML Metadata and the artifacts
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

from components.digest import tree_files
from pipeline.errors import HeadraceError
from pipeline.nodes import BY_ID
from pipeline.system_errors import translate_os_error

RUN_FILE = "run.json"


class Store:
    """The folder `<root>/<task>`."""

    def __init__(self, root: str, task: str):
        """Open the folder; nothing is created before `locked`."""
        self.dir = Path(root).absolute() / task

    @contextlib.contextmanager
    def locked(self, on_wait) -> Iterator[None]:
        """Hold the task's lock. `on_wait(pid)` is called once when another run holds it; the wait has no limit."""
        import filelock

        try:
            self.dir.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise translate_os_error(error, str(self.dir)) from error
        owner = self.dir / "lock.pid"
        lock = filelock.FileLock(self.dir / "lock")
        try:
            lock.acquire(timeout=0.05)
        except filelock.Timeout:
            on_wait(owner.read_text() if owner.exists() else "?")
            lock.acquire()
        except OSError as error:
            raise translate_os_error(error, str(self.dir)) from error
        try:
            write_json(owner, os.getpid())
            yield
        finally:
            owner.unlink(missing_ok=True)
            lock.release()

    def new_run(self) -> str:
        """Create and return the id of a new run, such as `2026-11-30-153000`."""
        stamp = datetime.now().strftime("%Y-%m-%d-%H%M%S")
        for number in range(1, 1000):
            run_id = stamp if number == 1 else f"{stamp}-{number}"
            with contextlib.suppress(FileExistsError):
                (self.dir / run_id).mkdir()
                return run_id
        raise AssertionError("a thousand runs in one second")

    def save_run(self, run: dict) -> None:
        """Write run.json, whole or not at all."""
        write_json(self.dir / run["run_id"] / RUN_FILE, run)

    def runs(self) -> list[dict]:
        """Return all runs, oldest first; one whose process is gone reads as interrupted."""
        found = []
        for path in sorted(self.dir.glob(f"*/{RUN_FILE}")):
            run = read_json(path)
            if run:
                if run["status"] == "running" and not _alive(run["pid"]):
                    run["status"] = "interrupted"
                found.append(run)
        return found

    def run(self, run_id: str | None = None) -> dict:
        """Return one run, the latest without an id.

        Raises:
            HeadraceError: HR-CLI-003.
        """
        runs = self.runs()
        matching = [run for run in runs if run_id is None or run["run_id"].startswith(run_id)]
        if not matching:
            raise HeadraceError(
                "HR-CLI-003",
                f"{self.dir.name} has no run {run_id}" if run_id else f"{self.dir.name} has no runs yet",
                seen=[f"runs: {', '.join(run['run_id'] for run in runs[-5:]) or 'none'}"],
                fix=[f"headrace runs {self.dir.name}", f"headrace run {self.dir.name}"],
            )
        return matching[-1]

    def mark_interrupted(self) -> None:
        """Under the lock: a run that still reads as running was killed."""
        for path in self.dir.glob(f"*/{RUN_FILE}"):
            run = read_json(path)
            if run and run["status"] == "running":
                for node in run["nodes"]:
                    node["status"] = "interrupted" if node["status"] == "running" else node["status"]
                write_json(path, {**run, "status": "interrupted"})

    def record(self, node_id: str, key: str) -> dict | None:
        """Return the record of a finished node if its outputs are still there as they were."""
        record = read_json(self._record_path(node_id, key))
        return record if record and self._holds(node_id, record) else None

    def records(self, node_id: str) -> list[dict]:
        """Return every record of a node that still holds, oldest first."""
        found = [read_json(path) for path in (self.dir / "records" / node_id).glob("*.json")]
        held = [record for record in found if record and self._holds(node_id, record)]
        return sorted(held, key=lambda record: record["finished_s"])

    def save_record(self, node_id: str, record: dict) -> None:
        """Write a record; from then on the node counts as done."""
        for output in record["outputs"].values():
            output["files"] = _listing(output["uri"])
        write_json(self._record_path(node_id, record["key"]), {**record, "finished_s": time.time()})

    def forget(self, node_id: str, key: str) -> None:
        """Drop a record."""
        self._record_path(node_id, key).unlink(missing_ok=True)

    def sweep(self) -> None:
        """Under the lock: delete artifacts that no record names, and records whose ML Metadata store is gone."""
        if not (self.dir / "metadata.sqlite").exists():
            shutil.rmtree(self.dir / "records", ignore_errors=True)
        kept = {
            os.path.realpath(output["uri"])
            for path in (self.dir / "records").glob("*/*.json")
            for output in (read_json(path) or {"outputs": {}})["outputs"].values()
        }
        for folder in (self.dir / "artifacts").glob("*/*/*"):
            if folder.is_dir() and folder.parent.name != ".system" and os.path.realpath(folder) not in kept:
                shutil.rmtree(folder, ignore_errors=True)

    def remembered_digests(self) -> dict[str, list]:
        """Return the digests of source files by path, size and time."""
        return read_json(self.dir / "digests.json") or {}

    def remember_digests(self, digests: dict[str, list]) -> None:
        """Keep the digests of source files."""
        write_json(self.dir / "digests.json", digests)

    def _record_path(self, node_id: str, key: str) -> Path:
        return self.dir / "records" / node_id / f"{key}.json"

    def _holds(self, node_id: str, record: dict) -> bool:
        outside = BY_ID[node_id].must_exist
        path = record["summary"].get(outside) if outside else None
        if path and not os.path.exists(path):
            return False
        return all(_listing(output["uri"]) == output["files"] for output in record["outputs"].values())


def read_json(path: Path):
    """Return a JSON file's value, or None when it is missing or was not written whole."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, json.JSONDecodeError):
        return None


def write_json(path: Path, value) -> None:
    """Write a JSON file, whole or not at all.

    Raises:
        HeadraceError: of the system family when the disk is full or read-only.
    """
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(partial, "w", encoding="utf-8") as file:
            json.dump(value, file, ensure_ascii=False, indent=1)
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, path)
    except OSError as error:
        with contextlib.suppress(OSError):
            partial.unlink(missing_ok=True)
        raise translate_os_error(error, str(path)) from error


def _listing(uri: str) -> list:
    if not os.path.isdir(uri):
        return []
    return [[name, os.path.getsize(os.path.join(uri, name))] for name in tree_files(uri)]


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
