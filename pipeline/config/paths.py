"""Where a task's things lie, from its configuration."""

from __future__ import annotations

import os

from pipeline.config.model import TaskConfig


def task_root(config: TaskConfig) -> str:
    """Return `<root>/<task>`, absolute; the root may be an address such as s3://bucket/folder."""
    root = config.root if is_url(config.root) else os.path.abspath(config.root)
    return os.path.join(root, config.name)


def is_url(path: str) -> bool:
    """Say whether a path lies in an object store, such as s3://bucket/folder."""
    return "://" in path


def artifacts_dir(config: TaskConfig) -> str:
    """Return the folder of a task's artifacts."""
    return os.path.join(task_root(config), "artifacts")


def metadata_path(config: TaskConfig) -> str:
    """Return the file of a task's ML Metadata store."""
    return os.path.join(task_root(config), "metadata.sqlite")


def serving_dir(config: TaskConfig) -> str:
    """Return the folder of numbered versions that a server watches."""
    return os.path.abspath(config.push.base_dir) if config.push.base_dir else os.path.join(task_root(config), "serving")
