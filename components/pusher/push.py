"""Pushes a SavedModel as the next numbered version: whole, verified and durable, or not at all."""

from __future__ import annotations

import os
import re
import shutil
from dataclasses import dataclass

import filelock

from components.digest import tree_digest, tree_files
from components.reporting import progress
from pipeline.errors import HeadraceError
from pipeline.system_errors import coded_os_errors

TEMPORARY = ".tmp-"  # model servers look at names that are whole numbers only
LOCK = ".push.lock"
LOCK_TIMEOUT_S = 60.0
BLOCK_BYTES = 1 << 22


@dataclass(frozen=True)
class Pushed:
    """Where the model is served from.

    Args:
        version: number of the version that holds these bytes; None if nothing was ever pushed.
        path: its folder; empty if there is none.
        pushed: whether this call made it.
        reason: why nothing was pushed.
    """

    version: int | None
    path: str
    pushed: bool
    reason: str = ""

    def summary(self) -> dict:
        """Return the node's summary."""
        return {"version": self.version, "path": self.path, "pushed": self.pushed, "reason": self.reason}


def push(model_dir: str, base_dir: str, lock: str | None = None, lock_timeout_s: float = LOCK_TIMEOUT_S) -> Pushed:
    """Copy a SavedModel to `base_dir/<highest version + 1>`, unless the highest version has the same bytes.

    The copy is made in a hidden folder beside the versions, flushed to disk, read back, and renamed. A model server
    sees all of it or nothing; a push killed at any moment leaves only a hidden folder, which the next push removes.

    Args:
        model_dir: folder with `saved_model.pb`.
        base_dir: folder of the numbered versions; made if missing.
        lock: path of the lock file; default `base_dir/.push.lock`.
        lock_timeout_s: how long to wait for another push.

    Raises: HR-PUSH-001 to HR-PUSH-003, HR-SYS-001 to HR-SYS-005.
    """
    require_saved_model(model_dir)
    with coded_os_errors(base_dir):
        os.makedirs(base_dir, exist_ok=True)
        try:
            with filelock.FileLock(lock or os.path.join(base_dir, LOCK), timeout=lock_timeout_s):
                return _push_locked(model_dir, base_dir)
        except filelock.Timeout as error:
            raise HeadraceError(
                "HR-PUSH-001",
                f"another push to {base_dir} is running",
                seen=[f"{error.lock_file} is held for more than {lock_timeout_s:g} s"],
                expected="one push at a time",
                fix=["wait for the other run to end, then run again: everything else is cached"],
            ) from error


def require_saved_model(model_dir: str) -> None:
    """Check that there is something to push. Raises: HR-PUSH-003."""
    if not os.path.isfile(os.path.join(model_dir, "saved_model.pb")):
        raise HeadraceError(
            "HR-PUSH-003",
            f"no SavedModel in {model_dir}",
            seen=["saved_model.pb is missing"],
            expected="a folder that tf.saved_model.save wrote",
            fix=["headrace run TASK --from Trainer"],
        )


def versions(base_dir: str) -> dict[int, str]:
    """Return the folders of the versions by number."""
    names = [name for name in os.listdir(base_dir) if re.fullmatch(r"[0-9]{1,18}", name)]
    return {int(name): os.path.join(base_dir, name) for name in names}


def _push_locked(model_dir: str, base_dir: str) -> Pushed:
    for name in os.listdir(base_dir):
        if name.startswith(TEMPORARY):  # of a push that was killed: whoever holds the lock is alone
            shutil.rmtree(os.path.join(base_dir, name))
    digest = tree_digest(model_dir)
    existing = versions(base_dir)
    newest = max(existing, default=0)
    if existing and tree_digest(existing[newest]) == digest:
        return Pushed(newest, existing[newest], False, f"version {newest} has the same bytes")
    version = newest + 1
    temporary = os.path.join(base_dir, f"{TEMPORARY}{version}")
    path = os.path.join(base_dir, str(version))
    try:
        _copy(model_dir, temporary)
        _verify(temporary, digest)
        os.rename(temporary, path)
        _flush_folder(base_dir)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise
    return Pushed(version, path, True)


def _copy(source: str, target: str) -> None:
    """Copy a folder with every byte and every name on disk before it returns."""
    files = tree_files(source)
    sizes = {name: os.path.getsize(os.path.join(source, name)) for name in files}
    total, done = sum(sizes.values()) or 1, 0
    os.makedirs(target)
    for name in files:
        os.makedirs(os.path.dirname(os.path.join(target, name)), exist_ok=True)
        with open(os.path.join(source, name), "rb") as reading, open(os.path.join(target, name), "xb") as writing:
            shutil.copyfileobj(reading, writing, BLOCK_BYTES)
            writing.flush()
            os.fsync(writing.fileno())
        done += sizes[name]
        progress(done / total, name)
    for folder, _, _ in os.walk(target):
        _flush_folder(folder)


def _flush_folder(path: str) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _verify(folder: str, digest: str) -> None:
    found = tree_digest(folder)
    if found != digest:
        raise differs(found, digest)


def differs(found: str, digest: str) -> HeadraceError:
    """Return HR-PUSH-002: the copy has another digest than the model."""
    return HeadraceError(
        "HR-PUSH-002",
        "the pushed copy differs from the model",
        seen=[f"sha256 {found[:12]} after the copy"],
        expected=f"sha256 {digest[:12]}, as before it",
        fix=["check that nothing else writes to the model, and the disk; then run again"],
    )
