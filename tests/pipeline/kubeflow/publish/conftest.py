"""A fake Kubeflow Pipelines API, the real client connected to it, a compiled pipeline without TensorFlow."""

import hashlib

import pytest

from pipeline.config.load import Layers, load_task
from pipeline.kubeflow.compile import EncodedNode, compile_package
from pipeline.nodes import NODES
from tests.pipeline.kubeflow.publish.fake_kfp import FakeKfp

SETTINGS = (
    "kubernetes.pipeline_root=/pipeline",
    "kubernetes.step.volumes=[{claim: headrace-pipeline, mount_path: /pipeline}]",
    "kubernetes.parameters=[data.span, train.epochs]",
)


def load(*overrides):
    image = "kubernetes.step.image=registry.example/headrace@sha256:" + "a" * 64
    return load_task("flights", Layers((image, *SETTINGS, *overrides)))


def compiled(*overrides):
    encoded = {node.id: EncodedNode(hashlib.sha256(node.id.encode()).hexdigest(), "SElSUEFSVA==") for node in NODES}
    return compile_package(load(*overrides).config, encoded)


@pytest.fixture(scope="session")
def package():
    return compiled()


@pytest.fixture(scope="session")
def other_package():
    return compiled("kubernetes.step.cpu='2'")


@pytest.fixture
def kfp_server(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))  # kfp reads a context file there
    monkeypatch.delenv("HEADRACE_KFP_TOKEN", raising=False)
    with FakeKfp().serving() as server:
        yield server


@pytest.fixture
def connected(kfp_server):
    from pipeline.kubeflow.publish.client import connect

    return lambda *overrides: connect(load(f"kubernetes.host={kfp_server.host}", *overrides).config.kubernetes)


@pytest.fixture
def api(connected):
    return connected()
