"""Run a child job of a step: start it or take it over, pass the chief's log on, say what goes wrong, remove it.

Threads read the API and queue what they find; the step's own thread alone decides and prints, so that a signal finds it
waiting for the queue.
"""

from __future__ import annotations

import contextlib
import queue
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from pipeline.errors import HeadraceError
from pipeline.kubeflow.jobs import taking, troubles, watching
from pipeline.kubeflow.jobs.api import KubernetesApi, StreamBroken, quota_exceeded
from pipeline.kubeflow.jobs.child import ChildJob
from pipeline.kubeflow.jobs.manifest import kind_of, manifest
from pipeline.kubeflow.jobs.troubles import Trouble

JOB, POD, LINE, LOG_ENDED = "job", "pod", "line", "log ended"
CHIEF = "0"
TAIL_LINES = 20
DRAIN_S = 30.0  # the chief's last lines come after the job has ended
UNREACHABLE = "HR-KFP-081"
TERMINATED = 128 + signal.SIGTERM


@dataclass(frozen=True)
class Patience:
    """How long a state that may pass is waited for.

    Args:
        schedule_s: for a node; autoscalers add one in minutes, a TPU slice in more.
        image_s: for an image; Kubernetes tries again by itself.
        leave_s: for an earlier attempt's job to go away.
        look_s: between two looks at the clock and the events.
        window_s: of one watch.
    """

    schedule_s: float = 900.0
    image_s: float = 180.0
    leave_s: float = taking.LEAVE_S
    look_s: float = 5.0
    window_s: float = watching.WINDOW_S

    def of(self, code: str) -> float:
        """Return the patience with a worker that waits."""
        return {troubles.SCHEDULING: self.schedule_s, troubles.IMAGE: self.image_s}.get(code, 0.0)


def run_child_job(
    job: ChildJob,
    api: KubernetesApi | None = None,
    on_line: Callable[[str], None] = print,
    patience: Patience | None = None,
) -> None:
    """Return once all workers have ended well; in every case the job is deleted, also when SIGTERM ends the step.

    A job whose API server does not answer any more is left for the next attempt, which takes it over.

    Args:
        api: of the cluster; that of the pod by default.
        on_line: called with each line of the chief's log and of what happens to the job.

    Raises:
        HeadraceError: HR-KFP-071 to HR-KFP-084, HR-KFP-087 to HR-KFP-089.
    """
    manifest(job)  # what is wrong with the settings is said before the cluster is asked
    api = api or KubernetesApi.connect()
    patience = patience or Patience()
    with ending_on_sigterm():
        removing = True
        try:
            found = taking.take(job, api, on_line, patience.leave_s)
            _Followed(job, api, on_line, patience, found["metadata"]["creationTimestamp"]).follow()
        except HeadraceError as error:
            removing = error.code != UNREACHABLE
            raise
        finally:
            if removing:
                taking.remove(job, api, on_line)


@contextlib.contextmanager
def ending_on_sigterm() -> Iterator[None]:
    """Turn SIGTERM into an exception where it would end the process at once; a handler that is there is kept."""
    if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGTERM) != signal.SIG_DFL:
        yield
        return

    def end(number: int, frame: object) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        sys.exit(TERMINATED)

    signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


