"""Where and how the pipeline runs on Kubernetes. Usually set by an environment file (`--env prod`), not by a task."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

Quantity = Annotated[str, StringConstraints(pattern=r"^$|^[0-9]+(\.[0-9]+)?(m|k|Ki|M|Mi|G|Gi|T|Ti)?$")]
SecretKey = Annotated[str, StringConstraints(pattern=r"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?/[-._a-zA-Z0-9]+$")]
Name = Annotated[str, StringConstraints(pattern=r"^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$")]
Folder = Annotated[str, StringConstraints(pattern=r"^/")]


class Strict(BaseModel):
    """Frozen, unknown keys refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Accelerator(Strict):
    """GPUs or TPU chips of one pod."""

    resource: str = Field(
        "nvidia.com/gpu", pattern=r"^[a-z0-9.-]+/[a-z0-9.-]+$", description="Kubernetes resource name"
    )
    count: int = Field(1, ge=1)


class Toleration(Strict):
    """A taint of nodes that the pod accepts."""

    key: str
    operator: Literal["Exists", "Equal"] = "Exists"
    value: str = ""
    effect: Literal["", "NoSchedule", "PreferNoSchedule", "NoExecute"] = ""


class Mount(Strict):
    """A secret or ConfigMap as files."""

    name: Name
    mount_path: Folder


class Volume(Strict):
    """A persistent volume claim as a folder."""

    claim: Name
    mount_path: Folder


class WorkersConfig(Strict):
    """Training on several pods or TPU hosts: a child job of the Trainer's step. The step only starts and watches it."""

    backend: Literal["jobset", "tfjob"] = "jobset"
    replicas: int = Field(2, ge=1, description="worker pods, or hosts of the TPU slice")
    image: str = Field("", description="image of the workers; default the step's own")
    tpu_accelerator: str = Field("", description="GKE node label, such as tpu-v6e-slice")
    tpu_topology: str = Field("", pattern=r"^$|^\d+x\d+(x\d+)?$", description="GKE node label, such as 4x4")
    queue: str = Field("", description="Kueue local queue")
    max_restarts: int = Field(3, ge=0)
    ttl_s: int = Field(3600, ge=0, description="how long a finished job is kept")

    @model_validator(mode="after")
    def _tpu_needs_both(self) -> WorkersConfig:
        if bool(self.tpu_accelerator) != bool(self.tpu_topology):
            raise ValueError("a TPU slice needs tpu_accelerator and tpu_topology")
        if self.tpu_accelerator and self.backend == "tfjob":
            raise ValueError("a TPU slice needs backend jobset")
        return self


class StepConfig(Strict):
    """One step's pod. In `steps.NODE`, what is set replaces the same key of `step`; the rest is taken from there."""

    image: str = Field("", description="registry/name@sha256:...; a tag is a warning, and an error in production")
    image_pull_policy: Literal["", "Always", "IfNotPresent", "Never"] = ""
    cpu: Quantity = Field("", description="request and limit")
    memory: Quantity = Field("", description="request and limit")
    accelerator: Accelerator | None = None
    node_selector: dict[str, str] = Field(default_factory=dict)
    node_affinity: dict[str, list[str]] = Field(
        default_factory=dict, description="node label -> accepted values, all required"
    )
    tolerations: list[Toleration] = Field(default_factory=list)
    env: dict[str, str] = Field(default_factory=dict)
    secret_env: dict[str, SecretKey] = Field(default_factory=dict, description="variable -> secret/key")
    config_map_env: dict[str, SecretKey] = Field(default_factory=dict, description="variable -> ConfigMap/key")
    secret_volumes: list[Mount] = Field(default_factory=list)
    config_map_volumes: list[Mount] = Field(default_factory=list)
    volumes: list[Volume] = Field(default_factory=list)
    shared_memory: Quantity = Field("", description="size of /dev/shm")
    timeout_s: int | None = Field(None, ge=1, description="the pod is ended after that long")
    retries: int = Field(2, ge=0, le=10, description="after a killed pod or a transient or system error")
    workers: WorkersConfig | None = None


class MetadataConfig(Strict):
    """The ML Metadata store that the steps share."""

    backend: Literal["mysql", "postgresql", "grpc"] = "mysql"
    host: str = "headrace-metadata"
    port: int = Field(3306, ge=1, le=65535)
    database: str = "headrace"
    secret: Name | Literal[""] = Field(
        "headrace-metadata", description="secret with the keys username and password; empty for none"
    )
    tls_ca: str = Field("", description="file of the authority that signed the database's certificate; empty: no TLS")


class KubernetesConfig(Strict):
    """The cluster: images, places and names."""

    host: str = Field("", description="address of the Kubeflow Pipelines API, such as http://localhost:8888")
    namespace: str = Field("", description="Kubeflow profile namespace; empty for a single-user installation")
    service_account: Name = "headrace-runner"
    experiment: str = "headrace"
    production: bool = Field(False, description="hold every image to a digest")
    pipeline_root: str = Field(
        "", description="gs://..., s3://... or the folder of a ReadWriteMany volume: artifacts, data and pushed models"
    )
    task_dir: str = Field("", description="folder of a task of your own inside the image")
    metadata: MetadataConfig = MetadataConfig()
    parameters: list[str] = Field(
        ["data.span"],
        description="configuration keys that a run or a schedule may set; the rest is fixed when compiled",
    )
    step: StepConfig = StepConfig()
    steps: dict[str, StepConfig] = Field(default_factory=dict, description="node id -> what differs for it")
    image_pull_secrets: list[Name] = Field(default_factory=list)
    notify: SecretKey | Literal[""] = Field(
        "", description="secret/key that holds a webhook address; told how each run ended"
    )

    def step_of(self, node_id: str) -> StepConfig:
        """Return a node's settings: its own keys over those of `step`."""
        own = self.steps.get(node_id)
        if own is None:
            return self.step
        merged = {name: getattr(own, name) for name in own.model_fields_set}
        return self.step.model_copy(update=merged)
