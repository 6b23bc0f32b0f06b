"""The pod of a worker: resources, places, secrets, and no more rights than it needs."""

from __future__ import annotations

from pipeline.kubeflow.jobs import slices
from pipeline.kubeflow.jobs.child import ChildJob
from pipeline.kubeflow.jobs.slices import Slice

CONTAINER = "tensorflow"  # TFJob's operator sets TF_CONFIG on the container of this name
PORT = 2222
BOOTSTRAP = ["python", "-m", "pipeline.kubeflow.jobs.bootstrap", "--"]


def pod_template(job: ChildJob, tpu: Slice | None, env: dict[str, str]) -> dict:
    """Return the pod template of a worker; `env` is what the kind of job adds to the environment."""
    step = job.step
    mounts, volumes = _volumes(job)
    container = {
        "name": CONTAINER,
        "image": job.image,
        "imagePullPolicy": step.image_pull_policy,
        "command": [*BOOTSTRAP, *job.command],
        "env": _environment(job, env),
        "ports": [{"name": "tfjob-port", "containerPort": PORT}],
        "resources": _resources(job, tpu),
        "securityContext": _container_security(tpu),
        "volumeMounts": mounts,
    }
    affinity = [{"key": key, "operator": "In", "values": values} for key, values in sorted(step.node_affinity.items())]
    spec = {
        "restartPolicy": "Never",
        "serviceAccountName": job.service_account,
        "automountServiceAccountToken": False,  # a worker has no business with the Kubernetes API
        "enableServiceLinks": False,
        "imagePullSecrets": [{"name": name} for name in job.image_pull_secrets],
        "securityContext": _pod_security(tpu),
        "nodeSelector": _selector(job, tpu),
        "affinity": affinity
        and {
            "nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {
                    "nodeSelectorTerms": [{"matchExpressions": affinity}]
                }
            }
        },
        "tolerations": _tolerations(job, tpu),
        "containers": [_without_empty(container)],
        "volumes": volumes,
    }
    return {"metadata": {"labels": job.labels}, "spec": _without_empty(spec)}


def _environment(job: ChildJob, env: dict[str, str]) -> list[dict]:
    plain = {
        "HOME": "/tmp",  # the root file system is read-only
        "PYTHONUNBUFFERED": "1",
        **job.step.env,
        **job.env,
        **env,
    }
    named = [{"name": name, "value": value} for name, value in sorted(plain.items())]
    for source, variables in (
        ("secretKeyRef", job.step.secret_env),
        ("configMapKeyRef", job.step.config_map_env),
    ):
        for name, place in sorted(variables.items()):
            holder, _, key = place.partition("/")
            named.append({"name": name, "valueFrom": {source: {"name": holder, "key": key}}})
    return named


def _resources(job: ChildJob, tpu: Slice | None) -> dict:
    step = job.step
    found = {"cpu": step.cpu, "memory": step.memory}
    if step.accelerator:
        found[step.accelerator.resource] = str(step.accelerator.count)
    if tpu:
        found[slices.RESOURCE] = str(tpu.chips_per_host)
    found = {name: amount for name, amount in found.items() if amount}
    return {"requests": found, "limits": found} if found else {}


def _selector(job: ChildJob, tpu: Slice | None) -> dict[str, str]:
    if not tpu:
        return dict(job.step.node_selector)
    return {
        **job.step.node_selector,
        "cloud.google.com/gke-tpu-accelerator": tpu.accelerator,
        "cloud.google.com/gke-tpu-topology": tpu.topology,
    }


def _tolerations(job: ChildJob, tpu: Slice | None) -> list[dict]:
    found = [{name: value for name, value in t.model_dump().items() if value} for t in job.step.tolerations]
    if tpu and not any(toleration.get("key") == slices.RESOURCE for toleration in found):
        found.append({"key": slices.RESOURCE, "operator": "Exists", "effect": "NoSchedule"})
    return found


def _pod_security(tpu: Slice | None) -> dict:
    profile = {"seccompProfile": {"type": "RuntimeDefault"}}
    return {**profile, "runAsUser": 0} if tpu else {**profile, "runAsNonRoot": True}


def _container_security(tpu: Slice | None) -> dict:
    """Return the rights of the container.

    The TPU driver locks memory for direct access by the chips, beyond the limit that a container starts with. Raising
    the limit takes root and SYS_RESOURCE; neither a privileged container nor the host's network is needed, although
    JobSet's own TPU example has both. DAC_OVERRIDE lets that root write where other steps write as their own user.
    Source: GKE documentation, "Deploy TPU workloads in GKE Standard", privileged mode (GKE 1.28 and newer).
    """
    return {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"], **({"add": ["DAC_OVERRIDE", "SYS_RESOURCE"]} if tpu else {})},
    }


def _volumes(job: ChildJob) -> tuple[list[dict], list[dict]]:
    step = job.step
    mounts, volumes = [{"name": "tmp", "mountPath": "/tmp"}], [{"name": "tmp", "emptyDir": {}}]

    def add(name: str, mount_path: str, source: dict, read_only: bool = False) -> None:
        mounts.append({"name": name, "mountPath": mount_path, **({"readOnly": True} if read_only else {})})
        volumes.append({"name": name, **source})

    for index, mount in enumerate(step.secret_volumes):
        add(f"secret-{index}", mount.mount_path, {"secret": {"secretName": mount.name}}, read_only=True)
    for index, mount in enumerate(step.config_map_volumes):
        add(f"config-map-{index}", mount.mount_path, {"configMap": {"name": mount.name}}, read_only=True)
    for index, volume in enumerate(step.volumes):
        add(f"claim-{index}", volume.mount_path, {"persistentVolumeClaim": {"claimName": volume.claim}})
    if step.shared_memory:
        add("shm", "/dev/shm", {"emptyDir": {"medium": "Memory", "sizeLimit": step.shared_memory}})
    return mounts, volumes


def _without_empty(values: dict) -> dict:
    return {name: value for name, value in values.items() if value not in ("", [], {}, None)}
