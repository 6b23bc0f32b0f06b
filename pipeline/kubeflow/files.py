"""Files of the pipeline root, wherever it is: a folder of a shared volume, s3:// or gs://, through fsspec."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

from pipeline.config.paths import is_url
from pipeline.errors import HeadraceError, bounded
from pipeline.system_errors import translate_os_error

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem


def open_store(address: str) -> tuple[AbstractFileSystem, str]:
    """Return the file system of an address and the path in it.

    Raises:
        HeadraceError: HR-KFP-024 when fsspec has no such file system.
    """
    import fsspec

    try:
        return fsspec.core.url_to_fs(address, **({"use_listings_cache": False} if is_url(address) else {}))
    except (ValueError, ImportError) as error:
        raise HeadraceError(
            "HR-KFP-024",
            f"{address} cannot be opened",
            seen=[bounded(error)],
            expected="gs://..., s3://... or an absolute folder",
            fix=["set kubernetes.pipeline_root"],
        ) from None


def download(address: str, folder: str) -> None:
    """Copy a file or everything below an address into a folder; a file keeps its name.

    Raises:
        HeadraceError: HR-KFP-025 nothing is there, HR-KFP-026 refused, HR-KFP-027 not reachable, HR-SYS-001 disk full.
    """
    with explained(address):
        store, root = open_store(address)
        files = store.find(root)
        if not files:
            raise FileNotFoundError(address)
        base = os.path.dirname(root) if files == [root] else root
        targets = [os.path.join(folder, os.path.relpath(file, base)) for file in files]
        for target in {os.path.dirname(target) for target in targets}:
            os.makedirs(target, exist_ok=True)
        store.get(files, targets)


def upload(folder: str, address: str) -> None:
    """Copy everything below a folder to an address; what was there before is removed.

    Raises:
        HeadraceError: HR-KFP-026 refused, HR-KFP-027 not reachable.
    """
    with explained(address):
        store, root = open_store(address)
        if store.exists(root):
            store.rm(root, recursive=True)
        found = [os.path.join(parent, name) for parent, _, names in os.walk(folder) for name in names]
        if found:
            store.put(found, [f"{root.rstrip('/')}/{os.path.relpath(path, folder)}" for path in found])


def exists(address: str) -> bool:
    """Say whether something is at an address. Raises: HR-KFP-026, HR-KFP-027."""
    with explained(address):
        store, root = open_store(address)
        return store.exists(root)


def write_bytes(address: str, data: bytes) -> None:
    """Write a file. Raises: HR-KFP-026 refused, HR-KFP-027 not reachable, HR-SYS-001 to 005."""
    with explained(address):
        store, path = open_store(address)
        if not is_url(address):
            store.makedirs(os.path.dirname(path), exist_ok=True)
        store.pipe_file(path, data)


def read_bytes(address: str) -> bytes:
    """Return a file's bytes. Raises: FileNotFoundError, HR-KFP-026, HR-KFP-027."""
    store, path = open_store(address)
    if not store.exists(path):
        raise FileNotFoundError(address)
    with explained(address):
        return store.cat_file(path)


@contextlib.contextmanager
def explained(address: str) -> Iterator[None]:
    """Turn the faults of an object store inside the block into coded errors."""
    try:
        yield
    except HeadraceError:
        raise
    except Exception as error:
        raise _translated(address, error) from error


def _translated(address: str, error: Exception) -> HeadraceError:
    if not is_url(address) and isinstance(error, OSError) and not isinstance(error, FileNotFoundError):
        return translate_os_error(error, address)
    seen = [bounded(f"{type(error).__name__}: {error}", 200)]
    if isinstance(error, FileNotFoundError):
        return HeadraceError(
            "HR-KFP-025",
            f"nothing is at {address}",
            seen=seen,
            expected="the data, or an artifact that an earlier step wrote",
            fix=[
                "look whether a lifecycle rule of the bucket deletes artifacts",
                "data.path is relative to the pipeline root",
            ],
        )
    text = f"{type(error).__name__} {error}".lower()
    if isinstance(error, PermissionError) or any(
        word in text for word in ("credential", "expired", "forbidden", "denied", "403", "401")
    ):
        return HeadraceError(
            "HR-KFP-026",
            f"the store refuses access to {address}",
            seen=seen,
            expected="credentials that are valid now and may read and write there",
            fix=["renew the secret or the workload identity of the service account, then run again"],
        )
    return HeadraceError(
        "HR-KFP-027",
        f"the store of {address} does not answer",
        seen=seen,
        expected="an object store that is reachable from the pod",
        fix=["the step is tried again by itself"],
    )