@dataclass
class _Followed:
    """A job that runs, and what is known of its pods."""

    job: ChildJob
    api: KubernetesApi
    say: Callable[[str], None]
    patience: Patience
    created_at: str
    pods: dict[str, dict] = field(default_factory=dict)
    failures: dict[str, Trouble] = field(default_factory=dict)
    waits: dict[tuple[str, str], tuple[float, Trouble]] = field(default_factory=dict)
    said: set[str] = field(default_factory=set)
    followed: set[str] = field(default_factory=set)
    reading: int = 0
    news: queue.SimpleQueue = field(default_factory=queue.SimpleQueue)
    stopped: threading.Event = field(default_factory=threading.Event)

    def follow(self) -> None:
        """Return when the job has succeeded; raise what has become of it otherwise."""
        kind, job = kind_of(self.job), self.job
        place, window_s = taking.place_of(kind), self.patience.window_s
        until = time.monotonic() + job.timeout_s
        look_at = time.monotonic()

        def changes(of: str, where: str, **selectors: str) -> Iterator[tuple[str, object]]:
            found = watching.changes(self.api, where, job.namespace, self.stopped, window_s, **selectors)
            return ((of, change) for change in found)

        self._read(changes(JOB, place, fieldSelector=f"metadata.name={job.name}"))
        self._read(changes(POD, watching.PODS, labelSelector=job.pods))
        try:
            while True:
                with contextlib.suppress(queue.Empty):
                    what, news = self.news.get(timeout=max(0.0, min(look_at, until) - time.monotonic()))
                    if what == JOB and self._has_ended(*news):
                        return
                    self._take_in(what, news)
                if time.monotonic() >= until:
                    raise self._too_long()
                if time.monotonic() >= look_at:
                    self._look()
                    look_at = time.monotonic() + self.patience.look_s
        finally:
            self.stopped.set()

    def _read(self, found: Iterable[tuple[str, object]]) -> None:
        """Queue what is found, by a thread of its own; an error too."""

        def read() -> None:
            try:
                for each in found:
                    self.news.put(each)
                    if self.stopped.is_set():
                        return
            except Exception as error:
                self.news.put(("error", error))

        threading.Thread(target=read, name=f"follows {self.job.name}", daemon=True).start()

    def _take_in(self, what: str, news: object) -> None:
        if what == LINE:
            self.say(news)
        elif what == LOG_ENDED:
            self.reading -= 1
        elif what == POD:
            self._see(*news)
        elif what == "error":
            raise news

    def _has_ended(self, change: str, found: dict) -> bool:
        """Say whether the job has succeeded, with all that the chief has written.

        Raises:
            HeadraceError: when it has failed, is gone, or belongs to a later attempt.
        """
        if change == "DELETED" or not self.job.owns(found):
            raise self._gone("was deleted" if change == "DELETED" else "was taken over by a later attempt")
        end = taking.ended(found, kind_of(self.job))
        if not end:
            return False
        pods, _ = self.api.list(watching.PODS, self.job.namespace, labelSelector=self.job.pods)
        for pod in pods:
            self._see("MODIFIED", pod)
        self._drain()
        if end == "Failed":
            self._tell_tails(pods)
            says = next(c for c in found["status"]["conditions"] if c["type"] == "Failed")
            said = ": ".join(part for part in (says.get("reason"), says.get("message")) if part)
            raise troubles.failure_error(list(self.failures.values()), self.job.name, said)
        return True

    def _see(self, change: str, pod: dict) -> None:
        """Take in the state of a pod: its log if it is the chief's, its failure, or what it waits for."""
        uid, kind = pod["metadata"]["uid"], kind_of(self.job)
        self.waits = {key: wait for key, wait in self.waits.items() if key[0] != uid} if change == "DELETED" else self.waits
        if change == "DELETED":
            self.pods.pop(uid, None)
            return
        self.pods[uid] = pod
        worker, name = troubles.worker_of(pod, kind), pod["metadata"]["name"]
        if worker == CHIEF and uid not in self.followed and troubles.has_started(pod):
            self.followed.add(uid)
            self.reading += 1
            self._read(self._chief(name))
        trouble = troubles.trouble_of(pod, kind)
        if trouble and trouble.has_failed:
            if uid not in self.failures:
                self.failures[uid] = trouble
                self.say(str(trouble))
                if uid not in self.followed:
                    self._tell_tail(pod)
        elif trouble:
            since = self.waits.get((uid, trouble.code), (time.monotonic(),))[0]
            self.waits[uid, trouble.code] = since, trouble
            self._say_once(f"{trouble}")
        self.waits = {
            key: wait for key, wait in self.waits.items() if key[0] != uid or (trouble and key[1] == trouble.code)
        }

    def _chief(self, pod: str) -> Iterator[tuple[str, str]]:
        try:
            for line in watching.log_lines(self.api, self.job.namespace, pod, self.stopped):
                yield LINE, line
        except HeadraceError as error:  # a training is not lost for its log
            yield LINE, f"the chief's log cannot be read: {error}"
        yield LOG_ENDED, pod

    def _drain(self) -> None:
        """Pass on what the chief has still written."""
        until = time.monotonic() + DRAIN_S
        with contextlib.suppress(queue.Empty):
            while self.reading:
                what, news = self.news.get(timeout=max(0.0, until - time.monotonic()))
                if what in (LINE, LOG_ENDED):
                    self._take_in(what, news)

    def _look(self) -> None:
        """Raise the error of what has been waited for too long.

        Raises:
            HeadraceError: HR-KFP-073, HR-KFP-079, HR-KFP-082 or HR-KFP-089.
        """
        now = time.monotonic()
        for since, trouble in self.waits.values():
            if now - since >= self.patience.of(trouble.code):
                raise troubles.waiting_error(trouble, now - since)
        if len(self.pods) < self.job.workers.replicas:
            self._look_for_refused_pods(now)
        else:
            self.waits.pop(("", troubles.SCHEDULING), None)

    def _look_for_refused_pods(self, now: float) -> None:
        """Say why pods were not created: only events tell. Those of an earlier job of the name are left out."""
        events, _ = self.api.list("api/v1/events", self.job.namespace, fieldSelector="type=Warning")
        for event in events:
            about, message = event["involvedObject"].get("name", ""), event.get("message") or ""
            at = event.get("lastTimestamp") or event.get("eventTime") or self.created_at
            refused = event.get("reason", "").startswith("FailedCreate") and at >= self.created_at
            if refused and (about == self.job.name or about.startswith(f"{self.job.name}-")):
                self._say_once(f"a worker's pod was refused: {message}")
                if "exceeded quota" in message:
                    wait = self.waits.setdefault(("", troubles.SCHEDULING), (now, Trouble(troubles.SCHEDULING, "?", message)))
                    if now - wait[0] >= self.patience.schedule_s:
                        raise quota_exceeded(message)

    def _say_once(self, line: str) -> None:
        if line not in self.said:
            self.said.add(line)
            self.say(line)

    def _tell_tails(self, pods: list[dict]) -> None:
        for pod in pods:
            uid = pod["metadata"]["uid"]
            if uid not in self.followed and uid not in self.failures and troubles.has_started(pod):
                self._tell_tail(pod)

    def _tell_tail(self, pod: dict) -> None:
        """Say the last lines of a pod; one that is gone has none."""
        worker = troubles.worker_of(pod, kind_of(self.job))
        try:
            options = {"container": troubles.WORKER_CONTAINER, "tailLines": str(TAIL_LINES)}
            for line in self.api.log(self.job.namespace, pod["metadata"]["name"], **options):
                self.say(f"worker {worker} | {line}")
        except (HeadraceError, StreamBroken) as error:
            self.say(f"worker {worker}: its log cannot be read: {error}")

    def _too_long(self) -> HeadraceError:
        self._tell_tails(list(self.pods.values()))
        waits = [str(trouble) for _, trouble in self.waits.values()]
        phases = [
            f"worker {troubles.worker_of(pod, kind_of(self.job))}: {pod['status'].get('phase')}"
            for pod in self.pods.values()
        ]
        return HeadraceError(
            "HR-KFP-080",
            f"the child job {self.job.name} has not ended after {self.job.timeout_s} s",
            seen=waits or phases or ["no pods: a queue or a quota may hold them back"],
            expected="all workers ended in time",
            fix=["--set kubernetes.steps.Trainer.timeout_s=...", f"kubectl describe {kind_of(self.job).plural} {self.job.name}"],
        )

    def _gone(self, what: str) -> HeadraceError:
        return HeadraceError(
            "HR-KFP-088",
            f"the child job {self.job.name} {what}",
            seen=[f"{len(self.pods)} of its pods were running"],
            expected="a job that stays until the step has ended",
            fix=["retry the step, unless a later attempt is at work", "kubectl get events   may say who deleted it"],
        )
