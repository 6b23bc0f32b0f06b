"""Delete what runs left."""

from __future__ import annotations

import shutil
from pathlib import Path

from pipeline.config.model import TaskConfig
from pipeline.config.paths import serving_dir, task_root
from pipeline.local.store import Store


def plan(config: TaskConfig, keep_pushed: bool) -> tuple[list[Path], int]:
    """Return the paths to delete and their size in bytes."""
    root, serving = Path(task_root(config)), Path(serving_dir(config))
    paths = [path for path in sorted(root.glob("*")) if path.name != "lock" and not (keep_pushed and path == serving)]
    files = (file for path in paths for file in ([path] if path.is_file() else path.rglob("*")) if file.is_file())
    return paths, sum(file.stat().st_size for file in files)


def remove(config: TaskConfig, paths: list[Path]) -> None:
    """Delete paths while no run is in progress."""
    with Store(config.root, config.name).locked(on_wait=lambda pid: None):
        for path in paths:
            shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
