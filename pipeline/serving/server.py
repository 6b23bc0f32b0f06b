"""The local model server: REST and gRPC on one model, until it is told to stop.

It stands in for tensorflow_model_server on a laptop and speaks its API. Production uses the `tensorflow/serving` image.
"""

from __future__ import annotations

import json
import signal
import threading
from collections.abc import Callable, Mapping

from pipeline.environment import prepare
from pipeline.serving import ports
from pipeline.serving.example_row import to_instance
from pipeline.serving.grpc_server import make_grpc_server
from pipeline.serving.rest import RestServer
from pipeline.serving.storage import POLL_S, ModelManager

REST_PORT = 8501  # TensorFlow Serving's own
GRPC_PORT = 8500
DRAIN_S = 30.0


class ModelServer:
    """A running server; make it with `start`.

    Args:
        manager: what it serves.
        rest: bound and not yet started.
        grpc_server: bound and not yet started.
        grpc_port: the port it got.
    """

    def __init__(self, manager: ModelManager, rest: RestServer, grpc_server, grpc_port: int) -> None:
        self.manager = manager
        self.rest_port = rest.server_port
        self.grpc_port = grpc_port
        self._rest = rest
        self._grpc = grpc_server
        rest.start()
        grpc_server.start()

    def stop(self, drain_s: float = DRAIN_S) -> bool:
        """Take no new request, let those in flight finish for at most `drain_s`, and say whether all did."""
        grpc_done = self._grpc.stop(drain_s)
        rest_drained = self._rest.drain(drain_s)
        grpc_drained = grpc_done.wait(drain_s)
        self.manager.stop()
        return rest_drained and grpc_drained


def start(
    model_name: str,
    base_path: str,
    rest_port: int = REST_PORT,
    grpc_port: int = GRPC_PORT,
    host: str = "127.0.0.1",
    say: Callable[[str], None] = lambda line: None,
    poll_s: float = POLL_S,
) -> ModelServer:
    """Load the latest version, then open both ports; port 0 takes a free one.

    Raises: HR-SERVE-001 if a port is in use, HR-SERVE-002 if there is no version, HR-SERVE-003 if it does not load.
    """
    prepare()
    manager = ModelManager(model_name, base_path, say)
    try:
        rest = RestServer(manager, host, rest_port)
    except OSError as error:
        raise ports.port_in_use(host, rest_port, "--port") from error
    try:
        ports.check_free(host, grpc_port, "--grpc-port")
        manager.load_first()
        try:
            grpc_server, bound = make_grpc_server(manager, host, grpc_port)
        except RuntimeError as error:
            raise ports.port_in_use(host, grpc_port, "--grpc-port") from error
    except BaseException:
        rest.server_close()
        manager.stop()
        raise
    manager.start_polling(poll_s)
    return ModelServer(manager, rest, grpc_server, bound)


def serve(
    model_name: str,
    base_path: str,
    rest_port: int = REST_PORT,
    grpc_port: int = GRPC_PORT,
    host: str = "127.0.0.1",
    say: Callable[[str], None] = print,
    row: Mapping[str, object] | None = None,
) -> None:
    """Serve until SIGTERM or Ctrl-C, then drain. Call it in the main thread.

    Args:
        model_name: name in the URLs.
        base_path: folder of numbered versions.
        rest_port: port of the REST API.
        grpc_port: port of the gRPC API.
        host: address to listen on.
        say: receives each line that a person reads.
        row: raw features for the request to paste; see `example_row.read_example_row`.

    Raises: HR-SERVE-001, HR-SERVE-002, HR-SERVE-003.
    """
    stopping = threading.Event()
    names: list[str] = []

    def on_signal(number: int, frame: object) -> None:
        names.append(signal.Signals(number).name)
        stopping.set()

    before = {number: signal.signal(number, on_signal) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        server = start(model_name, base_path, rest_port, grpc_port, host, say)
        for line in ready_lines(server, model_name, host, row):
            say(line)
        while not stopping.wait(1.0):
            pass
        say(f"{names[0]}: finishing the requests in flight")
        say("stopped" if server.stop() else f"stopped; some requests took longer than {DRAIN_S:.0f} s and were cut")
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def ready_lines(server: ModelServer, model_name: str, host: str, row: Mapping[str, object] | None) -> list[str]:
    """Return what a person reads once the server is ready: the URLs and a request to paste."""
    url = f"http://{host}:{server.rest_port}/v1/models/{model_name}"
    with server.manager.acquire(model_name) as handle:
        version = handle.version
        signature = handle.model.signatures.get("raw")
    lines = [f"{model_name} version {version}", f"REST  {url}", f"gRPC  {host}:{server.grpc_port}"]
    if signature:
        instance = to_instance(row or {}, signature)
        body = json.dumps({"signature_name": "raw", "instances": [instance]}, ensure_ascii=False)
        quoted = body.replace("'", "'\\''")
        lines.append(f"try   curl -s {url}:predict -d '{quoted}'")
    return [*lines, "stop  Ctrl-C"]
