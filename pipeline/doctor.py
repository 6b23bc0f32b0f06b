"""What this machine has and lacks for headrace: stack, versions, accelerators, optional programs."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

from pipeline.stack import stack

# program -> what it is for, how to get it
PROGRAMS = {
    "chromium": ("looks at reports in the tests", "apt-get install chromium"),
    "edgetpu_compiler": ("compiles int8 models for the Edge TPU", "from Coral's own package index; Debian has none"),
    "tensorflow_model_server": ("serves in production", "the tensorflow/serving image; `headrace serve` stands in locally"),
    "docker": ("builds the image of the current stack", "apt-get install docker.io"),
    "kubectl": ("talks to a cluster", "your cluster's documentation"),
}


def examine() -> dict:
    """Return what was found: {"stack", "cpus", "memory_bytes", "accelerators", "programs", "checks"}."""
    found = stack()
    return {
        "stack": {**found, "executable": sys.executable},
        "cpus": len(os.sched_getaffinity(0)),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "accelerators": accelerators(),
        "programs": [
            {"name": name, "path": shutil.which(name), "purpose": purpose, "get": get}
            for name, (purpose, get) in PROGRAMS.items()
        ],
        "checks": _checks(found),
    }


def accelerators() -> list[str]:
    """Return the GPUs that the NVIDIA driver lists and the TPU devices of this machine, by name."""
    found = []
    if shutil.which("nvidia-smi"):
        listed = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, timeout=20, check=False)
        found += [line.strip() for line in listed.stdout.splitlines() if line.strip()]
    found += [f"TPU {path}" for path in ("/dev/accel0", "/dev/vfio/0") if os.path.exists(path)]
    return found


def _checks(found: dict[str, str]) -> list[dict]:
    free = shutil.disk_usage(".").free
    return [
        {"name": "TensorFlow", "ok": found["tensorflow"] != "missing", "detail": found["tensorflow"]},
        {"name": "TFX", "ok": found["tfx"] != "missing", "detail": found["tfx"]},
        {"name": "disk", "ok": free > 2 << 30, "detail": f"{free / 2**30:.1f} GiB free here; a run of flights takes 0.5 GiB"},
        {"name": "writable", "ok": os.access(".", os.W_OK), "detail": os.getcwd()},
    ]
