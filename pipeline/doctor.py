"""What this machine has and lacks for headrace: stack, versions, accelerators, optional programs."""

from __future__ import annotations

import os
import shutil

from pipeline.machine import accelerators
from pipeline.stack import stack

FREE_BYTES = 2 << 30

# program -> what it is for, how to get it
PROGRAMS = {
    "chromium": ("looks at reports in the tests", "apt-get install chromium"),
    "edgetpu_compiler": ("compiles int8 models for the Edge TPU", "from Coral's own package index; Debian has none"),
    "tensorflow_model_server": (
        "serves in production",
        "the tensorflow/serving image; `headrace serve` stands in locally",
    ),
    "docker": ("builds the image of the current stack", "apt-get install docker.io"),
    "kubectl": ("talks to a cluster", "your cluster's documentation"),
}


def examine() -> list[dict]:
    """Return what was found: [{"name", "state": "ok|missing|wrong|optional", "found", "fix"}]."""
    found = stack()
    free = shutil.disk_usage(".").free
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    devices = accelerators()
    rows = [
        _row("stack", True, f"{found['name']} (glibc {found['glibc']}, Python {found['python']})"),
        _row("TFX", found["tfx"] != "missing", found["tfx"], "make setup"),
        _row("TensorFlow", found["tensorflow"] != "missing", found["tensorflow"], "make setup"),
        _row("processors", True, f"{len(os.sched_getaffinity(0))} CPUs, {memory / 2**30:.0f} GiB of memory"),
        _row("accelerators", True, ", ".join(devices) or "none: training runs on the CPUs"),
        _row(
            "disk",
            free > FREE_BYTES,
            f"{free / 2**30:.1f} GiB free here",
            "free some space: a run of flights takes 0.5 GiB",
        ),
        _row("folder", os.access(".", os.W_OK), os.getcwd(), "change to a folder that you may write to"),
    ]
    for name, (purpose, get) in PROGRAMS.items():
        path = shutil.which(name)
        state = "ok" if path else "optional"
        rows.append({"name": name, "state": state, "found": path or purpose, "fix": "" if path else get})
    return rows


def _row(name: str, good: bool, found: str, fix: str = "") -> dict:
    return {"name": name, "state": "ok" if good else "wrong", "found": found, "fix": "" if good else fix}
