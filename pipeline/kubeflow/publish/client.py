"""The connection to the Kubeflow Pipelines API: the services of the kfp client, with deadlines, retries, coded errors.

`kfp.Client` makes the connection. Its services are called directly, because its own methods know no deadline, print,
look for pipelines in one namespace only, and refuse a schedule that follows the latest version.
"""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pipeline.config.kubernetes import KubernetesConfig
from pipeline.errors import HeadraceError, bounded

TOKEN = "HEADRACE_KFP_TOKEN"
TIMEOUT_S = (5.0, 60.0)  # to connect; between two pieces of an answer
ATTEMPTS = 4
PASSING = (429, 502, 503, 504)
PAGE_SIZE = 100
NOT_FOUND, CONFLICT, SERVER_FAULT = 404, 409, 500


@dataclass(frozen=True)
class Api:
    """A connection.

    Args:
        host: address of the API and of its pages.
        namespace: profile namespace; None for a single-user installation.
        services: `kfp.Client`; its `pipelines`, `runs` and so on are the services of kfp-server-api.
        timeout_s: deadline to connect and deadline between two pieces of an answer.
    """

    host: str
    namespace: str | None
    services: Any
    timeout_s: tuple[float, float] = TIMEOUT_S

    def read(self, doing: str, call: Callable, **arguments) -> Any:
        """Call what changes nothing, again while the fault may pass.

        Args:
            doing: the end of the sentence "Kubeflow Pipelines failed to ...".
            call: a method of a service.
            arguments: its arguments.

        Raises:
            HeadraceError: HR-KFP-050, 052, 053, 062.
        """
        return self._retried(doing, lambda: call(**arguments, _request_timeout=self.timeout_s))

    def find(self, doing: str, call: Callable, **arguments) -> Any:
        """Return what `read` returns, or None when the API does not know it.

        Raises:
            HeadraceError: as `read`.
        """
        from kfp_server_api import ApiException

        def attempt() -> Any:
            try:
                return call(**arguments, _request_timeout=self.timeout_s)
            except ApiException as error:
                if error.status == NOT_FOUND:
                    return None
                raise

        return self._retried(doing, attempt)

    def write(self, doing: str, call: Callable, written: Callable[[], Any], **arguments) -> Any:
        """Create something once: after an attempt that may have succeeded, `written` looks for it before the next.

        Args:
            doing: as in `read`.
            call: a method of a service.
            written: returns what an earlier attempt or another process created, or None.
            arguments: of `call`.

        Raises:
            HeadraceError: as `read`.
        """

        def attempt() -> Any:
            try:
                return call(**arguments, _request_timeout=self.timeout_s)
            except _faults() as error:
                found = written() if _may_be_written(error) else None
                if found is None:
                    raise
                return found

        return self._retried(doing, attempt, unless_slow=True)

    def pages(self, doing: str, call: Callable, field: str, limit: int = 1000, **arguments) -> list:
        """Return the items of all pages of a list, at most `limit`.

        Raises:
            HeadraceError: as `read`.
        """
        found, token = [], ""
        while True:
            page = self.read(doing, call, page_token=token, page_size=PAGE_SIZE, **arguments)
            found += getattr(page, field) or []
            token = page.next_page_token
            if not token or len(found) >= limit:
                return found[:limit]

    def page(self, path: str) -> str:
        """Return the address of one of Kubeflow's pages."""
        return f"{self.host}/#/{path}"

    def _retried(self, doing: str, attempt: Callable[[], Any], unless_slow: bool = False) -> Any:
        import tenacity

        def may_pass(error: BaseException) -> bool:
            # an answer that is late may still be on its way: to create the same thing again would make two
            return _may_pass(error) and not (unless_slow and _is_late(error))

        retrying = tenacity.Retrying(
            retry=tenacity.retry_if_exception(may_pass),
            stop=tenacity.stop_after_attempt(ATTEMPTS),
            wait=tenacity.wait_exponential(multiplier=0.2, max=3),
            reraise=True,
        )
        try:
            return retrying(attempt)
        except _faults() as error:
            raise self._coded(error, doing) from None

    def _coded(self, error: Exception, doing: str) -> HeadraceError:
        status, message = getattr(error, "status", None) or 0, _message(error)
        what = f"Kubeflow Pipelines failed to {doing}"
        if status == 401:
            return HeadraceError(
                "HR-KFP-052",
                f"{what}: not signed in",
                seen=[f"{self.host} answers 401: {message}"],
                expected=f"credentials that are valid now ({TOKEN} is {'set' if os.environ.get(TOKEN) else 'not set'})",
                fix=[f"export {TOKEN}=$(kubectl create token SERVICE_ACCOUNT --audience pipelines.kubeflow.org)"],
            )
        if status == 403 or (status == 400 and "permission" in message.lower()):  # uploads answer 400
            where = f"namespace {self.namespace}" if self.namespace else "an installation without namespaces"
            return HeadraceError(
                "HR-KFP-053",
                f"{what}: no right to do so",
                seen=[f"{self.host} answers {status} for {where}: {message}"],
                expected="a user with the role kubeflow-edit in that namespace",
                fix=[
                    "--set kubernetes.namespace=YOUR_PROFILE",
                    "kubectl get rolebindings -n NAMESPACE   says who may",
                ],
            )
        if status and status < SERVER_FAULT and status not in PASSING:
            return HeadraceError(
                "HR-KFP-062",
                f"{what}: the server refuses the request",
                seen=[f"{status}: {message}"],
                fix=["headrace kubeflow compile TASK -o FILE   checks what the server checks"],
            )
        return HeadraceError(
            "HR-KFP-050",
            what,
            seen=[f"{self.host}: {f'{status}: ' if status else ''}{message}"],
            expected="an answer of the API",
            fix=[
                "repeat the command: what is there already is recognised",
                "kubectl port-forward -n kubeflow svc/ml-pipeline 8888:8888   for http://localhost:8888",
            ],
        )


