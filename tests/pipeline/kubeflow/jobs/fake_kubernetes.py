"""A Kubernetes API server in memory, on loopback, with the controllers of JobSet and TFJob, and pods that really run.

    with FakeKubernetes(run_pods=True).serving() as cluster:
        run_child_job(job, cluster.api())

What is created is held to the published schemas where they lie beside the project. Without `run_pods` a test says what
becomes of each pod; with it, each pod is a process of this machine: the container's command with the container's
environment, the host names of its peers replaced by ports of loopback. Controllers follow kubernetes-sigs/jobset
pkg/controllers (failure_policy.go, jobset_controller.go) and kubeflow/trainer v1.9.4 pkg/controller.v1/tensorflow.
"""

import contextlib
import copy
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import uuid
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from tests.pipeline.kubeflow.jobs import schemas
from tests.pipeline.kubeflow.jobs.fake_server import PODS, Refused, Server, handler_of, status_of

PROJECT = Path(__file__).parents[4]
INDEX = "batch.kubernetes.io/job-completion-index"
REPLICA = "training.kubeflow.org/replica-index"
ATTEMPT = "jobset.sigs.k8s.io/restart-attempt"
JOBSETS, TFJOBS, EVENTS = "jobsets", "tfjobs", "events"
GRACE_S = 10


@dataclass
class Fault:
    """What meets the next `count` requests of a verb on a resource: a status and message, or `drop` of the stream
    after `after` events or lines."""

    verb: str
    plural: str
    kind: object
    message: str = "fault on demand"
    count: int = 1
    after: int = 0


