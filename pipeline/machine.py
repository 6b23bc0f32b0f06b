"""What this machine computes on, without importing TensorFlow."""

from __future__ import annotations

import os
import shutil
import subprocess


def accelerators() -> list[str]:
    """Return the GPUs that the NVIDIA driver lists and the TPU devices of this machine, by name."""
    found = []
    if shutil.which("nvidia-smi"):
        listed = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, timeout=20, check=False)
        found += [line.strip() for line in listed.stdout.splitlines() if line.strip()]
    found += [f"TPU {path}" for path in ("/dev/accel0", "/dev/vfio/0") if os.path.exists(path)]
    return found


def devices() -> str:
    """Return processors and accelerators in words, such as `2 CPUs, no GPU, no TPU`."""
    found = accelerators()
    tpus = sum(name.startswith("TPU") for name in found)
    words = [_counted(len(os.sched_getaffinity(0)), "CPU"), _counted(len(found) - tpus, "GPU"), _counted(tpus, "TPU")]
    return ", ".join(words)


def _counted(number: int, noun: str) -> str:
    return f"{number or 'no'} {noun}{'s' if number > 1 else ''}"
