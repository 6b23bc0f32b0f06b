"""Turn the pipeline that runs locally into what Kubeflow Pipelines 2.14 to 2.17 accept. Needs no kfp.

One step per node, each running `pipeline.kubeflow.step` on its own part of TFX's intermediate representation (IR).
Steps exchange artifacts through ML Metadata and the pipeline root, never through Kubeflow, so that its launcher copies
nothing; a step gives Kubeflow only its status and what its pages show.

Sources: kubeflow/pipelines api/v2alpha1/pipeline_spec.proto and
kubernetes_platform/proto/kubernetes_executor_config.proto.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from pipeline import __version__
from pipeline.config.kubernetes import KubernetesConfig, SecretKey, StepConfig
from pipeline.config.load import LoadedTask
from pipeline.config.model import TaskConfig
from pipeline.config.paths import is_url
from pipeline.errors import HeadraceError
from pipeline.keys import ROOT
from pipeline.kubeflow.files import write_bytes
from pipeline.kubeflow.gate import Finding, require
from pipeline.kubeflow.ir import EncodedNode, cut, encode
from pipeline.kubeflow.package import SCHEMA_VERSION, Package
from pipeline.kubeflow.parameters import Parameter, declared_parameters
from pipeline.kubeflow.training import LONGEST_S, encode_job
from pipeline.nodes import NODES, Node

PREPARE = "prepare"  # creates the tables of ML Metadata before any node runs, so that pods never race for it
NOTIFY = "notify"
GUARDED = "pipeline"  # the task that holds all others when the end of a run is to be told
PYTHON = "python"
BACKOFF_S = 30
LABELS = {
    "app.kubernetes.io/part-of": "headrace",
    "app.kubernetes.io/component": "step",
}  # k8s/base/network.yaml selects them
KEEP = {"cluster-autoscaler.kubernetes.io/safe-to-evict": "false"}  # bare pods, which no disruption budget can protect
RUN_ID = "{{$.pipeline_job_uuid}}"


def compile_task(loaded: LoadedTask, save: Callable[[str, bytes], None] = write_bytes) -> tuple[Package, list[Finding]]:
    """Return the package of a task, checked as Kubeflow's API server will, and what the checks warn of.

    Args:
        loaded: the task with its configuration.
        save: called with address and bytes of a part of the IR that is too large for a command line.

    Raises:
        HeadraceError: HR-KFP-002 to HR-KFP-019, HR-KFP-033, HR-KFP-034; HR-KFP-026 and HR-KFP-027 from `save`.
    """
    from pipeline.run_node import compile_ir

    config = on_cluster(loaded)
    ir = compile_ir(config, config.kubernetes.task_dir)
    folder = f"{config.kubernetes.pipeline_root.rstrip('/')}/_ir"
    package = compile_package(config, {node.id: encode(cut(ir, node.id), folder, save) for node in NODES})
    return package, require(package, config.kubernetes.production)


def on_cluster(loaded: LoadedTask) -> TaskConfig:
    """Return the configuration with the places of the cluster: nothing in it depends on this machine's folders.

    Raises:
        HeadraceError: HR-KFP-033 without a pipeline root, HR-KFP-034 for a task that no image holds.
    """
    config = loaded.config
    cluster = config.kubernetes
    root = cluster.pipeline_root
    if not (root.startswith("/") or is_url(root)):
        raise HeadraceError(
            "HR-KFP-033",
            "kubernetes.pipeline_root is not set" if not root else f"kubernetes.pipeline_root {root!r} is no place",
            expected="gs://..., s3://... or the absolute folder of a shared volume",
            fix=["--env dev   sets it, with the rest", "--set kubernetes.pipeline_root=/pipeline"],
        )
    if not (cluster.task_dir or is_built_in(loaded.task_dir)):
        raise HeadraceError(
            "HR-KFP-034",
            f"the steps' image does not say where it holds the task {config.name!r}",
            seen=[f"task folder {loaded.task_dir}"],
            expected="kubernetes.task_dir: the folder of the task inside the image",
            fix=["FROM headrace, COPY the folder to /tasks/NAME, then --set kubernetes.task_dir=/tasks/NAME"],
        )
    task_dir = cluster.task_dir or str(Path(loaded.task_dir).relative_to(ROOT))
    data = config.data.path
    if not (data.startswith("/") or is_url(data)):
        data = f"{root.rstrip('/')}/{data}"  # as it is below the working folder locally
    return config.model_copy(
        update={
            "root": root,
            "schema_path": _schema_path(loaded, task_dir),
            "data": config.data.model_copy(update={"path": data}),
            "kubernetes": cluster.model_copy(update={"task_dir": task_dir}),
        }
    )


def is_built_in(task_dir: str) -> bool:
    """Say whether a task comes with headrace, and so with every image of it."""
    return Path(task_dir).is_relative_to(ROOT / "pipeline" / "tasks")


def _schema_path(loaded: LoadedTask, task_dir: str) -> str:
    path = Path(loaded.config.schema_path).resolve()
    if path.is_relative_to(loaded.task_dir):
        return str(Path(task_dir) / path.relative_to(loaded.task_dir))
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else loaded.config.schema_path


def compile_package(config: TaskConfig, encoded: Mapping[str, EncodedNode]) -> Package:
    """Return the package of a task; `encoded` has each node's part of the IR by node id."""
    cluster = config.kubernetes
    parameters = declared_parameters(config)
    tasks, components, executors, platform = {}, {}, {}, {}

    def add(step: str, title: str, task: dict, component: dict, arguments: list[str], settings: StepConfig) -> None:
        label = f"exec-{step}"
        tasks[step] = {
            "taskInfo": {"name": title},
            "componentRef": {"name": f"comp-{step}"},
            "cachingOptions": {},  # off: the pipeline has its own cache, by content
            **_retry(settings),
            **task,
        }
        components[f"comp-{step}"] = {"executorLabel": label, **component}
        executors[label] = {"container": _container(cluster, settings, arguments)}
        platform[label] = _platform(cluster, settings)

    run_id = {"run-id": {"runtimeValue": {"constant": RUN_ID}}}
    run_id_type = {"run-id": {"parameterType": "STRING"}}
    add(
        PREPARE,
        "Prepare",
        {"inputs": {"parameters": run_id}},
        {"inputDefinitions": {"parameters": run_id_type}},
        ["pipeline.kubeflow.prepare", "--pipeline-root", cluster.pipeline_root],
        _small(cluster.step),
    )
    for node in NODES:
        own = [parameter for parameter in parameters if parameter.reaches(node)]
        ir = encoded[node.id]
        add(
            step_name(node.id),
            node.id,
            {
                "dependentTasks": [step_name(upstream) for upstream in node.upstream] or [PREPARE],
                "inputs": {
                    "parameters": run_id | {p.name: {"componentInputParameter": p.name} for p in own},
                },
            },
            {
                "inputDefinitions": {"parameters": run_id_type | {p.name: p.type_only() for p in own}},
                "outputDefinitions": _outputs(node),
            },
            [
                "pipeline.kubeflow.step",
                *("--node", node.id),
                *("--ir-sha256", ir.sha256),
                *(("--ir", ir.inline) if ir.inline else ("--ir-uri", ir.uri)),
                *("--executor-input", "{{$}}"),
                *(f"--parameter={p.key}" for p in own),
                *_job(node, cluster),
                *(f"--page={name}={{{{$.outputs.artifacts['{name}'].path}}}}" for name in ("lineage", *node.pages)),
            ],
            cluster.step_of(node.id),
        )
    root = {"dag": {"tasks": tasks}}
    if parameters:
        root["inputDefinitions"] = {"parameters": {p.name: p.definition() for p in parameters}}
    if cluster.notify:
        root = _guarded(root, tasks, components, parameters)
        settings = _small(cluster.step)
        add(
            NOTIFY,
            "Notify",
            {
                "dependentTasks": [GUARDED],
                "triggerPolicy": {"strategy": "ALL_UPSTREAM_TASKS_COMPLETED"},
                "inputs": {"parameters": run_id | {"status": {"taskFinalStatus": {"producerTask": GUARDED}}}},
            },
            {"inputDefinitions": {"parameters": {**run_id_type, "status": {"parameterType": "TASK_FINAL_STATUS"}}}},
            ["pipeline.kubeflow.notify", "--executor-input", "{{$}}"],
            settings.model_copy(update={"secret_env": {**settings.secret_env, "HEADRACE_NOTIFY_URL": cluster.notify}}),
        )
        root["dag"]["tasks"][NOTIFY] = tasks.pop(NOTIFY)
    pipeline = {
        "pipelineInfo": {"name": pipeline_name(config), "description": config.description},
        "schemaVersion": SCHEMA_VERSION,
        "sdkVersion": f"headrace-{__version__}",
        "root": root,
        "components": components,
        "deploymentSpec": {"executors": executors},
    }
    used = {label: settings for label, settings in platform.items() if settings}
    document = {"platforms": {"kubernetes": {"deploymentSpec": {"executors": used}}}} if used else {}
    return Package(pipeline, document)


