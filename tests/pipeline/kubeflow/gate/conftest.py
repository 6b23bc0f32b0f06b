"""One good package, written by the compiler, for all tests of the gate."""

import copy
import hashlib

import pytest

from pipeline.config.load import Layers, load_task
from pipeline.kubeflow.compile import compile_package
from pipeline.kubeflow.ir import EncodedNode
from pipeline.kubeflow.package import Package
from pipeline.nodes import NODES

SETTINGS = (
    f"kubernetes.step.image=registry.example/headrace@sha256:{'a' * 64}",
    "kubernetes.pipeline_root=/pipeline",
    "kubernetes.step.cpu='2'",
    "kubernetes.step.memory=8Gi",
    "kubernetes.step.volumes=[{claim: headrace-pipeline, mount_path: /pipeline}]",
    "kubernetes.notify=headrace-notify/url",
    "kubernetes.parameters=[data.span, train.epochs, train.base_learning_rate]",
    "kubernetes.steps={Trainer: {accelerator: {count: 1}, cpu: '8', shared_memory: 2Gi, "
    "node_selector: {cloud.google.com/gke-accelerator: nvidia-l4}, node_affinity: {zone: [a, b]}, "
    "tolerations: [{key: nvidia.com/gpu, effect: NoSchedule}], "
    "secret_volumes: [{name: keys, mount_path: /keys}], config_map_env: {LEVEL: settings/level}}}",
)


@pytest.fixture(scope="session")
def compiled() -> Package:
    """What the compiler wrote; not to be changed."""
    config = load_task("flights", Layers(SETTINGS)).config
    ir = {node.id: EncodedNode(hashlib.sha256(node.id.encode()).hexdigest(), "SElSUEFSVA==") for node in NODES}
    return compile_package(config, ir)


@pytest.fixture
def package(compiled) -> Package:
    """A copy of it that a test may break."""
    return copy.deepcopy(compiled)