@dataclass
class FakeKubernetes:
    """The cluster; `log` has each request as (verb, plural, name, query)."""

    run_pods: bool = False
    create_pods: bool = True
    faults: list = field(default_factory=list)
    log: list = field(default_factory=list)
    secrets: dict = field(default_factory=dict)
    lingers: bool = False
    clock: object = lambda: datetime.now(UTC)

    def __post_init__(self):
        self.changed = threading.Condition(threading.RLock())
        self.objects, self.history, self.version, self.oldest = {}, [], 1, 0
        self.logs, self.processes, self.deleted, self.options, self.authorization = {}, {}, [], [], []
        self.closing = False

    # --- the server

    @contextlib.contextmanager
    def serving(self):
        server = Server(("127.0.0.1", 0), handler_of(self))
        self.host = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        thread.start()
        try:
            yield self
        finally:
            with self.changed:
                self.closing = True
                for pod in self.of(PODS):
                    self.remove(PODS, pod)
                self.changed.notify_all()
            server.shutdown()
            server.server_close()

    def api(self, retry_s=5.0):
        """The code under test, connected by the real client."""
        from kubernetes import client

        from pipeline.kubeflow.jobs.api import KubernetesApi

        configuration = client.Configuration(host=self.host)
        configuration.retries = False
        return KubernetesApi(client.ApiClient(configuration), retry_s)

    # --- what tests say and ask

    def of(self, plural):
        with self.changed:
            return [copy.deepcopy(each) for (kind, _, _), each in self.objects.items() if kind == plural]

    def pod(self, index):
        """The pod of a worker, waited for."""
        label = str(index)
        return self.wait_for(
            lambda: next(
                (p for p in self.of(PODS) if label in (p["metadata"]["labels"].get(k) for k in (INDEX, REPLICA))), None
            )
        )

    def wait_for(self, condition, timeout_s=20):
        until = time.monotonic() + timeout_s
        with self.changed:
            while not (found := condition()):
                assert time.monotonic() < until, "did not happen in time"
                self.changed.wait(0.05)
            return found

    def requests(self, verb, plural):
        return [query for v, p, _, query in list(self.log) if (v, p) == (verb, plural)]

    def waits(self, index, reason, message=""):
        """The worker's container waits."""
        self.set_status(self.pod(index), "Pending", {"waiting": {"reason": reason, "message": message}})

    def unschedulable(self, index, message):
        condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}
        self.set_status(self.pod(index), "Pending", None, conditions=[condition])

    def starts(self, index):
        self.set_status(self.pod(index), "Running", {"running": {"startedAt": self.now()}})

    def writes(self, index, *lines, stamp=""):
        """The worker writes lines; `stamp` instead of the time now."""
        self.append_log(self.pod(index)["metadata"]["name"], lines, stamp)

    def ends(self, index, exit_code=0, reason="", pod_reason="", conditions=()):
        """The worker's container ends, or the pod does without a word of the container (pod_reason)."""
        self.end_pod(self.pod(index), exit_code, reason, pod_reason, list(conditions))

    def warns(self, reason, about, message, at=None):
        """An event of type Warning."""
        name = f"{about}.{uuid.uuid4().hex[:8]}"
        with self.changed:
            self.put(
                EVENTS,
                "team",
                {
                    "apiVersion": "v1",
                    "kind": "Event",
                    "metadata": {"name": name},
                    "involvedObject": {"kind": "Job", "name": about},
                    "type": "Warning",
                    "reason": reason,
                    "message": message,
                    "lastTimestamp": at or self.now(),
                },
            )

    def forget_history(self):
        """Versions from before are Gone, and running watches break."""
        with self.changed:
            self.version += 10
            self.oldest = self.version
            self.changed.notify_all()

    # --- state

    def now(self):
        return self.clock().strftime("%Y-%m-%dT%H:%M:%SZ")

    def put(self, plural, namespace, body, change="ADDED"):
        with self.changed:
            self.version += 1
            metadata = body["metadata"]
            metadata["namespace"] = namespace
            metadata.setdefault("uid", str(uuid.uuid4()))
            metadata.setdefault("creationTimestamp", self.now())
            metadata["resourceVersion"] = str(self.version)
            self.objects[plural, namespace, metadata["name"]] = body
            self.history.append((self.version, change, plural, namespace, copy.deepcopy(body)))
            self.changed.notify_all()
            return body

    def remove(self, plural, body):
        """Delete for good; a pod's process is ended."""
        with self.changed:
            metadata = body["metadata"]
            found = self.objects.pop((plural, metadata["namespace"], metadata["name"]), None)
            if found is None:
                return
            self.version += 1
            found["metadata"]["resourceVersion"] = str(self.version)
            self.history.append((self.version, "DELETED", plural, metadata["namespace"], copy.deepcopy(found)))
            self.deleted.append((plural, metadata["name"]))
            process = self.processes.pop(metadata["uid"], None) if plural == PODS else None
            self.changed.notify_all()
        if process and process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGTERM)
            try:
                process.wait(GRACE_S)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)

    def append_log(self, pod, lines, stamp=""):
        with self.changed:
            for line in lines:
                at = stamp or self.clock().strftime("%Y-%m-%dT%H:%M:%S.%f") + "000Z"
                self.logs.setdefault(pod, []).append((at, line))
            self.changed.notify_all()

    def set_status(self, pod, phase, state, conditions=(), reason=""):
        with self.changed:
            key = (PODS, pod["metadata"]["namespace"], pod["metadata"]["name"])
            current = self.objects.get(key)
            if current is None:
                return
            status = {"phase": phase, "conditions": list(conditions)}
            if reason:
                status["reason"] = reason
            if state:
                status["containerStatuses"] = [{"name": current["spec"]["containers"][0]["name"], "state": state}]
            current["status"] = status
            self.put(PODS, key[1], current, "MODIFIED")

    def end_pod(self, pod, exit_code, reason="", pod_reason="", conditions=()):
        with self.changed:
            ended = {"exitCode": exit_code, "reason": reason or ("Error" if exit_code else "Completed")}
            state = None if pod_reason else {"terminated": {**ended, "finishedAt": self.now()}}
            self.set_status(pod, "Failed" if exit_code or pod_reason else "Succeeded", state, conditions, pod_reason)
            self.reconcile(pod)

    # --- controllers

    def start(self, plural, job):
        """Create the pods of a job."""
        if not self.create_pods:
            return
        name, namespace = job["metadata"]["name"], job["metadata"]["namespace"]
        if plural == JOBSETS:
            spec = job["spec"]["replicatedJobs"][0]["template"]["spec"]
            count, template = spec["completions"], spec["template"]
        else:
            worker = job["spec"]["tfReplicaSpecs"]["Worker"]
            count, template = worker["replicas"], worker["template"]
        ports = {index: free_port() for index in range(count)} if self.run_pods else {}
        attempt = (job.get("status") or {}).get("restarts", 0)
        for index in range(count):
            pod = {"apiVersion": "v1", "kind": "Pod", "metadata": copy.deepcopy(template["metadata"])}
            pod["spec"] = copy.deepcopy(template["spec"])
            own = {INDEX: str(index), ATTEMPT: str(attempt)} if plural == JOBSETS else {REPLICA: str(index)}
            pod["metadata"]["labels"] |= own
            suffix = f"-worker-0-{index}-{uuid.uuid4().hex[:5]}" if plural == JOBSETS else f"-worker-{index}"
            pod["metadata"]["name"] = name + suffix
            pod["metadata"]["ownerReferences"] = [{"kind": job["kind"], "name": name, "uid": job["metadata"]["uid"]}]
            pod["status"] = {"phase": "Pending"}
            created = self.put(PODS, namespace, pod)
            if self.run_pods:
                threading.Thread(target=self.run, args=(copy.deepcopy(created), index, ports), daemon=True).start()

    def run(self, pod, index, ports):
        """Be the kubelet of one pod."""
        container = pod["spec"]["containers"][0]
        environment = {name: os.environ[name] for name in ("PATH", "LANG", "LD_LIBRARY_PATH") if name in os.environ}
        python = Path(sys.executable).parent  # what an image has first on its PATH
        environment["PATH"] = f"{python}:{environment.get('PATH', os.defpath)}"
        environment |= {"PYTHONPATH": str(PROJECT), **self.variables(container)}
        peers = [f"127.0.0.1:{port}" for port in ports.values()]
        if "HEADRACE_WORKER_HOSTS" in environment:
            environment |= {"HEADRACE_WORKER_HOSTS": ",".join(peers), "JOB_COMPLETION_INDEX": str(index)}
        elif len(peers) > 1:
            task = {"type": "worker", "index": index}
            environment["TF_CONFIG"] = json.dumps({"cluster": {"worker": peers}, "task": task, "environment": "cloud"})
        with self.changed:
            if (PODS, pod["metadata"]["namespace"], pod["metadata"]["name"]) not in self.objects:
                return
            process = subprocess.Popen(
                container["command"] + container.get("args", []),
                env=environment,
                cwd=PROJECT,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
                start_new_session=True,
            )
            self.processes[pod["metadata"]["uid"]] = process
            self.set_status(pod, "Running", {"running": {"startedAt": self.now()}})
        with process.stdout:
            for line in process.stdout:
                self.append_log(pod["metadata"]["name"], [line.rstrip("\n")])
        code = process.wait()
        self.end_pod(pod, code if code >= 0 else 128 - code)

    def variables(self, container):
        found = {}
        for each in container.get("env", []):
            source = each.get("valueFrom", {})
            reference = source.get("secretKeyRef") or source.get("configMapKeyRef")
            found[each["name"]] = (
                self.secrets[f"{reference['name']}/{reference['key']}"] if reference else each["value"]
            )
        return found

    def reconcile(self, pod):
        """Turn what became of a pod into what becomes of its job."""
        owner = pod["metadata"]["ownerReferences"][0]
        plural = JOBSETS if owner["kind"] == "JobSet" else TFJOBS
        namespace = pod["metadata"]["namespace"]
        job = self.objects.get((plural, namespace, owner["name"]))
        if job is None or job["metadata"]["uid"] != owner["uid"] or "deletionTimestamp" in job["metadata"]:
            return
        pods = [p for p in self.of(PODS) if p["metadata"]["ownerReferences"][0]["uid"] == owner["uid"]]
        failed = [p for p in pods if p["status"]["phase"] == "Failed"]
        if failed:
            self.fail_or_restart(plural, job, failed[0], pods)
        elif all(p["status"]["phase"] == "Succeeded" for p in pods):
            self.conclude(plural, job, "Completed" if plural == JOBSETS else "Succeeded", "AllJobsCompleted", "")

    def fail_or_restart(self, plural, job, failed, pods):
        code = next((s["state"]["terminated"]["exitCode"] for s in failed["status"].get("containerStatuses", [])), 0)
        others = [p for p in pods if p["status"]["phase"] not in ("Failed", "Succeeded")]
        restarts = job.get("status", {}).get("restarts", 0)
        if plural == JOBSETS:
            spec = job["spec"]["replicatedJobs"][0]["template"]["spec"]
            rules = spec["podFailurePolicy"]["rules"]
            lasting = any(code in rule["onExitCodes"]["values"] for rule in rules)
            limit = job["spec"]["failurePolicy"]["maxRestarts"]
        else:
            lasting, limit = 0 < code < 128, job["spec"]["runPolicy"]["backoffLimit"]
        if lasting or restarts >= limit:
            for pod in others:
                self.remove(PODS, pod)
            message = f"first failed job: {failed['metadata']['name']}"
            self.conclude(plural, job, "Failed", "FailedJobs" if restarts < limit else "ReachedMaxRestarts", message)
            return
        job.setdefault("status", {})["restarts"] = restarts + 1
        self.put(plural, job["metadata"]["namespace"], job, "MODIFIED")
        for pod in pods:
            self.remove(PODS, pod)
        self.start(plural, job)

    def conclude(self, plural, job, condition, reason, message):
        with self.changed:
            found = {"type": condition, "status": "True", "reason": reason, "message": message}
            job.setdefault("status", {}).setdefault("conditions", []).append(found)
            self.put(plural, job["metadata"]["namespace"], job, "MODIFIED")

    # --- verbs

    def create(self, plural, namespace, body):
        name = body["metadata"]["name"]
        if (plural, namespace, name) in self.objects:
            raise Refused(409, f'{plural} "{name}" already exists')
        problems = schemas.problems(body)
        if problems:
            raise Refused(422, f'{body["kind"]} "{name}" is invalid: {problems[0]}')
        created = self.put(plural, namespace, body)
        if plural in (JOBSETS, TFJOBS):
            self.start(plural, created)
        return created

    def get(self, plural, namespace, name):
        try:
            return self.objects[plural, namespace, name]
        except KeyError:
            raise Refused(404, f'{plural} "{name}" not found') from None

    def patch(self, plural, namespace, name, change):
        found = self.get(plural, namespace, name)
        version = change.get("metadata", {}).pop("resourceVersion", None)
        if version and version != found["metadata"]["resourceVersion"]:
            raise Refused(409, "the object has been modified")
        return self.put(plural, namespace, merged(found, change), "MODIFIED")

    def delete(self, plural, namespace, name, options):
        found = self.get(plural, namespace, name)
        self.options.append(options)
        uid = options.get("preconditions", {}).get("uid")
        if uid and uid != found["metadata"]["uid"]:
            raise Refused(409, "the UID in the precondition does not match")
        found["metadata"]["deletionTimestamp"] = self.now()
        self.put(plural, namespace, found, "MODIFIED")
        threading.Thread(target=self.finish_deletion, args=(plural, found), daemon=True).start()
        return {"kind": "Status", "status": "Success"}

    def finish_deletion(self, plural, found):
        """Foreground: what it owns goes first."""
        for pod in self.of(PODS):
            if any(owner["uid"] == found["metadata"]["uid"] for owner in pod["metadata"].get("ownerReferences", [])):
                self.remove(PODS, pod)
        if not self.lingers:
            self.remove(plural, found)

    def listed(self, plural, namespace, query):
        found = [o for (p, n, _), o in self.objects.items() if (p, n) == (plural, namespace) and selected(o, query)]
        return {"kind": "List", "items": copy.deepcopy(found), "metadata": {"resourceVersion": str(self.version)}}

    def events_after(self, plural, namespace, query, stop_at):
        """Yield the events of a watch; a bookmark before the window is over."""
        version = int(query["resourceVersion"])
        if version < self.oldest:
            yield gone()
            return
        bookmarked = False
        while True:
            with self.changed:
                fresh = [each for each in self.history if each[0] > version]
                if not fresh and not self.closing and version >= self.oldest:
                    self.changed.wait(min(0.2, max(0.0, stop_at - time.monotonic())))
                    fresh = [each for each in self.history if each[0] > version]
                broken, now = version < self.oldest, self.version
            if broken:
                yield gone()
                return
            for version, change, kind, where, body in fresh:  # noqa: B007
                if (kind, where) == (plural, namespace) and selected(body, query):
                    yield {"type": change, "object": body}
            if self.closing or time.monotonic() >= stop_at:
                return
            if not bookmarked and query.get("allowWatchBookmarks") == "true":
                bookmarked = True
                metadata = {"resourceVersion": str(max(version, now if not fresh else version))}
                yield {"type": "BOOKMARK", "object": {"kind": "Bookmark", "metadata": metadata}}

    def log_after(self, namespace, name, query):
        """Yield the lines of a log, and those to come while its container runs."""
        since = query.get("sinceTime", "")
        position = 0
        while True:
            with self.changed:
                pod = self.objects.get((PODS, namespace, name))
                lines = list(self.logs.get(name, []))
                running = pod is not None and pod["status"]["phase"] == "Running"
            wanted = [(at, line) for at, line in lines if not since or at[:19] >= since[:19]]
            if "tailLines" in query:
                wanted = wanted[-int(query["tailLines"]) :]
            for at, line in wanted[position:]:
                yield f"{at} {line}" if query.get("timestamps") == "true" else line
            position = len(wanted)
            if query.get("follow") != "true" or not running or self.closing:
                return
            with self.changed:
                self.changed.wait_for(lambda: self.closing or len(self.logs.get(name, [])) > len(lines), 0.1)  # noqa: B023


def merged(target, change):
    """RFC 7386."""
    found = dict(target)
    for key, value in change.items():
        if value is None:
            found.pop(key, None)
        else:
            found[key] = merged(found.get(key) or {}, value) if isinstance(value, dict) else value
    return found


def selected(body, query):
    """Whether label and field selectors pick an object."""
    labels = body["metadata"].get("labels") or {}
    for part in filter(None, query.get("labelSelector", "").split(",")):
        name, _, value = part.partition("=")
        if labels.get(name) != value:
            return False
    for part in filter(None, query.get("fieldSelector", "").split(",")):
        name, _, value = part.partition("=")
        found = body
        for key in name.split("."):
            found = found.get(key, {})
        if found != value:
            return False
    return True


def gone():
    """What a watch sends for a version that is forgotten."""
    return {"type": "ERROR", "object": status_of(410, "too old resource version")}


def free_port():
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        return server.getsockname()[1]
