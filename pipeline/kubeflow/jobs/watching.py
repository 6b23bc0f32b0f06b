"""What happens to objects and what pods write, as endless streams over connections that end."""

from __future__ import annotations

import re
import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator

from pipeline.kubeflow.jobs.api import Gone, KubernetesApi, StreamBroken
from pipeline.kubeflow.jobs.pods import CONTAINER

PODS = "api/v1/pods"
WINDOW_S = 60.0  # of one watch; the server ends it, and the next one goes on from its last version
LOG_SILENCE_S = 300.0  # a connection that dies without a word is noticed after that long
PAUSE_S = 0.5
STAMP = re.compile(r"^(?P<second>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(\.\d+)?(?P<zone>Z|[+-]\d\d:\d\d) ")


def changes(
    api: KubernetesApi,
    place: str,
    namespace: str,
    stopped: threading.Event,
    window_s: float = WINDOW_S,
    known: Iterable[dict] = (),
    **selectors: str,
) -> Iterator[tuple[str, dict]]:
    """Yield (ADDED, MODIFIED or DELETED, object): all that there are beside `known`, then what changes.

    A version that the server has forgotten, or a watch that ends early, leads to a new list; what is missing there was
    deleted meanwhile.
    """
    known = {each["metadata"]["uid"]: each for each in known}
    version = ""
    while not stopped.is_set():
        if not version:
            found, version = api.list(place, namespace, **selectors)
            now = {each["metadata"]["uid"]: each for each in found}
            for uid in known.keys() - now.keys():
                yield "DELETED", known.pop(uid)
            for uid, each in now.items():
                before = known.get(uid)
                if before is None or before["metadata"]["resourceVersion"] != each["metadata"]["resourceVersion"]:
                    yield "MODIFIED" if before else "ADDED", each
            known = now
        began = time.monotonic()
        try:
            for event in api.watch(place, namespace, version, window_s, **selectors):
                each = event["object"]
                version = each["metadata"]["resourceVersion"]
                if event["type"] == "BOOKMARK":
                    continue
                if event["type"] == "DELETED":
                    known.pop(each["metadata"]["uid"], None)
                else:
                    known[each["metadata"]["uid"]] = each
                yield event["type"], each
        except Gone:
            version = ""
        if time.monotonic() - began < round(window_s):
            version = ""
            stopped.wait(PAUSE_S)


def log_lines(api: KubernetesApi, namespace: str, pod: str, stopped: threading.Event) -> Iterator[str]:
    """Yield the lines of a pod's log to its end, each once.

    After a break the log is asked for from the last line's second on, which is as exactly as the API can be asked; the
    lines of that second that were already read are left out. Lines that the node has rotated away meanwhile are lost.
    """
    second, seen = "", Counter()
    while not stopped.is_set():
        ended = has_ended(api.get(PODS, namespace, pod))  # before reading: what is written after it is read again
        repeated = Counter(seen)
        options = {"container": CONTAINER, "follow": "true", "timestamps": "true", "sinceTime": second}
        try:
            for line in api.log(namespace, pod, read_s=LOG_SILENCE_S, **options):
                if repeated[line]:
                    repeated[line] -= 1
                    continue
                stamp = STAMP.match(line)
                if stamp and (at := stamp["second"] + stamp["zone"]) != second:
                    second, seen = at, Counter()
                seen[line] += 1
                yield line[stamp.end() :] if stamp else line
        except StreamBroken:
            ended = False
        if ended:
            return
        stopped.wait(PAUSE_S)


def has_ended(pod: dict | None) -> bool:
    """Say whether a pod's container has ended for good; one that is gone has."""
    return pod is None or pod.get("status", {}).get("phase") in ("Succeeded", "Failed")
