import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from pipeline.errors import HeadraceError
from pipeline.serving.client import Client
from pipeline.serving.ports import port_owner
from pipeline.serving.server import start

ROW = {"distance": 733.0, "month": 3, "carrier": "UA"}
ROOT = Path(__file__).parents[3]


def wait_until(holds, timeout_s=20.0):
    deadline = time.monotonic() + timeout_s
    while time.monotonic() < deadline:
        if holds():
            return
        time.sleep(0.02)
    raise AssertionError("it did not happen in time")


def push(source, base, version):
    shutil.copytree(source, base / f".tmp-{version}")
    (base / f".tmp-{version}").rename(base / str(version))


def test_a_hot_swap_under_load_loses_no_request(base_path, tiny_models, oracle):
    old, new = oracle(733.0, 3, b"UA", bias=0.1), oracle(733.0, 3, b"UA", bias=2.0)
    server = start("tiny", str(base_path), rest_port=0, grpc_port=0, poll_s=0.05)
    stop, answers, failures = threading.Event(), [], []

    def ask():
        with Client("tiny", port=server.rest_port) as client:
            while not stop.is_set():
                try:
                    answers.append(client.predict([ROW])[0][0])
                except HeadraceError as error:
                    failures.append(str(error))

    threads = [threading.Thread(target=ask) for _ in range(3)]
    try:
        for thread in threads:
            thread.start()
        for version in range(2, 6):
            push(tiny_models[version % 2 == 0], base_path, version)
            wait_until(lambda v=version: _available(server) == [v])
            seen = len(answers)
            wait_until(lambda n=seen: len(answers) > n + 10)
    finally:
        stop.set()
        for thread in threads:
            thread.join(20)
        drained = server.stop(drain_s=5)
    assert failures == [] and drained
    close = [min(abs(answer - old), abs(answer - new)) for answer in answers]
    assert max(close) < 1e-6  # each answer comes from one version or the other, none from a mixture
    assert {abs(answer - old) < 1e-6 for answer in answers} == {True, False}


def _available(server):
    return [s.version for s in server.manager.statuses("tiny") if s.state == "AVAILABLE"]


def test_a_half_copied_version_is_never_loaded(base_path, tiny_models):
    server = start("tiny", str(base_path), rest_port=0, grpc_port=0, poll_s=0.05)
    try:
        shutil.copytree(tiny_models[1], base_path / ".tmp-3")
        time.sleep(0.3)
        assert [s.version for s in server.manager.statuses("tiny")] == [1]
    finally:
        server.stop(drain_s=5)


@pytest.mark.parametrize("which", ["rest", "grpc"])
def test_a_port_in_use_names_the_port_the_process_and_the_fix(base_path, which):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        rest, grpc = (port, 0) if which == "rest" else (0, port)
        with pytest.raises(HeadraceError) as error:
            start("tiny", str(base_path), rest_port=rest, grpc_port=grpc)
        assert error.value.code == "HR-SERVE-001"
        assert str(port) in error.value.what
        assert f"process {os.getpid()} (" in error.value.seen[0]
        assert error.value.fix[0].startswith("--port " if which == "rest" else "--grpc-port ")


def test_the_owner_of_a_port_nobody_listens_on_is_unknown():
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        assert port_owner(bound.getsockname()[1]) is None


def test_two_servers_never_share_a_grpc_port(base_path):
    server = start("tiny", str(base_path), rest_port=0, grpc_port=0)
    try:
        with pytest.raises(HeadraceError, match="HR-SERVE-001"):
            start("tiny", str(base_path), rest_port=0, grpc_port=server.grpc_port)
    finally:
        server.stop(drain_s=5)


def test_no_version_is_reported_before_any_port_opens(tmp_path):
    with pytest.raises(HeadraceError, match="HR-SERVE-002"):
        start("tiny", str(tmp_path), rest_port=0, grpc_port=0)


def test_a_request_in_flight_is_answered_before_the_server_stops(base_path):
    server = start("tiny", str(base_path), rest_port=0, grpc_port=0)
    entered, release, results = threading.Event(), threading.Event(), []
    with server.manager.acquire("tiny") as handle:
        model = handle.model
    run = model.predict

    def slow(*args):
        entered.set()
        release.wait(10)
        return run(*args)

    model.predict = slow
    asking = threading.Thread(target=lambda: results.append(Client("tiny", port=server.rest_port).predict([ROW])))
    asking.start()
    assert entered.wait(10)
    stopping = threading.Thread(target=lambda: results.append(server.stop(drain_s=10)))
    stopping.start()
    wait_until(lambda: not _connects(server.rest_port))
    release.set()
    asking.join(20)
    stopping.join(20)
    assert len(results) == 2 and True in results
    assert [len(answer) for answer in results if answer is not True] == [1]


def _connects(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def test_serve_prints_a_request_that_works_and_stops_on_sigterm(base_path, tmp_path):
    code = (
        "import sys; from pipeline.serving.server import serve\n"
        f"serve('tiny', {str(base_path)!r}, 0, 0, say=lambda line: print(line, flush=True), row={ROW!r})"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            lines = []
            while not lines or not lines[-1].startswith("stop"):
                line = process.stdout.readline()
                assert line, process.stderr.read()
                lines.append(line.rstrip())
            assert lines[1] == "tiny version 1"
            answer = _curl(next(line for line in lines if line.startswith("try")))
            assert len(answer["predictions"]) == 1
            process.send_signal(signal.SIGTERM)
            assert process.wait(20) == 0
            rest = process.stdout.read().splitlines()
            assert rest[0] == "SIGTERM: finishing the requests in flight" and rest[-1] == "stopped"
            assert "Traceback" not in process.stderr.read()
        finally:
            process.kill()


def _curl(line):
    """Do what the printed curl command does."""
    import shlex
    import urllib.request

    words = shlex.split(line.removeprefix("try"))
    assert words[:2] == ["curl", "-s"] and words[3] == "-d"
    with urllib.request.urlopen(words[2], data=words[4].encode(), timeout=20) as response:
        return json.load(response)
