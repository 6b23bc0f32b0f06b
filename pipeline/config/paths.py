"""Where a task's things lie, from its configuration."""

from __future__ import annotations

import os

from pipeline.config.model import TaskConfig


def task_root(config: TaskConfig) -> str:
    """Return `<root>/<task>`, absolute."""
    return os.path.join(os.path.abspath(config.root), config.name)


def artifacts_dir(config: TaskConfig) -> str:
    """Return the folder of a task's artifacts."""
    return os.path.join(task_root(config), "artifacts")


def metadata_path(config: TaskConfig) -> str:
    """Return the file of a task's ML Metadata store."""
    return os.path.join(task_root(config), "metadata.sqlite")


def serving_dir(config: TaskConfig) -> str:
    """Return the folder of numbered versions that a server watches."""
    return os.path.abspath(config.push.base_dir) if config.push.base_dir else os.path.join(task_root(config), "serving")
