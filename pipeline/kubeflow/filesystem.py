"""fsspec's file systems for TFX's own file operations on the pipeline root: folders to make, to list and to remove.

TFX knows gs:// through TensorFlow and s3:// not at all since TensorFlow 2.6; both go through fsspec here.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from tfx.dsl.io import filesystem, filesystem_registry

from pipeline.kubeflow.files import open_store

SCHEMES = ["gs://", "s3://"]


class FsspecFilesystem(filesystem.Filesystem):
    """The operations of `tfx.dsl.io.filesystem.Filesystem`. An object store has no folders: making one is nothing."""

    SUPPORTED_SCHEMES = SCHEMES

    @staticmethod
    def open(name, mode="r"):
        """Open a file."""
        store, path = open_store(name)
        return store.open(path, mode)

    @staticmethod
    def exists(path) -> bool:
        """Say whether a file, or anything below, exists."""
        store, found = open_store(path)
        return store.exists(found)

    @staticmethod
    def isdir(path) -> bool:
        """Say whether anything lies below."""
        store, found = open_store(path)
        return store.isdir(found)

    @staticmethod
    def listdir(path) -> list[str]:
        """Return the names below."""
        store, found = open_store(path)
        return [os.path.basename(name.rstrip("/")) for name in store.ls(found, detail=False)]

    @staticmethod
    def glob(pattern) -> list[str]:
        """Return the addresses that match."""
        store, found = open_store(pattern)
        return [store.unstrip_protocol(path) for path in store.glob(found)]

    @staticmethod
    def makedirs(path) -> None:
        """Do nothing."""

    @staticmethod
    def mkdir(path) -> None:
        """Do nothing."""

    @staticmethod
    def remove(path) -> None:
        """Remove a file."""
        store, found = open_store(path)
        store.rm_file(found)

    @staticmethod
    def rmtree(path) -> None:
        """Remove everything below, if there is anything."""
        store, found = open_store(path)
        if store.exists(found):
            store.rm(found, recursive=True)

    @staticmethod
    def copy(src, dst, overwrite=False) -> None:
        """Copy a file within the store."""
        store, source = open_store(src)
        target = open_store(dst)[1]
        if not overwrite and store.exists(target):
            raise OSError(f"{dst} exists")
        store.cp_file(source, target)

    @staticmethod
    def rename(src, dst, overwrite=False) -> None:
        """Copy, then remove."""
        FsspecFilesystem.copy(src, dst, overwrite)
        FsspecFilesystem.remove(src)

    @staticmethod
    def stat(path):
        """Return what the store says of a file."""
        store, found = open_store(path)
        return store.info(found)

    @staticmethod
    def walk(top, topdown=True, onerror=None) -> Iterator:
        """Yield folders, sub-folders and files as `os.walk` does."""
        store, found = open_store(top)
        yield from store.walk(found, topdown=topdown)


def register() -> None:
    """Let TFX use fsspec for gs:// and s3://."""
    filesystem_registry.DEFAULT_FILESYSTEM_REGISTRY.register(FsspecFilesystem, priority=0)
