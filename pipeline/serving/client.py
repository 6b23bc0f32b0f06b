"""A client of the REST API: of the local server, or of the real TensorFlow Serving."""

from __future__ import annotations

import base64
import contextlib
import http.client
import json
from collections.abc import Iterator, Mapping, Sequence

from pipeline.errors import HeadraceError


class Client:
    """One keep-alive connection to one model; one thread at a time.

    Args:
        model_name: name in the URLs.
        host: server address.
        port: REST port.
        timeout_s: longest wait for one answer.
    """

    def __init__(self, model_name: str, host: str = "127.0.0.1", port: int = 8501, timeout_s: float = 30.0) -> None:
        self.model_name = model_name
        self._connection = http.client.HTTPConnection(host, port, timeout=timeout_s)
        self._known: dict[tuple, dict[str, dict]] = {}

    def __enter__(self) -> Client:
        """Return the client itself."""
        return self

    def __exit__(self, *exception: object) -> None:
        """Close the connection."""
        self.close()

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def predict(
        self, rows: Sequence[Mapping[str, object]], signature: str = "raw", version: int | None = None
    ) -> list[list[float]]:
        """Return the model's outputs of each row.

        Args:
            rows: one value a raw feature; bytes are sent as base64, None as the signature's missing value.
            signature: signature that takes the features by name.
            version: a version; the latest if None.

        Raises: HR-SERVE-004 if the server cannot be reached, HR-SERVE-005 if it refuses the request.
        """
        if not rows:
            return []
        inputs = self._inputs(signature, version)
        instances = [{name: _instance(value, inputs.get(name, {})) for name, value in row.items()} for row in rows]
        body = {"signature_name": signature, "instances": instances}
        predictions = self._call("POST", f"{self._path(version)}:predict", body)["predictions"]
        return [row if isinstance(row, list) else [row] for row in predictions]

    def status(self, version: int | None = None) -> list[dict]:
        """Return the state of every version, newest first: `version` (text), `state`, `status`."""
        return self._call("GET", self._path(version))["model_version_status"]

    def metadata(self, version: int | None = None) -> dict:
        """Return `model_spec` and `metadata` of the version that answers."""
        return self._call("GET", f"{self._path(version)}/metadata")

    def _path(self, version: int | None) -> str:
        return f"/v1/models/{self.model_name}" + ("" if version is None else f"/versions/{version}")

    def _inputs(self, signature: str, version: int | None) -> dict[str, dict]:
        """Return the TensorInfo of each input of a signature, as JSON."""
        if (signature, version) not in self._known:
            signatures = self.metadata(version)["metadata"]["signature_def"]["signature_def"]
            self._known[signature, version] = signatures.get(signature, {}).get("inputs", {})
        return self._known[signature, version]

    def _call(self, method: str, path: str, body: dict | None = None) -> dict:
        content = None if body is None else json.dumps(body, ensure_ascii=False).encode()
        with self._reachable():
            self._connection.request(method, path, content, {"Content-Type": "application/json"} if content else {})
            response = self._connection.getresponse()
            text = response.read().decode("utf-8", "replace")
        if response.status != 200:
            metadata = f"http://{self._connection.host}:{self._connection.port}{self._path(None)}/metadata"
            raise HeadraceError(
                "HR-SERVE-005",
                f"the server refused {method} {path}",
                seen=[f"HTTP {response.status}: {_message(text)}"],
                expected="HTTP 200",
                fix=[f"curl -s {metadata} lists the inputs"],
            )
        return json.loads(text)

    @contextlib.contextmanager
    def _reachable(self) -> Iterator[None]:
        try:
            yield
        except (OSError, http.client.HTTPException) as error:
            self._connection.close()
            raise HeadraceError(
                "HR-SERVE-004",
                f"no answer from {self._connection.host}:{self._connection.port}",
                seen=[f"{type(error).__name__}: {error}"],
                expected=f"a server of model {self.model_name}",
                fix=[f"headrace serve {self.model_name} --port {self._connection.port}"],
            ) from error


def _message(text: str) -> str:
    try:
        return json.loads(text)["error"]
    except (ValueError, KeyError, TypeError):
        return text


def _instance(value: object, info: Mapping[str, object]) -> object:
    """Return a value as JSON, in one list for each dimension after the batch."""
    if value is None:
        value = "" if info.get("dtype") == "DT_STRING" else float("nan")
    elif isinstance(value, bytes):
        value = {"b64": base64.b64encode(value).decode("ascii")}
    if not isinstance(value, list):
        for _ in info.get("tensor_shape", {}).get("dim", [])[1:]:
            value = [value]
    return value
