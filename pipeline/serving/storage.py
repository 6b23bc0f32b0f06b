"""Version folders, and the models loaded from them: the latest serves, and a newer one replaces it without a gap.

Source: sources/storage_path/file_system_storage_path_source.cc and core/aspired_versions_manager.cc, by behaviour.
"""

from __future__ import annotations

import contextlib
import os
import re
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from pipeline.errors import HeadraceError, bounded
from pipeline.serving.model import LoadedModel
from pipeline.serving.status import Code, ServingError, invalid_argument, not_found

POLL_S = 1.0  # TensorFlow Serving's default of --file_system_poll_wait_seconds
LOAD_ATTEMPTS = 6  # the first and 5 retries, TensorFlow Serving's default; a folder may still be being copied


def version_folders(base_path: str) -> dict[int, str]:
    """Return the folders of a base path that are named as a 64-bit integer, by that integer.

    `00042` is version 42; `.tmp-42` and `42.partial` are none.

    Raises: OSError if the base path cannot be listed.
    """
    found = {}
    for name in sorted(os.listdir(base_path)):
        if re.fullmatch(r"-?[0-9]+", name) and -(2**63) <= int(name) < 2**63:
            found[int(name)] = os.path.join(base_path, name)
    return found


def latest_version(base_path: str) -> str:
    """Return the folder of the highest version.

    Raises: HR-SERVE-002 if there is none.
    """
    try:
        folders = version_folders(base_path)
    except OSError as error:
        raise _nothing_to_serve(base_path, str(error)) from error
    if not folders:
        found = ", ".join(sorted(os.listdir(base_path))) or "nothing"
        raise _nothing_to_serve(base_path, f"found {bounded(found, 120)}")
    return folders[max(folders)]


def _nothing_to_serve(base_path: str, seen: str) -> HeadraceError:
    return HeadraceError(
        "HR-SERVE-002",
        f"no model version under {base_path}",
        seen=[seen],
        expected="a folder named by a whole number, such as 1, that holds a SavedModel",
        fix=["headrace run TASK pushes one"],
    )


@dataclass
class VersionStatus:
    """State of one version as GetModelStatus reports it."""

    version: int
    state: str = "START"
    code: Code = Code.OK
    message: str = ""


@dataclass
class _Version:
    status: VersionStatus
    path: str
    model: LoadedModel | None = None
    requests: int = 0  # in flight
    attempts: int = 0
    folder: tuple = field(default=())  # identity of the folder that the attempts are about


@dataclass(frozen=True)
class Handle:
    """A version that cannot be unloaded while the handle is held."""

    version: int
    model: LoadedModel