def step_name(node_id: str) -> str:
    """Return a node's task name in Kubeflow: lower case, because Argo and Kubernetes take no other."""
    return node_id.lower()


def pipeline_name(config: TaskConfig) -> str:
    """Return the pipeline's name in Kubeflow: the task's, with `-` for `_`."""
    return config.name.replace("_", "-")


def _job(node: Node, cluster: KubernetesConfig) -> tuple[str, ...]:
    settings = cluster.step_of(node.id)
    return ("--job", encode_job(settings, cluster)) if settings.workers else ()


def _outputs(node: Node) -> dict:
    types = {"lineage": "system.Artifact", "metrics": "system.Metrics", "page": "system.HTML"}
    return {
        "parameters": {"status": {"parameterType": "STRING"}},
        "artifacts": {
            name: {"artifactType": {"schemaTitle": types[name], "schemaVersion": "0.0.1"}}
            for name in ("lineage", *node.pages)
        },
    }


def _guarded(root: dict, tasks: dict, components: dict, parameters: list[Parameter]) -> dict:
    """Return a root whose one task holds all others.

    The server hangs an exit task on each task that it depends on (argocompiler/dag.go): with one, it runs once.
    """
    components[f"comp-{GUARDED}"] = {"dag": {"tasks": tasks}}
    task = {"taskInfo": {"name": "Pipeline"}, "componentRef": {"name": f"comp-{GUARDED}"}}
    if parameters:
        components[f"comp-{GUARDED}"]["inputDefinitions"] = root["inputDefinitions"]
        task["inputs"] = {"parameters": {p.name: {"componentInputParameter": p.name} for p in parameters}}
    return {**root, "dag": {"tasks": {GUARDED: task}}}


