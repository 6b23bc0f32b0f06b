"""Follow a child job to its end: the chief's log, what becomes of each worker, and what they wait for.

Threads read the API and queue what they find; the step's own thread alone decides and prints, so that a signal finds it
waiting for the queue.
"""

from __future__ import annotations

import contextlib
import queue
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from pipeline.errors import HeadraceError
from pipeline.kubeflow.jobs import taking, troubles, watching
from pipeline.kubeflow.jobs.api import KubernetesApi, StreamBroken
from pipeline.kubeflow.jobs.child import ChildJob
from pipeline.kubeflow.jobs.manifest import kind_of
from pipeline.kubeflow.jobs.pods import CONTAINER
from pipeline.kubeflow.jobs.troubles import Trouble
from pipeline.kubeflow.jobs.waits import Patience, Waits

JOB, POD, LINE, LOG_ENDED, ERROR = "job", "pod", "line", "log ended", "error"
EVENTS = "api/v1/events"
CHIEF = "0"
TAIL_LINES = 20
DRAIN_S = 30.0  # the chief's last lines come after the job has ended


@dataclass
class Followed:
    """A job that runs.

    Args:
        say: called with each line for people.
        found: the job as it was created or taken over.
    """

    job: ChildJob
    api: KubernetesApi
    say: Callable[[str], None]
    patience: Patience
    found: dict

    def __post_init__(self) -> None:
        self._kind = kind_of(self.job)
        self._created_at = self.found["metadata"]["creationTimestamp"]
        self._pods: dict[str, dict] = {}
        self._failures: dict[str, Trouble] = {}
        self._waits = Waits(self.patience)
        self._said: set[str] = set()
        self._chiefs: set[str] = set()  # pods whose whole log is passed on
        self._logs_open = 0
        self._news: queue.SimpleQueue = queue.SimpleQueue()
        self._stopped = threading.Event()

    def follow(self) -> None:
        """Return when the job has succeeded.

        Raises:
            HeadraceError: HR-KFP-072 to HR-KFP-074, HR-KFP-076 to HR-KFP-084, HR-KFP-087 to HR-KFP-089.
        """
        until = time.monotonic() + self.job.timeout_s
        look_at = time.monotonic() + self.patience.look_s
        self._news.put((JOB, ("ADDED", self.found)))
        only = f"metadata.name={self.job.name}"
        self._read(self._changes(JOB, taking.place_of(self._kind), known=[self.found], fieldSelector=only))
        self._read(self._changes(POD, watching.PODS, labelSelector=self.job.pods))
        try:
            while True:
                with contextlib.suppress(queue.Empty):
                    what, news = self._news.get(timeout=max(0.0, min(look_at, until) - time.monotonic()))
                    if what == JOB and self._has_succeeded(*news):
                        return
                    self._take_in(what, news)
                if time.monotonic() >= until:
                    raise self._too_long()
                if time.monotonic() >= look_at:
                    self._look()
                    look_at = time.monotonic() + self.patience.look_s
        finally:
            self._stopped.set()

    def _changes(self, what: str, place: str, **options: Any) -> Iterator[tuple[str, object]]:
        namespace, window_s = self.job.namespace, self.patience.window_s
        for change in watching.changes(self.api, place, namespace, self._stopped, window_s, **options):
            yield what, change

    def _chief_log(self, pod: str) -> Iterator[tuple[str, object]]:
        try:
            for line in watching.log_lines(self.api, self.job.namespace, pod, self._stopped):
                yield LINE, line
        except HeadraceError as error:  # a training is not lost for its log
            yield LINE, f"the chief's log cannot be read: {error}"
        yield LOG_ENDED, pod

    def _read(self, found: Iterable[tuple[str, object]]) -> None:
        """Queue what is found, in a thread of its own."""

        def read() -> None:
            try:
                for each in found:
                    self._news.put(each)
                    if self._stopped.is_set():
                        return
            except Exception as error:
                self._news.put((ERROR, error))

        threading.Thread(target=read, name=f"follows {self.job.name}", daemon=True).start()

    def _take_in(self, what: str, news: object) -> None:
        if what == LINE:
            self.say(news)
        elif what == LOG_ENDED:
            self._logs_open -= 1
        elif what == POD:
            self._see(*news)
        elif what == ERROR:
            raise news

    def _has_succeeded(self, change: str, found: dict) -> bool:
        """Say whether the job has succeeded, once all that the chief has written is passed on.

        Raises:
            HeadraceError: when it has failed, is gone, or belongs to a later attempt.
        """
        if change == "DELETED":
            raise self._gone("was deleted")
        if not self.job.owns(found):
            raise self._gone("was taken over by a later attempt")
        if taking.condition(found, "Suspended"):
            self._say_once(f"{self.job.name} waits in the queue {self.job.workers.queue}")
        end = taking.ended(found, self._kind)
        if not end:
            return False
        pods, _ = self.api.list(watching.PODS, self.job.namespace, labelSelector=self.job.pods)
        for pod in pods:
            self._see("MODIFIED", pod)
        self._drain()
        if end == "Failed":
            self._tell_tails()
            failed = taking.condition(found, "Failed")
            says = ": ".join(part for part in (failed.get("reason"), failed.get("message")) if part)
            raise troubles.failure_error(list(self._failures.values()), self.job.name, says)
        return True

    def _see(self, change: str, pod: dict) -> None:
        """Take in the state of a pod: the log if it is the chief's, a failure, what it waits for."""
        uid = pod["metadata"]["uid"]
        if change == "DELETED":
            self._pods.pop(uid, None)
            self._waits.note(uid, None)
            return
        self._pods[uid] = pod
        if troubles.worker_of(pod, self._kind) == CHIEF and uid not in self._chiefs and troubles.has_started(pod):
            self._chiefs.add(uid)
            self._logs_open += 1
            self._read(self._chief_log(pod["metadata"]["name"]))
        trouble = troubles.trouble_of(pod, self._kind)
        self._waits.note(uid, None if trouble and trouble.has_failed else trouble)
        if trouble and uid not in self._failures:
            self._say_once(str(trouble), about=uid)
            if trouble.has_failed:
                self._failures[uid] = trouble
                self._tell_tail(pod)

    def _drain(self) -> None:
        """Pass on what the chief has still written."""
        until = time.monotonic() + DRAIN_S
        with contextlib.suppress(queue.Empty):
            while self._logs_open:
                what, news = self._news.get(timeout=max(0.0, until - time.monotonic()))
                if what in (LINE, LOG_ENDED):
                    self._take_in(what, news)

    def _look(self) -> None:
        """Find out what has been waited for too long, and why pods are missing.

        Raises:
            HeadraceError: HR-KFP-073, HR-KFP-079, HR-KFP-082 or HR-KFP-089.
        """
        refused = self._refused_pod() if len(self._pods) < self.job.workers.replicas else None
        if refused:
            self._say_once(str(refused))
        self._waits.note(self.job.name, refused)
        self._waits.check()

    def _refused_pod(self) -> Trouble | None:
        """Return why a pod could not be created: only events tell. Those of an earlier job of the name are left out."""
        events, _ = self.api.list(EVENTS, self.job.namespace, fieldSelector="type=Warning")
        for event in events:
            about = event["involvedObject"].get("name", "")
            at = event.get("lastTimestamp") or event.get("eventTime") or self._created_at
            own = about == self.job.name or about.startswith(f"{self.job.name}-")
            if own and at >= self._created_at and event.get("reason", "").startswith("FailedCreate"):
                return troubles.refused_pod(event.get("message") or "")
        return None

    def _say_once(self, line: str, about: str = "") -> None:
        if about + line not in self._said:
            self._said.add(about + line)
            self.say(line)

    def _tell_tails(self) -> None:
        for uid, pod in list(self._pods.items()):
            if uid not in self._failures and troubles.has_started(pod):
                self._tell_tail(pod)

    def _tell_tail(self, pod: dict) -> None:
        """Say the last lines of a pod other than the chief's; one that is gone has none."""
        if pod["metadata"]["uid"] in self._chiefs:
            return
        worker = troubles.worker_of(pod, self._kind)
        options = {"container": CONTAINER, "tailLines": str(TAIL_LINES)}
        try:
            for line in self.api.log(self.job.namespace, pod["metadata"]["name"], **options):
                self.say(f"worker {worker} | {line}")
        except (HeadraceError, StreamBroken) as error:
            self.say(f"worker {worker}: its log cannot be read: {error}")

    def _too_long(self) -> HeadraceError:
        self._tell_tails()
        phases = [
            f"worker {troubles.worker_of(pod, self._kind)}: {(pod.get('status') or {}).get('phase')}"
            for pod in self._pods.values()
        ]
        return HeadraceError(
            "HR-KFP-080",
            f"the child job {self.job.name} has not ended after {self.job.timeout_s} s",
            seen=self._waits.lines() or phases or ["no pods: a queue or a quota holds them back"],
            expected="all workers ended in time",
            fix=[
                "--set kubernetes.steps.Trainer.timeout_s=...",
                f"kubectl describe {self._kind.plural} {self.job.name}",
            ],
        )

    def _gone(self, what: str) -> HeadraceError:
        return HeadraceError(
            "HR-KFP-088",
            f"the child job {self.job.name} {what}",
            seen=[f"{len(self._pods)} of its {self.job.workers.replicas} pods were there"],
            expected="a job that stays until the step has ended",
            fix=["retry the step, unless a later attempt is at work", "kubectl get events   may say who deleted it"],
        )
