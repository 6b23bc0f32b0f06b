"""What a step's pod mounts.

Sources: kubeflow/pipelines backend/src/v2/driver/k8s.go extendPodSpecPatch and makeVolumeMountPatch (names of volumes),
backend/src/v2/compiler/argocompiler/container.go (the launcher's own mounts, which a patch with the same path would
replace); kubernetes/kubernetes pkg/apis/core/validation/validation.go ValidateVolumes and ValidateVolumeMounts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

from pipeline.kubeflow.gate.finding import Finding
from pipeline.kubeflow.gate.names import LABEL
from pipeline.kubeflow.gate.quantity import QUANTITY

LAUNCHER_FOLDERS = (
    "/kfp-launcher",
    "/kfp-workspace",
    "/gcs",
    "/s3",
    "/minio",
    "/oci",
    "/.local",
    "/.cache",
    "/.config",
)
SHARED_MEMORY = "/dev/shm"


class _Mount(NamedTuple):
    field: str
    volume: str | None  # None: known only when the step runs
    path: str


def wrong_value(where: str, value: object, expected: str) -> Finding:
    """Return the finding for a field whose value no pod can have."""
    return Finding("platform-value", where, f"{value!r}, expected {expected}")


def constant_name(message: Any, field: str) -> str | None:
    """Return a constant name, by the new field or the old one; None when it is known only when the step runs."""
    parameter = getattr(message, f"{field}_parameter")
    kind = parameter.WhichOneof("kind")
    if kind in (None, "runtime_value"):
        return parameter.runtime_value.constant.string_value or getattr(message, field)
    return None


def check_mounts(config: Any, where: str) -> Iterator[Finding]:
    """The driver names a volume after its secret, ConfigMap or claim, so that each can be mounted once."""
    claims = [_claim(mount) for mount in config.pvc_mount]
    mounts = [
        *(_Mount("pvcMount", name, m.mount_path) for name, m in zip(claims, config.pvc_mount, strict=True)),
        *(_Mount("secretAsVolume", constant_name(m, "secret_name"), m.mount_path) for m in config.secret_as_volume),
        *(
            _Mount("configMapAsVolume", constant_name(m, "config_map_name"), m.mount_path)
            for m in config.config_map_as_volume
        ),
        *(_Mount("genericEphemeralVolume", m.volume_name, m.mount_path) for m in config.generic_ephemeral_volume),
        *(_Mount("emptyDirMounts", m.volume_name, m.mount_path) for m in config.empty_dir_mounts),
    ]
    memory = config.enabled_shared_memory
    if config.HasField("enabled_shared_memory"):
        mounts.append(_Mount("enabledSharedMemory", memory.volume_name, SHARED_MEMORY))
        if memory.size and not QUANTITY.fullmatch(memory.size):
            yield wrong_value(f"{where}.enabledSharedMemory.size", memory.size, "a quantity such as 2Gi")
    for mount in mounts:
        place = f"{where}.{mount.field}"
        path = mount.path.rstrip("/")
        if not mount.path.startswith("/") or ".." in path.split("/") or ":" in path:
            yield Finding("mount", place, f"mountPath {mount.path!r} is no absolute path")
        elif path in ("", *LAUNCHER_FOLDERS):
            yield Finding("mount", place, f"mountPath {mount.path!r} is a folder that the launcher needs")
        if mount.volume is not None and not LABEL.fullmatch(mount.volume):
            what = f"{mount.volume!r} becomes the name of a volume, which takes 1 to 63 of a-z, 0-9 and `-`"
            yield Finding("mount", place, what)
    yield from _twice(where, "mountPath", [m.path.rstrip("/") for m in mounts if m.path.startswith("/")])
    yield from _twice(where, "volume", [m.volume for m in mounts if m.volume])


def _claim(mount: Any) -> str | None:
    """Return the claim of a pvcMount; its old fields are a oneof without a common name."""
    if mount.HasField("pvc_name_parameter"):
        constant = mount.pvc_name_parameter.WhichOneof("kind") == "runtime_value"
        return mount.pvc_name_parameter.runtime_value.constant.string_value if constant else None
    return mount.constant if mount.WhichOneof("pvc_reference") in (None, "constant") else None


def _twice(where: str, kind: str, values: list[str]) -> Iterator[Finding]:
    for value, count in Counter(values).items():
        if count > 1:
            yield Finding("mount", where, f"{kind} {value!r} {count} times in one pod")