def _retry(settings: StepConfig) -> dict:
    """Return when a step is tried again: after every failure, since Argo knows no families of errors.

    A step that has failed for good says so at once (`pipeline.kubeflow.step`). Argo counts `backoffMaxDuration` from
    the start of the first attempt: an attempt that would start later is never made, and one that runs then is ended.
    So it covers every attempt and every wait.

    Source: argo-workflows workflow/controller/operator.go, processNodeRetries.
    """
    if not settings.retries:
        return {}
    waits = sum(BACKOFF_S * 2**attempt for attempt in range(settings.retries))
    return {
        "retryPolicy": {
            "maxRetryCount": settings.retries,
            "backoffDuration": f"{BACKOFF_S}s",
            "backoffFactor": 2.0,
            "backoffMaxDuration": f"{(settings.retries + 1) * (settings.timeout_s or LONGEST_S) + waits}s",
        }
    }


def _small(settings: StepConfig) -> StepConfig:
    """The pods beside the nodes need the image and the secrets, not the accelerators."""
    return settings.model_copy(
        update={"cpu": "500m", "memory": "1Gi", "accelerator": None, "shared_memory": "", "workers": None}
    )


def _container(cluster: KubernetesConfig, settings: StepConfig, arguments: list[str]) -> dict:
    module, *flags = arguments
    metadata = cluster.metadata
    environment = {
        "HEADRACE_METADATA_BACKEND": metadata.backend,
        "HEADRACE_METADATA_HOST": metadata.host,
        "HEADRACE_METADATA_PORT": str(metadata.port),
        "HEADRACE_METADATA_DATABASE": metadata.database,
        **({"HEADRACE_METADATA_TLS_CA": metadata.tls_ca} if metadata.tls_ca else {}),
        **settings.env,
    }
    container = {
        "image": settings.image,
        "command": [PYTHON, "-m", module],
        "args": flags,
        "env": [{"name": name, "value": value} for name, value in sorted(environment.items())],
    }
    resources = {
        **({"resourceCpuLimit": settings.cpu, "resourceCpuRequest": settings.cpu} if settings.cpu else {}),
        **(
            {"resourceMemoryLimit": settings.memory, "resourceMemoryRequest": settings.memory}
            if settings.memory
            else {}
        ),
    }
    if settings.accelerator and not settings.workers:  # with workers, they have the accelerators
        resources["accelerator"] = {
            "resourceType": settings.accelerator.resource,
            "resourceCount": str(settings.accelerator.count),
        }
    return {**container, "resources": resources} if resources else container