def connect(cluster: KubernetesConfig) -> Api:
    """Return a connection to the API of `kubernetes.host` after it has answered once.

    Raises:
        HeadraceError: HR-KFP-050, 051, 052, 053, 063, 067.
    """
    if not cluster.host:
        raise HeadraceError(
            "HR-KFP-051",
            "nothing says where the Kubeflow Pipelines API is",
            seen=["kubernetes.host is empty"],
            expected="an address such as http://localhost:8888",
            fix=["--set kubernetes.host=http://localhost:8888", "--env NAME   an environment file that sets it"],
        )
    host = cluster.host.rstrip("/")
    host = host if host.startswith(("http://", "https://")) else f"https://{host}"
    token = os.environ.get(TOKEN) or None
    namespace = cluster.namespace or None
    try:
        import kfp
    except ImportError as error:
        raise HeadraceError(
            "HR-KFP-063", "the kfp client is missing", seen=[str(error)], fix=["pip install kfp   or: make setup"]
        ) from None
    _require_answer(Api(host, namespace, None), token)
    with warnings.catch_warnings():  # it warns that it does not speak with Kubeflow Pipelines 1
        warnings.simplefilter("ignore", FutureWarning)
        client = kfp.Client(host=host, namespace=namespace or "kubeflow", existing_token=token)
    return Api(host, namespace, client)


def named(name: str, operation: str = "EQUALS") -> str:
    """Return the API's filter by display name. Source: backend/api/v2beta1/filter.proto."""
    return json.dumps({"predicates": [{"operation": operation, "key": "display_name", "stringValue": name}]})


def _require_answer(api: Api, token: str | None) -> None:
    """Ask for the server's health: `kfp.Client` would try for 25 s and log tracebacks."""
    import kfp_server_api

    settings = kfp_server_api.Configuration(host=api.host)
    if token:
        settings.api_key = {"authorization": token}
        settings.api_key_prefix = {"authorization": "Bearer"}
    client = kfp_server_api.ApiClient(settings)
    api.read("answer", kfp_server_api.HealthzServiceApi(client).healthz_service_get_healthz)
    text = client.last_response.data
    try:
        answer = json.loads(text)
    except ValueError:
        answer = None
    if not isinstance(answer, dict):
        raise HeadraceError(
            "HR-KFP-067",
            f"what answers at {api.host} is not the Kubeflow Pipelines API",
            seen=[bounded(text, 120)],
            expected="JSON from /apis/v2beta1/healthz",
            fix=[f"export {TOKEN}=...   when it is a sign-in page", "--set kubernetes.host=http://localhost:8888"],
        )


def _faults() -> tuple[type[Exception], ...]:
    from kfp_server_api import ApiException
    from urllib3.exceptions import HTTPError

    return (ApiException, HTTPError)


def _may_pass(error: BaseException) -> bool:
    status = getattr(error, "status", None)
    return isinstance(error, _faults()) and (status is None or status in PASSING)


def _is_late(error: BaseException) -> bool:
    from urllib3.exceptions import ReadTimeoutError

    return isinstance(error, ReadTimeoutError) or isinstance(getattr(error, "reason", None), ReadTimeoutError)


def _may_be_written(error: Exception) -> bool:
    status = getattr(error, "status", None)
    # servers before 2.5 answer 400 or 500 where later ones say 409
    return status is None or status == CONFLICT or status >= SERVER_FAULT or "already exist" in _message(error)


def _message(error: Exception) -> str:
    """Return the server's message: gRPC's `message`, or `error_message` where uploads answer."""
    body = getattr(error, "body", None)
    try:
        answer = json.loads(body or "")
    except ValueError:
        answer = {}
    found = answer.get("message") or answer.get("error_message") if isinstance(answer, dict) else None
    return bounded(found or body or getattr(error, "reason", None) or error, 240)
