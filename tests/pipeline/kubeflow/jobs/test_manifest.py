"""JobSet and TFJob as Kubernetes gets them, held to the published schemas."""

import pytest

from pipeline.kubeflow.jobs.manifest import jobset, manifest, tfjob
from tests.pipeline.kubeflow.jobs import schemas
from tests.pipeline.kubeflow.jobs.conftest import child_job

EVERYTHING = {
    "cpu": "8",
    "memory": "32Gi",
    "accelerator": {"count": 2},
    "node_selector": {"pool": "gpu"},
    "node_affinity": {"zone": ["a", "b"]},
    "tolerations": [{"key": "nvidia.com/gpu", "effect": "NoSchedule"}],
    "env": {"LEVEL": "info"},
    "secret_env": {"KEY": "store/key"},
    "config_map_env": {"MODE": "settings/mode"},
    "secret_volumes": [{"name": "keys", "mount_path": "/keys"}],
    "config_map_volumes": [{"name": "settings", "mount_path": "/settings"}],
    "volumes": [{"claim": "headrace-pipeline", "mount_path": "/pipeline"}],
    "shared_memory": "2Gi",
    "image_pull_policy": "IfNotPresent",
}
FULL = {"workers": {"replicas": 4, "max_restarts": 2, "ttl_s": 600, "queue": "gpus"}, "step": EVERYTHING}
TPU = {"workers": {"replicas": 4, "tpu_accelerator": "tpu-v6e-slice", "tpu_topology": "4x4"}}


def full(**workers):
    merged = {**FULL, "workers": {**FULL["workers"], **workers}}
    return child_job(service_account="headrace-runner", image_pull_secrets=("registry",), **merged)


def job_of(body):
    return body["spec"]["replicatedJobs"][0]["template"]["spec"]


def pod_of(body):
    return job_of(body)["template"]["spec"]


def env_of(pod):
    return {each["name"]: each.get("value", each.get("valueFrom")) for each in pod["containers"][0]["env"]}


@pytest.mark.skipif(not schemas.present(), reason=f"the published schemas are not in {schemas.CRDS}")
@pytest.mark.parametrize("job", [child_job(), full(), full(backend="tfjob"), child_job(**TPU)])
def test_manifests_hold_to_the_published_schemas(job):
    assert schemas.problems(manifest(job)) == []


@pytest.mark.skipif(not schemas.present(), reason=f"the published schemas are not in {schemas.CRDS}")
def test_the_schemas_refuse_what_they_do_not_know():
    body = jobset(child_job())
    body["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]["containers"][0]["imgae"] = "x"
    assert "imgae" in schemas.problems(body)[0]


@pytest.mark.parametrize("job", [child_job(), full(), child_job(**TPU)])
def test_jobs_and_pods_hold_to_kubernetes_own_schemas(job):
    import kubernetes_validate

    spec = job_of(jobset(job))
    name = {"name": "x"}
    for kind, version, body in (("Job", "batch/v1", spec), ("Pod", "v1", spec["template"]["spec"])):
        value = {"apiVersion": version, "kind": kind, "metadata": name, "spec": body}
        kubernetes_validate.validate(value, kubernetes_validate.latest_version(), strict=True)


def test_all_workers_are_one_indexed_job_that_restarts_as_a_whole():
    body = jobset(full())
    spec = job_of(body)
    assert (spec["parallelism"], spec["completions"], spec["completionMode"]) == (4, 4, "Indexed")
    assert (spec["backoffLimit"], spec["activeDeadlineSeconds"]) == (0, 60)
    assert body["spec"]["replicatedJobs"][0]["replicas"] == 1
    assert body["spec"]["failurePolicy"]["maxRestarts"] == 2
    assert body["spec"]["failurePolicy"]["restartStrategy"] == "BlockingRecreate"
    assert body["spec"]["successPolicy"] == {"operator": "All", "targetReplicatedJobs": ["worker"]}
    assert body["spec"]["ttlSecondsAfterFinished"] == 600


def test_faults_that_come_again_are_not_tried_again():
    body = jobset(child_job())
    rule = job_of(body)["podFailurePolicy"]["rules"][0]
    assert rule["action"] == "FailJob"
    assert rule["onExitCodes"] == {"containerName": "tensorflow", "operator": "In", "values": [2, 3]}
    assert body["spec"]["failurePolicy"]["rules"][0]["onJobFailureReasons"] == ["PodFailurePolicy"]
    assert body["spec"]["failurePolicy"]["rules"][0]["action"] == "FailJobSet"


def test_workers_know_each_other_by_the_names_that_jobset_gives_them():
    job = child_job(workers={"replicas": 3})
    body = jobset(job)
    assert body["spec"]["network"] == {
        "enableDNSHostnames": True,
        "subdomain": job.name,
        "publishNotReadyAddresses": True,
    }
    hosts = [f"{job.name}-worker-0-{index}.{job.name}:2222" for index in range(3)]
    assert env_of(pod_of(body))["HEADRACE_WORKER_HOSTS"] == ",".join(hosts)
    assert pod_of(body)["containers"][0]["command"][:4] == ["python", "-m", "pipeline.kubeflow.jobs.bootstrap", "--"]


def test_the_job_belongs_to_the_steps_pod_its_run_and_its_queue():
    job = full()
    metadata = jobset(job)["metadata"]
    assert metadata["ownerReferences"] == [
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "name": "flights-trainer-1",
            "uid": "uid-1",
            "controller": False,
            "blockOwnerDeletion": False,
        }
    ]
    assert metadata["labels"] == {
        "app.kubernetes.io/part-of": "headrace",
        "app.kubernetes.io/component": "worker",
        "headrace/run": "3f0c5a",
        "headrace/node": "Trainer",
        "headrace/pipeline": "flights",
        "headrace/job": job.name,
        "kueue.x-k8s.io/queue-name": "gpus",
    }


