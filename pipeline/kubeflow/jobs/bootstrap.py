"""The first process of a worker pod: tells TensorFlow who its peers are, waits until they have names, and becomes the
worker's command. `python -m pipeline.kubeflow.jobs.bootstrap -- COMMAND...`

A JobSet says by HEADRACE_WORKER_HOSTS (`host:port,...`) and JOB_COMPLETION_INDEX who is who; TFJob's operator sets
TF_CONFIG itself. Imports nothing but Python's own modules and the errors, so that a lean image can run it.
"""

from __future__ import annotations

import json
import os
import resource
import socket
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from pipeline.errors import HeadraceError

PEERS_TIMEOUT_S = 900  # nodes that are still to be started, and their images to be pulled
POLL_S = 2.0
FIRST_REPORT_S = 30


@dataclass(frozen=True)
class Cluster:
    """The workers, `host:port` each, and this one's number."""

    workers: tuple[str, ...]
    index: int

    @property
    def hosts(self) -> list[str]:
        """The workers' host names."""
        return [worker.rpartition(":")[0] for worker in self.workers]

    def tf_config(self) -> str:
        """Return TF_CONFIG. Worker 0 is the chief. Source: TensorFlow's guide "Multi-worker training with Keras"."""
        return json.dumps({"cluster": {"worker": list(self.workers)}, "task": {"type": "worker", "index": self.index}})


def main(arguments: Sequence[str] | None = None) -> None:
    """Become the worker's command."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        if given[:1] != ["--"] or len(given) < 2:
            raise _wrong([f"arguments: {' '.join(given) or 'none'}"])
        cluster = read_cluster(os.environ)
        environment = worker_environment(os.environ, cluster)
        if environment.get("HEADRACE_TPU"):
            allow_locked_memory()
        if cluster and len(cluster.workers) > 1:
            wait_for_peers(cluster)
    except HeadraceError as error:
        print(error, file=sys.stderr)
        sys.exit(error.exit_code)
    command = given[1:]
    try:
        os.execvpe(command[0], command, environment)
    except OSError as error:
        failed = _wrong([f"{command[0]}: {error.strerror}"])
        print(failed, file=sys.stderr)
        sys.exit(failed.exit_code)


def read_cluster(environ: Mapping[str, str]) -> Cluster | None:
    """Return the workers as the pod's environment has them; None for a TFJob of one worker, which gets no TF_CONFIG.

    Raises:
        HeadraceError: HR-KFP-086 for variables that are missing or contradict each other.
    """
    seen = {name: environ.get(name, "") for name in ("HEADRACE_WORKER_HOSTS", "JOB_COMPLETION_INDEX", "TF_CONFIG")}
    try:
        if seen["HEADRACE_WORKER_HOSTS"]:
            cluster = Cluster(tuple(seen["HEADRACE_WORKER_HOSTS"].split(",")), int(seen["JOB_COMPLETION_INDEX"]))
        elif seen["TF_CONFIG"]:
            given = json.loads(seen["TF_CONFIG"])
            cluster = Cluster(tuple(given["cluster"]["worker"]), int(given["task"]["index"]))
        else:
            return None
    except (ValueError, KeyError, TypeError):
        raise _wrong([f"{name}={value}" for name, value in seen.items()]) from None
    if not 0 <= cluster.index < len(cluster.workers) or not all(cluster.hosts):
        raise _wrong([f"{name}={value}" for name, value in seen.items()])
    return cluster


def worker_environment(environ: Mapping[str, str], cluster: Cluster | None) -> dict[str, str]:
    """Return the environment of the worker's command.

    A single worker gets no TF_CONFIG: with a cluster of one, TensorFlow would start a server that nobody talks to. GKE
    gives the pods of a TPU slice their numbers and hosts itself; where it has not, they are set as it does.
    """
    found = dict(environ)
    if cluster is None or len(cluster.workers) == 1:
        found.pop("TF_CONFIG", None)
    else:
        found.setdefault("TF_CONFIG", cluster.tf_config())
    if cluster and found.get("HEADRACE_TPU"):
        found.setdefault("TPU_WORKER_ID", str(cluster.index))
        found.setdefault("TPU_WORKER_HOSTNAMES", ",".join(cluster.hosts))
    return found


def wait_for_peers(
    cluster: Cluster,
    resolve: Callable[[str], object] = socket.gethostbyname,
    timeout_s: float = PEERS_TIMEOUT_S,
    poll_s: float = POLL_S,
) -> None:
    """Return once the names of all workers resolve: TensorFlow gives up on a name that does not exist yet.

    Raises:
        HeadraceError: HR-KFP-085 when some do not in time.
    """
    started = time.monotonic()
    reported = False
    waiting = cluster.hosts
    while waiting := [host for host in waiting if not _resolves(host, resolve)]:
        waited_s = time.monotonic() - started
        if waited_s >= timeout_s:
            raise HeadraceError(
                "HR-KFP-085",
                f"{len(waiting)} of {len(cluster.workers)} workers have no address after {timeout_s:g} s",
                seen=waiting,
                expected="all worker pods of the job started",
                fix=["kubectl get pods -l headrace/job   shows what the others wait for"],
            )
        if not reported and waited_s >= FIRST_REPORT_S:
            print(f"worker {cluster.index} waits for {', '.join(waiting)}", flush=True)
            reported = True
        time.sleep(poll_s)


def allow_locked_memory() -> None:
    """Lift the limit on locked memory, which the TPU driver needs; without SYS_RESOURCE it stays as it is."""
    try:
        resource.setrlimit(resource.RLIMIT_MEMLOCK, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    except (OSError, ValueError) as error:
        print(f"the limit on locked memory stays {resource.getrlimit(resource.RLIMIT_MEMLOCK)}: {error}", flush=True)


def _resolves(host: str, resolve: Callable[[str], object]) -> bool:
    try:
        resolve(host)
    except OSError:
        return False
    return True


def _wrong(seen: list[str]) -> HeadraceError:
    return HeadraceError(
        "HR-KFP-086",
        "the worker pod was not started as headrace starts it",
        seen=seen,
        expected="-- COMMAND..., HEADRACE_WORKER_HOSTS=HOST:PORT,... and JOB_COMPLETION_INDEX, or TFJob's TF_CONFIG",
        fix=["kubernetes.steps.Trainer.workers.image names an image of the same headrace version as the step's"],
    )


if __name__ == "__main__":
    main()
