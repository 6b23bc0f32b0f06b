"""A node's part of the IR: cut out, small, the same bytes each time, and refused when changed."""

import base64
import dataclasses

import pytest

from pipeline.config.load import Layers, load_task
from pipeline.errors import HeadraceError
from pipeline.keys import ROOT
from pipeline.kubeflow.compile import on_cluster
from pipeline.kubeflow.ir import INLINE_BYTES, cut, decode, encode
from pipeline.nodes import NODES


def never(address, data=None):
    raise AssertionError("nothing is saved or loaded")


def test_small_bytes_travel_on_the_command_line_and_come_back():
    encoded = encode(b"a node", "/root/_ir", never)
    assert encoded.uri == ""
    assert decode(encoded, never) == b"a node"


def test_large_bytes_lie_under_their_hash():
    import random

    data, saved = random.Random(1).randbytes(2 * INLINE_BYTES), {}
    encoded = encode(data, "s3://b/_ir/", lambda address, content: saved.update({address: content}))
    assert list(saved) == [encoded.uri] == [f"s3://b/_ir/{encoded.sha256}.pb"]
    assert decode(encoded, saved.get) == data


@pytest.mark.parametrize("inline", ["", base64.b64encode(b"no gzip").decode(), "not base64!"])
def test_damaged_bytes_are_refused(inline):
    encoded = dataclasses.replace(encode(b"a node", "/", never), inline=inline, uri="/gone")

    def missing(address):
        raise FileNotFoundError(address)

    with pytest.raises(HeadraceError, match="HR-KFP-020"):
        decode(encoded, missing)


def test_other_bytes_than_those_compiled_are_refused():
    other = encode(b"another node", "/", never)
    with pytest.raises(HeadraceError, match="HR-KFP-020"):
        decode(dataclasses.replace(other, sha256=encode(b"a node", "/", never).sha256), never)


@pytest.mark.tf
def test_each_part_holds_its_node_and_executor_and_no_store():
    from tfx.proto.orchestration import pipeline_pb2

    from pipeline.run_node import compile_ir

    config = on_cluster(load_task("flights", Layers(("kubernetes.pipeline_root=s3://b/r",))))
    first, second = (compile_ir(config, config.kubernetes.task_dir) for _ in range(2))
    for node in NODES:
        data = cut(first, node.id)
        assert data == cut(second, node.id)
        part = pipeline_pb2.Pipeline.FromString(data)
        [only] = part.nodes
        assert only.pipeline_node.node_info.id == node.id
        deployment = pipeline_pb2.IntermediateDeploymentConfig()
        part.deployment_config.Unpack(deployment)
        assert set(deployment.executor_specs) <= {node.id}
        assert not deployment.HasField("metadata_connection_config")
        root = part.runtime_spec.pipeline_root.runtime_parameter.default_value.string_value
        assert root == "s3://b/r/flights/artifacts"
        assert str(ROOT).encode() not in data  # nothing of this machine
