"""What the Kubernetes platform spec gives the pods of a step: secrets, ConfigMaps, volumes, names and a deadline.

Node selectors, tolerations, affinity, images, resources and shared memory decide where a pod runs and not what it
does; they are left alone.

Source: kubeflow/pipelines backend/src/v2/driver/k8s.go extendPodSpecPatch.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from pipeline.errors import HeadraceError
from pipeline.kubeflow.simulate.model import Options
from pipeline.kubeflow.simulate.plan import Plan, unplayed

NAMESPACE = "kubeflow"
FIELDS = {  # of a pod that is the same for all
    "metadata.namespace": NAMESPACE,
    "spec.serviceAccountName": "pipeline-runner",
    "spec.nodeName": "localhost",
    "status.hostIP": "127.0.0.1",
    "status.podIP": "127.0.0.1",
}
# field of the executor configuration -> what it mounts, name of its name, and where its values stand
FILES = {
    "secretAsVolume": ("secret", "secretName", "secrets"),
    "configMapAsVolume": ("ConfigMap", "configMapName", "config_maps"),
}
VARIABLES = {
    "secretAsEnv": ("secret", "secretName", "secretKey", "secrets"),
    "configMapAsEnv": ("ConfigMap", "configMapName", "configMapKey", "config_maps"),
}
FOLDERS = ("pvcMount", "emptyDirMounts", "genericEphemeralVolume")


@dataclass(frozen=True)
class Variable:
    """A variable from a secret or ConfigMap."""

    name: str
    kind: str
    source: str
    key: str
    values: Mapping[str, Mapping[str, str]]
    optional: bool

    @property
    def value(self) -> str | None:
        """Its value, None when it is not there."""
        return self.values.get(self.source, {}).get(self.key)


@dataclass(frozen=True)
class Mount:
    """A folder of a pod; `files` are those of a secret or ConfigMap, None for a volume, which a step may write to."""

    path: Path
    kind: str
    name: str
    files: Mapping[str, str] | None = None
    optional: bool = False


@dataclass(frozen=True)
class Pod:
    """What all pods of one executor share."""

    variables: tuple[Variable, ...]
    mounts: tuple[Mount, ...]
    fields: Mapping[str, str]
    deadline_s: float | None

    @property
    def volumes(self) -> list[Path]:
        """The folders that a step may write to."""
        return [mount.path for mount in self.mounts if mount.files is None]

    def env(self, pod_name: str) -> dict[str, str]:
        """Return the variables of one pod; a later kind wins over an earlier one."""
        own = {**FIELDS, "metadata.name": pod_name, "metadata.uid": str(uuid.uuid4())}
        return {
            "KFP_POD_NAME": own["metadata.name"],
            "KFP_POD_UID": own["metadata.uid"],
            **{variable.name: variable.value for variable in self.variables if variable.value is not None},
            **{name: own[field] for name, field in self.fields.items()},
        }


def read_pods(plan: Plan, options: Options) -> dict[str, Pod]:
    """Return the pods by executor label, and put the files of secrets and ConfigMaps nowhere yet.

    Raises:
        HeadraceError: HR-KFP-090 for names that only a run knows, HR-KFP-092 for a secret or key that is not there,
            HR-KFP-093 for a mount path that cannot be used on this machine.
    """
    pods = {label: _pod(plan.platform.get(label, {}), options) for label in plan.labels()}
    missing = {
        f"{variable.kind} {variable.source}, key {variable.key}": None
        for pod in pods.values()
        for variable in pod.variables
        if variable.value is None and not variable.optional
    } | {
        f"{mount.kind} {mount.name}": None
        for pod in pods.values()
        for mount in pod.mounts
        if mount.files == {} and not mount.optional
    }
    if missing:
        raise HeadraceError(
            "HR-KFP-092",
            f"the steps read what was not given: {', '.join(missing)}",
            seen=list(missing),
            expected="every secret and ConfigMap that the package names",
            fix=[
                "--secret NAME/KEY=VALUE",
                "--secret-file FILE.yaml   what kubectl get secret,configmap -o yaml prints",
            ],
        )
    for pod in pods.values():
        for mount in pod.mounts:
            _check_mount(mount, options.writable)
    return pods


def _pod(config: Mapping, options: Options) -> Pod:
    fields = {entry["name"]: entry["fieldPath"] for entry in config.get("fieldPathAsEnv", [])}
    for path in fields.values():
        if path not in FIELDS and path not in ("metadata.name", "metadata.uid"):
            raise unplayed(f"fieldPathAsEnv {path}")
    deadline = config.get("activeDeadlineSeconds")
    return Pod(
        tuple(_variables(config, options)),
        tuple(_mounts(config, options)),
        fields,
        float(deadline) if deadline else None,
    )


def _variables(config: Mapping, options: Options) -> Iterator[Variable]:
    for field, (kind, name_field, key_field, values) in VARIABLES.items():
        for entry in config.get(field, []):
            source = _name(entry, name_field, field)
            for pair in entry.get("keyToEnv", []):
                yield Variable(
                    pair["envVar"],
                    kind,
                    source,
                    pair[key_field],
                    getattr(options, values),
                    entry.get("optional", False),
                )


def _mounts(config: Mapping, options: Options) -> Iterator[Mount]:
    for field, (kind, name_field, values) in FILES.items():
        for entry in config.get(field, []):
            name = _name(entry, name_field, field)
            files = getattr(options, values).get(name, {})
            yield Mount(Path(entry["mountPath"]), kind, name, files, entry.get("optional", False))
    for field in FOLDERS:
        for entry in config.get(field, []):
            name = entry.get("volumeName") or _name(entry, "pvcName", field)
            yield Mount(Path(entry["mountPath"]), "volume", name)


def _name(entry: Mapping, field: str, where: str) -> str:
    parameter = entry.get(f"{field}Parameter", {})
    name = parameter.get("runtimeValue", {}).get("constant") or entry.get(field) or entry.get("constant")
    if not isinstance(name, str) or (parameter and "runtimeValue" not in parameter):
        raise unplayed(f"{where} with a name that is an input of the task")
    return name


def _check_mount(mount: Mount, writable: Iterable[Path]) -> None:
    inside = mount.files is None or any(mount.path.is_relative_to(Path(folder).absolute()) for folder in writable)
    if mount.files == {} or (mount.path.is_dir() and os.access(mount.path, os.W_OK) and inside):
        return
    if not mount.path.is_dir():
        seen = f"there is no folder {mount.path} on this machine"
    elif not inside:
        seen = f"{mount.path} is in no folder that --writable names"
    else:
        seen = f"{mount.path} cannot be written to"
    raise HeadraceError(
        "HR-KFP-093",
        f"{mount.kind} {mount.name} cannot be mounted at {mount.path}",
        seen=[seen],
        expected="a folder of this machine at the same path, because nothing is mounted here",
        fix=[
            f"mkdir -p {mount.path}",
            "headrace kubeflow compile TASK -o FILE --set kubernetes.pipeline_root=DIR "
            f"--set 'kubernetes.step.volumes=[{{claim: {mount.name}, mount_path: DIR}}]'",
        ],
    )


def write_files(mounts: Iterable[Mount]) -> list[Path]:
    """Write the files of secrets and ConfigMaps, readable by their owner only, and return the new ones.

    Raises:
        HeadraceError: HR-KFP-093 when another file is in the way.
    """
    written: list[Path] = []
    for mount in mounts:
        for key, value in (mount.files or {}).items():
            path = mount.path / key
            if path.exists() and path.read_text(encoding="utf-8", errors="replace") == value:
                continue
            try:
                with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
                    file.write(value)
            except OSError as error:
                for own in written:
                    own.unlink(missing_ok=True)
                raise HeadraceError(
                    "HR-KFP-093",
                    f"{mount.kind} {mount.name} cannot be written to {path}",
                    seen=[str(error.strerror)],
                    expected="a folder without files of other contents",
                    fix=[f"mv {path} {path}.before"],
                ) from None
            written.append(path)
    return written