class ModelManager:
    """Serves the latest version of one model and follows its base path.

    Args:
        name: model name in requests.
        base_path: folder of version folders.
        say: receives one line for each version that comes, goes or fails.
        load: makes a model of a path.
    """

    def __init__(
        self,
        name: str,
        base_path: str,
        say: Callable[[str], None] = lambda line: None,
        load: Callable[[str], LoadedModel] = LoadedModel,
    ) -> None:
        self.name = name
        self.base_path = base_path
        self._say = say
        self._load = load
        self._versions: dict[int, _Version] = {}
        self._lock = threading.Lock()
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None
        self._base_error = ""

    def load_first(self) -> int:
        """Load the latest version and return its number; called before any port opens.

        Raises: HR-SERVE-002 if there is no version, HR-SERVE-003 if it cannot be loaded.
        """
        path = latest_version(self.base_path)
        number = int(os.path.basename(path))
        self.poll()
        status = self._versions[number].status
        if status.state != "AVAILABLE":
            raise HeadraceError(
                "HR-SERVE-003",
                f"version {number} of {self.name} cannot be loaded",
                seen=[status.message],
                expected=f"a SavedModel with variables and assets in {path}",
                fix=[f"remove {path} to serve the version before it", "headrace run TASK pushes a new version"],
            )
        return number

    def start_polling(self, poll_s: float = POLL_S) -> None:
        """Follow the base path in a thread until `stop`."""

        def follow() -> None:
            while not self._stopped.wait(poll_s):
                self.poll()

        self._thread = threading.Thread(target=follow, name="poll-versions", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop following and unload every version; requests in flight finish first."""
        self._stopped.set()
        if self._thread:
            self._thread.join()
        for number in list(self._versions):
            self._retire(number)

    def poll(self) -> None:
        """Look at the base path once: load the latest version if it is new, then unload the others."""
        try:
            folders = version_folders(self.base_path)
        except OSError as error:
            message = f"Could not find base path {self.base_path} for servable {self.name} with error {error}"
            if message != self._base_error:  # the versions keep serving: storage may be away for a moment
                self._say(message)
            self._base_error = message
            return
        self._base_error = ""
        aspired = max(folders, default=None)
        if aspired is not None and not self._ensure(aspired, folders[aspired]):
            return  # the version before it keeps serving
        for number in [n for n in self._versions if n != aspired]:
            self._retire(number)

    def _ensure(self, number: int, path: str) -> bool:
        """Try to have a version loaded, and say whether it is."""
        with self._lock:
            version = self._versions.setdefault(number, _Version(VersionStatus(number), path))
            if version.status.state == "AVAILABLE":
                return True
            if version.status.state == "UNLOADING":
                return False  # back again while its last requests finish: loaded at a later poll
            folder = _identity(path)
            if folder != version.folder:
                version.folder, version.attempts = folder, 0
            if version.attempts >= LOAD_ATTEMPTS:
                return False
            version.path = path
            version.attempts += 1
            version.status = VersionStatus(number, "LOADING")
        started = time.monotonic()
        try:
            model = self._load(path)
        except ServingError as error:
            self._load_failed(version, error)
            return False
        with self._lock:
            version.model, version.attempts = model, 0
            version.status = VersionStatus(number, "AVAILABLE")
        self._say(f"version {number} serves (loaded in {time.monotonic() - started:.1f} s)")
        return True

    def _load_failed(self, version: _Version, error: ServingError) -> None:
        last = version.attempts >= LOAD_ATTEMPTS
        state = "END" if last else "LOADING"
        version.status = VersionStatus(version.status.version, state, error.code, error.message)
        if version.attempts == 1 or last:
            then = "given up" if last else "trying again"
            self._say(f"version {version.status.version} cannot be loaded, {then}: {bounded(error.message)}")

    def _retire(self, number: int) -> None:
        with self._lock:
            version = self._versions[number]
            if version.status.state != "AVAILABLE":
                return
            version.status = VersionStatus(number, "UNLOADING")
        self._unload_if_idle(version)

    def _unload_if_idle(self, version: _Version) -> None:
        with self._lock:
            if version.requests or version.status.state != "UNLOADING":
                return
            model, version.model, version.folder = version.model, None, ()
            version.status = VersionStatus(version.status.version, "END")
        if model is not None:
            model.close()
        self._say(f"version {version.status.version} unloaded")

    @contextlib.contextmanager
    def acquire(self, name: str, version: int | None = None, label: str | None = None) -> Iterator[Handle]:
        """Hold a version for one request: the named one, or the highest that is available.

        Raises: ServingError INVALID_ARGUMENT for a label or an empty name, NOT_FOUND if nothing fits.
        """
        held = self._hold(name, version, label)
        try:
            yield Handle(held.status.version, held.model)
        finally:
            with self._lock:
                held.requests -= 1
            self._unload_if_idle(held)

    def _hold(self, name: str, version: int | None, label: str | None) -> _Version:
        if not name:
            raise invalid_argument("ModelSpec has no name specified.")
        if label is not None:
            raise invalid_argument(f"Unrecognized servable version label: {label}")
        with self._lock:
            known = self._versions.values() if name == self.name else ()
            fitting = [v for v in known if v.status.state == "AVAILABLE" and version in (None, v.status.version)]
            if not fitting:
                request = f"Latest({name})" if version is None else f"Specific({name}, {version})"
                raise not_found(f"Servable not found for request: {request}")
            held = max(fitting, key=lambda v: v.status.version)
            held.requests += 1
            return held

    def statuses(self, name: str, version: int | None = None) -> list[VersionStatus]:
        """Return the state of every version ever seen, newest first, or of one.

        Raises: ServingError NOT_FOUND if there is none.
        """
        with self._lock:
            known = [v.status for v in self._versions.values()] if name == self.name else []
        if version is None and not known:
            raise not_found(f"Could not find any versions of model {name}")
        chosen = [status for status in known if version in (None, status.version)]
        if not chosen:
            raise not_found(f"Could not find version {version} of model {name}")
        return sorted(chosen, key=lambda status: -status.version)


def _identity(path: str) -> tuple:
    try:
        entry = os.stat(path)
    except OSError:
        return ()
    return (entry.st_ino, entry.st_mtime_ns)
