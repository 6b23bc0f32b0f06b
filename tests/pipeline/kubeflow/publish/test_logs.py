"""Logs come from the pods of a run's steps, through the real Kubernetes client."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

import pytest
import yaml

from pipeline.errors import HeadraceError
from pipeline.kubeflow.publish.logs import kubernetes_api, step_logs

RUN = "11111111-2222-3333-4444-555555555555"


def pod(name, node, seconds, phase="Succeeded"):
    return {
        "metadata": {
            "name": name,
            "labels": {"pipeline/runid": RUN},
            "annotations": {"workflows.argoproj.io/node-name": node},
            "creationTimestamp": f"2026-12-01T00:00:{seconds:02}Z",
        },
        "status": {"phase": phase},
        "spec": {"containers": []},
    }


PODS = [
    pod("w-impl-2", "flights-x7.root.pipeline.trainer.executor(1)", 30, "Running"),
    pod("w-impl-1", "flights-x7.root.pipeline.trainer.executor(0)", 20, "Failed"),
    pod("w-driver", "flights-x7.root.pipeline.trainer-driver", 10),
    pod("w-impl-0", "flights-x7.root.pipeline.examplegen.executor", 5),
]


class FakePods:
    """Lists pods by label and gives their logs."""

    def __init__(self):
        self.pods, self.status, self.seen = list(PODS), 200, []
        self.logs = {"w-impl-0": "327346 rows\n", "w-impl-1": "killed\n", "w-impl-2": "epoch 1\nepoch 2\n"}

    def answer(self, path, query):
        if self.status != 200:
            return self.status, json.dumps({"message": "pods is forbidden"})
        if path.endswith("/log"):
            name = path.split("/")[-2]
            lines = self.logs.get(name, "").splitlines(keepends=True)
            return (
                (200, "".join(lines[-int(query["tailLines"][0]) :] if "tailLines" in query else lines))
                if (name in self.logs)
                else (404, "{}")
            )
        wanted = query["labelSelector"][0] == f"pipeline/runid={RUN}" and "/namespaces/kubeflow/" in path
        return 200, json.dumps({"kind": "PodList", "apiVersion": "v1", "items": self.pods if wanted else []})


@pytest.fixture
def cluster(monkeypatch, tmp_path):
    fake = FakePods()

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_):
            pass

        def do_GET(self):
            url = urlsplit(self.path)
            status, text = fake.answer(url.path, parse_qs(url.query))
            self.send_response(status)
            self.send_header("Content-Type", "application/json" if not url.path.endswith("/log") else "text/plain")
            self.end_headers()
            self.wfile.write(text.encode())

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    file = tmp_path / "kubeconfig"
    host = f"http://127.0.0.1:{server.server_address[1]}"
    file.write_text(yaml.safe_dump(kubeconfig(host)))
    monkeypatch.setattr("kubernetes.config.kube_config.KUBE_CONFIG_DEFAULT_LOCATION", str(file))
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    yield fake
    server.shutdown()
    server.server_close()


def kubeconfig(host):
    named = {"cluster": "c", "user": "u"}
    return {
        "apiVersion": "v1", "kind": "Config", "current-context": "x",
        "clusters": [{"name": "c", "cluster": {"server": host}}],
        "contexts": [{"name": "x", "context": named}], "users": [{"name": "u", "user": {}}],
    }  # fmt: skip


def read(step=None, tail=None, run=RUN):
    return step_logs(kubernetes_api(), None, run, step, tail, "http://kfp/#/runs/details/1")


def test_a_step_shows_every_try_in_order(cluster):
    found = read("trainer")
    assert [(log.pod, log.phase, log.text) for log in found] == [
        ("w-impl-1", "Failed", "killed\n"), ("w-impl-2", "Running", "epoch 1\nepoch 2\n"),
    ]  # fmt: skip


def test_without_a_step_all_steps_are_shown_without_kubeflows_drivers(cluster):
    assert [(log.step, log.text) for log in read(tail=1)] == [
        ("examplegen", "327346 rows\n"), ("trainer", "killed\n"), ("trainer", "epoch 2\n"),
    ]  # fmt: skip


def test_an_unknown_step_lists_those_there_are(cluster):
    with pytest.raises(HeadraceError) as refused:
        read("trainr")
    assert refused.value.code == "HR-KFP-059"
    assert refused.value.seen == ["steps with a pod: trainer, examplegen"]


@pytest.mark.parametrize("gone", ["pods", "logs"])
def test_pods_that_are_gone_are_said_with_the_page_that_may_have_the_logs(cluster, gone):
    cluster.pods = [] if gone == "pods" else cluster.pods
    cluster.logs = {}
    with pytest.raises(HeadraceError) as refused:
        read("trainer")
    assert refused.value.code == "HR-KFP-064"
    assert "http://kfp/#/runs/details/1" in refused.value.fix[0]


def test_missing_rights_are_said(cluster):
    cluster.status = 403
    with pytest.raises(HeadraceError) as refused:
        read()
    assert refused.value.code == "HR-KFP-069"
    assert "pods is forbidden" in refused.value.seen[0]


def test_no_kubeconfig_is_said(monkeypatch, tmp_path):
    monkeypatch.setattr("kubernetes.config.kube_config.KUBE_CONFIG_DEFAULT_LOCATION", str(tmp_path / "none"))
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    with pytest.raises(HeadraceError) as refused:
        kubernetes_api()
    assert refused.value.code == "HR-KFP-069"