def test_pods_have_what_the_step_has():
    pod = pod_of(jobset(full()))
    container = pod["containers"][0]
    amounts = {"cpu": "8", "memory": "32Gi", "nvidia.com/gpu": "2"}
    assert container["resources"] == {"requests": amounts, "limits": amounts}
    assert container["imagePullPolicy"] == "IfNotPresent"
    assert (pod["serviceAccountName"], pod["imagePullSecrets"]) == ("headrace-runner", [{"name": "registry"}])
    assert pod["nodeSelector"] == {"pool": "gpu"}
    assert pod["tolerations"] == [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}]
    required = pod["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    assert required["nodeSelectorTerms"][0]["matchExpressions"] == [
        {"key": "zone", "operator": "In", "values": ["a", "b"]}
    ]
    env = env_of(pod)
    assert (env["LEVEL"], env["KEY"]) == ("info", {"secretKeyRef": {"name": "store", "key": "key"}})
    assert env["MODE"] == {"configMapKeyRef": {"name": "settings", "key": "mode"}}
    sources = {each["name"]: each for each in pod["volumes"]}
    mounted = {each["mountPath"]: sources[each["name"]] for each in container["volumeMounts"]}
    assert {path: next(key for key in source if key != "name") for path, source in mounted.items()} == {
        "/tmp": "emptyDir",
        "/keys": "secret",
        "/settings": "configMap",
        "/pipeline": "persistentVolumeClaim",
        "/dev/shm": "emptyDir",
    }
    assert mounted["/dev/shm"]["emptyDir"] == {"medium": "Memory", "sizeLimit": "2Gi"}


def test_pods_have_no_more_rights_than_they_need():
    pod = pod_of(jobset(child_job()))
    assert pod["securityContext"] == {"seccompProfile": {"type": "RuntimeDefault"}, "runAsNonRoot": True}
    assert pod["containers"][0]["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert pod["automountServiceAccountToken"] is False
    assert "hostNetwork" not in pod


def test_a_tpu_slice_is_one_node_pool_of_hosts_with_all_their_chips():
    body = jobset(child_job(**TPU))
    pod = pod_of(body)
    assert body["metadata"]["annotations"] == {
        "alpha.jobset.sigs.k8s.io/exclusive-topology": "cloud.google.com/gke-nodepool"
    }
    assert pod["nodeSelector"] == {
        "cloud.google.com/gke-tpu-accelerator": "tpu-v6e-slice",
        "cloud.google.com/gke-tpu-topology": "4x4",
    }
    assert pod["tolerations"] == [{"key": "google.com/tpu", "operator": "Exists", "effect": "NoSchedule"}]
    chips = {"google.com/tpu": "4"}
    assert pod["containers"][0]["resources"] == {"requests": chips, "limits": chips}
    assert env_of(pod)["HEADRACE_TPU"] == "1"
    assert "SYS_RESOURCE" in pod["containers"][0]["securityContext"]["capabilities"]["add"]
    assert "privileged" not in pod["containers"][0]["securityContext"] and "hostNetwork" not in pod


def test_a_tfjob_leaves_tf_config_to_its_operator():
    body = tfjob(full(backend="tfjob"))
    worker = body["spec"]["tfReplicaSpecs"]["Worker"]
    container = worker["template"]["spec"]["containers"][0]
    assert (worker["replicas"], worker["restartPolicy"]) == (4, "ExitCode")
    assert (container["name"], container["ports"]) == ("tensorflow", [{"name": "tfjob-port", "containerPort": 2222}])
    assert not {"HEADRACE_WORKER_HOSTS", "TF_CONFIG"} & env_of(worker["template"]["spec"]).keys()
    assert body["spec"]["runPolicy"] == {
        "cleanPodPolicy": "None",
        "ttlSecondsAfterFinished": 600,
        "activeDeadlineSeconds": 60,
        "backoffLimit": 2,
    }
    assert body["spec"]["successPolicy"] == "AllWorkers"
