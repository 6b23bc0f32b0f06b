"""The few calls of the Kubernetes API that a step makes, on the real client, with faults that pass tried again."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Callable, Iterator
from typing import Any

from pipeline.errors import HeadraceError, bounded

RETRY_S = 60.0  # an API server that restarts, or a load balancer that moves, is back by then
CONNECT_S = 10.0
READ_S = 30.0
PASSING = (429, 500, 502, 503, 504)
GRANTED = "k8s/base/runner.yaml, Role headrace-runner"
SERVER_SLACK_S = 15.0  # a watch ends by itself; a connection that is silent for longer than that is dead


class Gone(Exception):
    """The version that a watch starts from is no longer kept: list again."""


class StreamBroken(Exception):
    """A stream ended in the middle: ask again."""


class KubernetesApi:
    """Objects as plain JSON values.

    Args:
        client: a `kubernetes.client.ApiClient`.
        retry_s: how long a fault that passes is tried again.
    """

    def __init__(self, client: Any, retry_s: float = RETRY_S):
        self._client = client
        self._retry_s = retry_s

    @classmethod
    def connect(cls) -> KubernetesApi:
        """Return the API of the cluster that this pod runs in, or of the current kubectl context elsewhere.

        Raises:
            HeadraceError: HR-KFP-072 where there is neither.
        """
        from kubernetes import client, config

        configuration = client.Configuration()
        configuration.retries = False  # tried again here, with a bound and only where it helps
        try:
            try:
                config.load_incluster_config(configuration)
            except config.ConfigException:
                config.load_kube_config(client_configuration=configuration)
        except (config.ConfigException, OSError) as error:
            raise _no_access(bounded(error)) from None
        return cls(client.ApiClient(configuration))

    def create(self, place: str, namespace: str, body: dict) -> dict | None:
        """Return the object as created; None when its name is taken.

        Raises:
            HeadraceError: HR-KFP-072, 073, 081, 083 or 084, as for every call here.
        """
        return self._json("POST", place, namespace, "create", body=body, absent=(409,))

    def get(self, place: str, namespace: str, name: str) -> dict | None:
        """Return an object; None when there is none."""
        return self._json("GET", place, namespace, "get", name)

    def list(self, place: str, namespace: str, **selectors: str) -> tuple[list[dict], str]:
        """Return the objects that the selectors pick, and the version to watch from."""
        found = self._json("GET", place, namespace, "list", query=selectors, absent=())
        return found["items"], found["metadata"].get("resourceVersion", "")

    def patch(self, place: str, namespace: str, name: str, body: dict) -> dict | None:
        """Return the object merged with `body`; None when it is gone or has changed meanwhile."""
        return self._json("PATCH", place, namespace, "patch", name, body=body, absent=(404, 409))

    def delete(self, place: str, namespace: str, name: str, uid: str) -> None:
        """Delete an object and, before it, what it owns; one that is gone, or another of its name, is left."""
        body = {"propagationPolicy": "Foreground", "preconditions": {"uid": uid}}
        self._json("DELETE", place, namespace, "delete", name, body=body, absent=(404, 409))

    def watch(self, place: str, namespace: str, version: str, window_s: float, **selectors: str) -> Iterator[dict]:
        """Yield `{"type", "object"}` of what changes, until the window is over or the connection breaks.

        Raises:
            Gone: when the server no longer knows the version.
        """
        query = {
            **selectors,
            "watch": "true",
            "allowWatchBookmarks": "true",
            "resourceVersion": version,
            "timeoutSeconds": str(max(1, round(window_s))),
        }
        with contextlib.suppress(StreamBroken):
            for line in self._stream(place, namespace, "watch", "", query, read_s=window_s + SERVER_SLACK_S):
                event = json.loads(line)
                if event["type"] == "ERROR":
                    if event["object"].get("code") == 410:
                        raise Gone
                    return
                yield event

    def log(self, namespace: str, pod: str, *, read_s: float = READ_S, **options: str) -> Iterator[str]:
        """Yield the lines of a pod's log.

        Raises:
            StreamBroken: when the connection breaks before the end, or has been silent for `read_s`.
        """
        query = {name: value for name, value in options.items() if value}
        yield from self._stream("api/v1/pods", namespace, "get", f"{pod}/log", query, read_s=read_s)

    def _json(
        self,
        method: str,
        place: str,
        namespace: str,
        verb: str,
        name: str = "",
        *,
        query: dict | None = None,
        body: dict | None = None,
        absent: tuple[int, ...] = (404,),
    ) -> Any:
        def once() -> Any:
            response = self._send(method, place, namespace, name, query or {}, body, (CONNECT_S, READ_S))
            return json.loads(response.data)

        return self._tried(once, place, verb, name, absent)

    def _stream(self, place: str, namespace: str, verb: str, name: str, query: dict, read_s: float) -> Iterator[str]:
        import urllib3

        def once() -> Any:
            return self._send("GET", place, namespace, name, query, None, (CONNECT_S, read_s))

        response = self._tried(once, place, verb, name, absent=(404,))
        if response is None:
            return
        try:
            yield from _lines(response.stream(amt=None, decode_content=False))
        except (urllib3.exceptions.HTTPError, OSError) as error:
            raise StreamBroken(bounded(error)) from error
        finally:
            response.close()

    def _send(
        self, method: str, place: str, namespace: str, name: str, query: dict, body: dict | None, timeout_s: tuple
    ) -> Any:
        group, _, plural = place.rpartition("/")
        path = "/".join(part for part in ("", group, "namespaces", namespace, plural, name) if part or not group)
        headers = {"Accept": "application/json"}
        if body is not None:
            # a patch of the type that custom resources take; the client's own methods send one that they refuse
            headers["Content-Type"] = "application/merge-patch+json" if method == "PATCH" else "application/json"
        return self._client.call_api(
            f"/{path.lstrip('/')}",
            method,
            query_params=list(query.items()),
            header_params=headers,
            body=body,
            auth_settings=["BearerToken"],
            _return_http_data_only=True,
            _preload_content=False,
            _request_timeout=timeout_s,
        )

    def _tried(self, once: Callable[[], Any], place: str, verb: str, name: str, absent: tuple[int, ...]) -> Any:
        """Return what the call returns, or None for a status in `absent`; raise the others as coded errors."""
        import tenacity
        import urllib3
        from kubernetes.client import ApiException

        def passes(error: BaseException) -> bool:
            if isinstance(error, ApiException):
                return error.status in PASSING
            return isinstance(error, (urllib3.exceptions.HTTPError, OSError))

        try:
            for attempt in tenacity.Retrying(
                retry=tenacity.retry_if_exception(passes),
                wait=tenacity.wait_exponential_jitter(initial=0.2, max=10, jitter=0.2),
                stop=tenacity.stop_after_delay(self._retry_s),
                reraise=True,
            ):
                with attempt:
                    return once()
        except ApiException as error:
            if error.status in absent:
                return None
            if error.status == 410:
                raise Gone from None
            raise _coded(error, place, verb, name) from None
        except (urllib3.exceptions.HTTPError, OSError) as error:
            raise _unreachable(bounded(error), self._retry_s) from None


def _lines(chunks: Iterator[bytes]) -> Iterator[str]:
    """Yield whole lines; the rest of a line that a broken stream leaves comes again with the next one."""
    rest = b""
    for chunk in chunks:
        *whole, rest = (rest + chunk).split(b"\n")
        yield from (line.decode(errors="replace") for line in whole)
    if rest:
        yield rest.decode(errors="replace")


def _coded(error: Any, place: str, verb: str, name: str) -> HeadraceError:
    """Return what the API server refused in the terms of whoever can change it."""
    resource = place.rpartition("/")[2] + ("/log" if name.endswith("/log") else "")
    try:
        message = json.loads(error.body)["message"]
    except (TypeError, ValueError, KeyError):
        message = bounded(error.body or error.reason)
    if error.status == 401:
        return _no_access(message)
    if error.status == 403 and "exceeded quota" in message:
        return quota_exceeded(message)
    if error.status == 403 and re.search(r"is forbidden: User", message):
        return HeadraceError(
            "HR-KFP-074",
            f"the step's service account may not {verb} {resource}",
            seen=[message],
            expected=f"a Role that grants {verb} on {resource} to kubernetes.service_account",
            fix=[f"apply {GRANTED}", f"kubectl auth can-i {verb} {resource} --as=system:serviceaccount:NAMESPACE:NAME"],
        )
    if error.status == 404:
        return HeadraceError(
            "HR-KFP-084",
            f"the cluster does not know {resource}, or not that namespace",
            seen=[message],
            expected=f"the operator of {place.rpartition('/')[0] or resource} installed, and the namespace made",
            fix=["k8s/README.md says how to install it", "kubectl api-resources | grep -E 'jobset|tfjob'"],
        )
    if error.status in PASSING:
        return _unreachable(f"{error.status} {message}", None)
    return HeadraceError(
        "HR-KFP-083",
        f"Kubernetes refused to {verb} {resource}",
        seen=[f"{error.status} {message}"],
        expected="settings of kubernetes.steps that the cluster's rules admit",
        fix=["headrace config show TASK   prints kubernetes.steps; the message names the field or the policy"],
    )


def quota_exceeded(message: str) -> HeadraceError:
    """Return the error of a namespace whose quota is used up."""
    return HeadraceError(
        "HR-KFP-073",
        "the namespace's quota has no room for the workers",
        seen=[message],
        expected="enough of the quota free for all workers at once",
        fix=["kubectl describe resourcequota", "fewer workers, or less cpu, memory or accelerators for each"],
    )


def _no_access(seen: str) -> HeadraceError:
    return HeadraceError(
        "HR-KFP-072",
        "the step has no access to the Kubernetes API",
        seen=[seen],
        expected="a service account's token in the pod, or a kubectl context",
        fix=[f"kubernetes.service_account names an account made by {GRANTED}"],
    )


def _unreachable(seen: str, waited_s: float | None) -> HeadraceError:
    return HeadraceError(
        "HR-KFP-081",
        "the Kubernetes API does not answer" + (f", for {waited_s:g} s" if waited_s else ""),
        seen=[seen],
        expected="an answer of the API server",
        fix=["kubectl get --raw /readyz", "then retry the step: it takes up the job that it has started"],
    )
