"""The REST API of TensorFlow Serving: predict, status and metadata, with its paths, bodies and codes.

Source: model_servers/http_rest_api_handler.cc and http_rest_api_util.cc, by behaviour.
"""

from __future__ import annotations

import contextlib
import re
import sys
import threading
import urllib.parse
from collections.abc import Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socketserver import TCPServer

from pipeline.serving.json_answer import error_json, predict_json
from pipeline.serving.json_tensor import parse_predict, read_tensors
from pipeline.serving.protos import metadata_json, status_json
from pipeline.serving.status import Code, ServingError, invalid_argument
from pipeline.serving.storage import ModelManager

JSON = "application/json"
_WHERE = r"(?:(?:/versions/(\d+))|(?:/labels/([^/:]+)))?"
_POST_PATH = re.compile(rf"(?i:/v1/models/([^/:]+){_WHERE}:(classify|regress|predict))")
_GET_PATH = re.compile(rf"(?i:/v1/models(?:/([^/:]+))?{_WHERE}(?:/(metadata))?)")


@dataclass(frozen=True)
class Answer:
    """An HTTP answer."""

    http_code: int
    content_type: str
    body: str


def answer(manager: ModelManager, method: str, path: str, body: bytes) -> Answer:
    """Return the answer to one request."""
    if not path.lower().startswith("/v1/"):
        return Answer(404, "text/plain", "Not Found\n")
    try:
        return Answer(200, JSON, _dispatch(manager, method, path, body))
    except ServingError as error:
        return Answer(error.http_code, JSON, error_json(error.message))
    except Exception as error:  # a defect: the client gets an answer, and the connection lives on
        return Answer(500, JSON, error_json(f"{type(error).__name__}: {error}"))


def _dispatch(manager: ModelManager, method: str, path: str, body: bytes) -> str:
    match = {"POST": _POST_PATH, "GET": _GET_PATH}[method].fullmatch(path) if method in ("POST", "GET") else None
    if match is None:
        raise invalid_argument(f"Malformed request: {method} {path}")
    name, version_text, label, last = match.groups()
    name = urllib.parse.unquote(name or "", errors="surrogateescape")
    label = urllib.parse.unquote(label, errors="surrogateescape") if label else None
    version = int(version_text) if version_text else None
    if version is not None and version >= 2**63:
        raise invalid_argument(f"Failed to convert version: {version_text} to numeric.")
    if method == "GET":
        if not name:
            raise invalid_argument("Missing model name in request.")
        if last == "metadata":
            with manager.acquire(name, version, label) as handle:
                return metadata_json(name, handle)
        return status_json(manager.statuses(name, version))  # a label is not looked at, as in TensorFlow Serving
    if last == "predict":
        return _predict(manager, name, version, label, body)
    if last in ("classify", "regress"):
        raise ServingError(Code.UNIMPLEMENTED, f"This server does not offer :{last}. Use :predict.")
    raise invalid_argument(f"Malformed request: {method} {path}")  # the verb matched in another case


def _predict(manager: ModelManager, name: str, version: int | None, label: str | None, body: bytes) -> str:
    request = parse_predict(body)  # first: a body that is not JSON is reported before a model that is not there
    with manager.acquire(name, version, label) as handle:
        signature = handle.model.signatures.get(request.signature)
        if signature is None:
            raise invalid_argument(f'Serving signature name: "{request.signature}" not found in signature def')
        dtypes = {alias: spec.dtype for alias, spec in sorted(signature.inputs.items())}
        outputs = handle.model.predict(request.signature, read_tensors(request, dtypes))
    return predict_json(outputs, request.by_row)


class RestServer(ThreadingHTTPServer):
    """HTTP/1.1 with keep-alive, one thread a connection.

    Args:
        manager: what is served.
        host: address to listen on.
        port: 0 for any free one; `server_port` says which. Nothing is accepted before `start`.
    """

    daemon_threads = True
    allow_reuse_port = False
    request_queue_size = 128

    def __init__(self, manager: ModelManager, host: str, port: int) -> None:
        """Bind the port. Raises: OSError if it is in use."""
        super().__init__((host, port), _Handler, bind_and_activate=False)
        self.manager = manager
        self.draining = False
        self._idle = threading.Condition()
        self._in_flight = 0
        self._thread: threading.Thread | None = None
        try:
            self.server_bind()
        except OSError:
            self.server_close()
            raise

    def server_bind(self) -> None:
        """Bind without the reverse name look-up of HTTPServer, which can take seconds."""
        TCPServer.server_bind(self)
        self.server_name, self.server_port = self.server_address[:2]

    def start(self) -> None:
        """Accept requests in a thread."""
        self.server_activate()
        self._thread = threading.Thread(target=self.serve_forever, args=(0.05,), name="rest", daemon=True)
        self._thread.start()

    def drain(self, timeout_s: float) -> bool:
        """Accept no further connection, let requests in flight finish, and say whether all did."""
        self.draining = True
        if self._thread:
            self.shutdown()
            self._thread.join()
        self.server_close()
        with self._idle:
            return self._idle.wait_for(lambda: self._in_flight == 0, timeout_s)

    @contextlib.contextmanager
    def in_flight(self) -> Iterator[None]:
        """Count a request that a drain waits for."""
        with self._idle:
            self._in_flight += 1
        try:
            yield
        finally:
            with self._idle:
                self._in_flight -= 1
                self._idle.notify_all()

    def handle_error(self, request, client_address) -> None:
        """Keep quiet about clients that hang up; anything else is a defect and is shown."""
        if not isinstance(sys.exc_info()[1], ConnectionError | TimeoutError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1  # headers and body leave in one segment; in two, delayed acknowledgements add 40 ms

    def _answer(self) -> None:
        with self.server.in_flight():
            try:
                body = self._read_body()
            except ValueError:
                self.send_error(400, "Bad Content-Length or chunk size")
                return
            path = self.path.split("?", 1)[0]
            reply = answer(self.server.manager, self.command, path, body)
            content = reply.body.encode("utf-8", "surrogateescape")
            if self.server.draining:
                self.close_connection = True
            self.send_response(reply.http_code)
            self.send_header("Content-Type", reply.content_type)
            self.send_header("Content-Length", str(len(content)))
            if self.close_connection:
                self.send_header("Connection", "close")
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(content)
            self.wfile.flush()

    do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = do_PATCH = do_OPTIONS = _answer

    def _read_body(self) -> bytes:
        if "chunked" not in self.headers.get("Transfer-Encoding", "").lower():
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        parts = []
        while size := int(self.rfile.readline().split(b";")[0], 16):
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        while self.rfile.readline().strip():  # trailers
            pass
        return b"".join(parts)

    def log_message(self, format: str, *args) -> None:
        """Stay quiet: a line a request is a proxy's work."""
