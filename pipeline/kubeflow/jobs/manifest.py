"""A child job as a Kubernetes object: JobSet (v1alpha2), or TFJob (v1) where a cluster has only that operator.

Sources: kubernetes-sigs/jobset api/jobset/v1alpha2/jobset_types.go; kubeflow/trainer v1.9.4
pkg/apis/kubeflow.org/v1/tensorflow_types.go.
"""

from __future__ import annotations

from dataclasses import dataclass

from pipeline.kubeflow.jobs.child import ChildJob
from pipeline.kubeflow.jobs.pods import CONTAINER, PORT, pod_template
from pipeline.kubeflow.jobs.slices import slice_of

WORKER = "worker"  # the name of the replicated job, which host names hold
QUEUE_LABEL = "kueue.x-k8s.io/queue-name"
EXCLUSIVE_TOPOLOGY = "alpha.jobset.sigs.k8s.io/exclusive-topology"
NODE_POOL = "cloud.google.com/gke-nodepool"  # a multi-host slice is one node pool
LASTING = [2, 3]  # exit codes of faults of the user's code and data, which come again (pipeline/error_codes.py)


@dataclass(frozen=True)
class Kind:
    """A kind of job in the Kubernetes API.

    Args:
        api: its group and version.
        kind: its name.
        plural: its name in addresses and permissions.
        succeeded: condition of a job that is done.
        index_label: label of a pod that holds the worker's number.
        operator: what must be installed.
    """

    api: str
    kind: str
    plural: str
    succeeded: str
    index_label: str
    operator: str


JOBSET = Kind(
    "jobset.x-k8s.io/v1alpha2", "JobSet", "jobsets", "Completed", "batch.kubernetes.io/job-completion-index", "JobSet"
)
TFJOB = Kind(
    "kubeflow.org/v1",
    "TFJob",
    "tfjobs",
    "Succeeded",
    "training.kubeflow.org/replica-index",
    "Kubeflow Training Operator v1",
)


def kind_of(job: ChildJob) -> Kind:
    """Return the kind of job that the configuration asks for."""
    return JOBSET if job.workers.backend == "jobset" else TFJOB


def manifest(job: ChildJob) -> dict:
    """Return the job as the configuration asks for it.

    Raises:
        HeadraceError: HR-KFP-071.
    """
    return jobset(job) if job.workers.backend == "jobset" else tfjob(job)


def worker_hosts(job: ChildJob) -> list[str]:
    """Return `host:port` of each worker of a JobSet, by its number."""
    return [f"{job.name}-{WORKER}-0-{index}.{job.name}:{PORT}" for index in range(job.workers.replicas)]


def jobset(job: ChildJob) -> dict:
    """Return the JobSet.

    All workers are of one job, so that its index is the worker's number, and 0 is the chief: TensorFlow's rule where
    the cluster has no task of the type chief. A lost pod fails the job, and JobSet starts all workers anew, once those
    of before are gone: in synchronous training none can go on without the others.

    Raises:
        HeadraceError: HR-KFP-071.
    """
    workers = job.workers
    tpu = slice_of(workers, job.step)
    env = {"HEADRACE_WORKER_HOSTS": ",".join(worker_hosts(job))} | ({"HEADRACE_TPU": "1"} if tpu else {})
    fails_for_good = [
        {"name": "fails_again", "action": "FailJobSet", "onJobFailureReasons": ["PodFailurePolicy"]},
        {"name": "too_long", "action": "FailJobSet", "onJobFailureReasons": ["DeadlineExceeded"]},
    ]
    spec = {
        "network": {"enableDNSHostnames": True, "subdomain": job.name, "publishNotReadyAddresses": True},
        "successPolicy": {"operator": "All", "targetReplicatedJobs": [WORKER]},
        "failurePolicy": {
            "maxRestarts": workers.max_restarts,
            "restartStrategy": "BlockingRecreate",
            "rules": fails_for_good,
        },
        "ttlSecondsAfterFinished": workers.ttl_s,
        "replicatedJobs": [
            {
                "name": WORKER,
                "replicas": 1,
                "template": {
                    "spec": {
                        "parallelism": workers.replicas,
                        "completions": workers.replicas,
                        "completionMode": "Indexed",
                        "backoffLimit": 0,
                        "activeDeadlineSeconds": job.timeout_s,
                        "podFailurePolicy": {
                            "rules": [
                                {
                                    "action": "FailJob",
                                    "onExitCodes": {"containerName": CONTAINER, "operator": "In", "values": LASTING},
                                }
                            ]
                        },
                        "template": pod_template(job, tpu, env),
                    }
                },
            }
        ],
    }
    found = _object(job, JOBSET, spec)
    if tpu:
        found["metadata"]["annotations"] = {EXCLUSIVE_TOPOLOGY: NODE_POOL}
    return found


def tfjob(job: ChildJob) -> dict:
    """Return the TFJob. Its operator sets TF_CONFIG itself and restarts workers that a signal ended."""
    workers = job.workers
    spec = {
        "runPolicy": {
            "cleanPodPolicy": "None",  # pods stay readable until the step deletes the job
            "ttlSecondsAfterFinished": workers.ttl_s,
            "activeDeadlineSeconds": job.timeout_s,
            "backoffLimit": workers.max_restarts,
        },
        "successPolicy": "AllWorkers",
        "tfReplicaSpecs": {
            "Worker": {
                "replicas": workers.replicas,
                "restartPolicy": "ExitCode",
                "template": pod_template(job, None, {}),
            }
        },
    }
    return _object(job, TFJOB, spec)


def _object(job: ChildJob, kind: Kind, spec: dict) -> dict:
    labels = job.labels | ({QUEUE_LABEL: job.workers.queue} if job.workers.queue else {})
    return {
        "apiVersion": kind.api,
        "kind": kind.kind,
        "metadata": {
            "name": job.name,
            "namespace": job.namespace,
            "labels": labels,
            "ownerReferences": [job.owner.reference()],
        },
        "spec": spec,
    }