def _platform(cluster: KubernetesConfig, settings: StepConfig) -> dict:
    """Return what the Kubernetes platform spec says of one step; keys without a value are left out."""
    metadata_env = (
        {
            "HEADRACE_METADATA_USER": f"{cluster.metadata.secret}/username",
            "HEADRACE_METADATA_PASSWORD": f"{cluster.metadata.secret}/password",
        }
        if cluster.metadata.secret
        else {}
    )
    found = {
        "secretAsEnv": _as_env({**metadata_env, **settings.secret_env}, "secretName", "secretKey"),
        "configMapAsEnv": _as_env(settings.config_map_env, "configMapName", "configMapKey"),
        "secretAsVolume": [
            {"secretName": m.name, "secretNameParameter": _constant(m.name), "mountPath": m.mount_path}
            for m in settings.secret_volumes
        ],
        "configMapAsVolume": [
            {"configMapName": m.name, "configMapNameParameter": _constant(m.name), "mountPath": m.mount_path}
            for m in settings.config_map_volumes
        ],
        "pvcMount": [
            {"constant": v.claim, "pvcNameParameter": _constant(v.claim), "mountPath": v.mount_path}
            for v in settings.volumes
        ],
        "nodeSelector": {"labels": settings.node_selector} if settings.node_selector else None,
        "nodeAffinity": [
            {"matchExpressions": [{"key": key, "operator": "In", "values": values}]}
            for key, values in sorted(settings.node_affinity.items())
        ],
        "tolerations": [
            {name: value for name, value in toleration.model_dump().items() if value}
            for toleration in settings.tolerations
        ],
        "imagePullSecret": [
            {"secretName": name, "secretNameParameter": _constant(name)} for name in cluster.image_pull_secrets
        ],
        "imagePullPolicy": settings.image_pull_policy,
        "enabledSharedMemory": {"volumeName": "shm", "size": settings.shared_memory}
        if settings.shared_memory
        else None,
        "activeDeadlineSeconds": settings.timeout_s,
        "podMetadata": {"labels": LABELS, "annotations": KEEP},
        "fieldPathAsEnv": [
            {"name": "HEADRACE_POD_NAME", "fieldPath": "metadata.name"},
            {"name": "HEADRACE_POD_UID", "fieldPath": "metadata.uid"},
            {"name": "HEADRACE_NAMESPACE", "fieldPath": "metadata.namespace"},
        ]
        if settings.workers
        else [],
    }
    return {name: value for name, value in found.items() if value}


def _as_env(variables: Mapping[str, SecretKey], name_field: str, key_field: str) -> list[dict]:
    """Return variables grouped by the secret or ConfigMap that they come from."""
    grouped: dict[str, list[dict]] = {}
    for variable, place in sorted(variables.items()):
        name, _, key = place.partition("/")
        grouped.setdefault(name, []).append({key_field: key, "envVar": variable})
    return [
        {name_field: name, f"{name_field}Parameter": _constant(name), "keyToEnv": keys}
        for name, keys in grouped.items()
    ]


def _constant(value: str) -> dict:
    return {"runtimeValue": {"constant": value}}
