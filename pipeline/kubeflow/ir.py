"""A node's part of TFX's intermediate representation (IR): cut out, encoded for a command line, and verified."""

from __future__ import annotations

import base64
import gzip
import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pipeline.errors import HeadraceError

if TYPE_CHECKING:
    from tfx.proto.orchestration import pipeline_pb2

INLINE_BYTES = 16 * 1024  # twelve of these, four times each in the workflow, stay below its 1 MiB


@dataclass(frozen=True)
class EncodedNode:
    """A node's part of the IR: `sha256` of its bytes, and either the bytes in `inline` (gzip, base64) or `uri`."""

    sha256: str
    inline: str = ""
    uri: str = ""


def encode(data: bytes, folder: str, save: Callable[[str, bytes], None]) -> EncodedNode:
    """Return bytes for a command line: inline when small, else saved under their hash in `folder`.

    Args:
        save: called with the address and the bytes when they are too large.
    """
    sha256 = hashlib.sha256(data).hexdigest()
    inline = base64.b64encode(gzip.compress(data, mtime=0)).decode()  # no braces, which Argo would read
    if len(inline) <= INLINE_BYTES:
        return EncodedNode(sha256, inline=inline)
    uri = f"{folder.rstrip('/')}/{sha256}.pb"
    save(uri, data)
    return EncodedNode(sha256, uri=uri)


def decode(encoded: EncodedNode, load: Callable[[str], bytes]) -> bytes:
    """Return the bytes, verified.

    Raises:
        HeadraceError: HR-KFP-020 when they are damaged or others than those that were compiled.
    """
    try:
        data = gzip.decompress(base64.b64decode(encoded.inline)) if encoded.inline else load(encoded.uri)
    except (ValueError, OSError, EOFError) as error:
        if isinstance(error, OSError) and not encoded.inline and not isinstance(error, FileNotFoundError):
            raise  # the store's own fault
        raise _other(encoded, str(error)) from None
    found = hashlib.sha256(data).hexdigest()
    if found != encoded.sha256:
        raise _other(encoded, f"sha256 {found[:16]}")
    return data


def cut(ir: pipeline_pb2.Pipeline, node_id: str) -> bytes:
    """Return the part of the IR that one node needs, as the same bytes each time."""
    from google.protobuf import any_pb2
    from tfx.proto.orchestration import pipeline_pb2

    part = pipeline_pb2.Pipeline()
    part.CopyFrom(ir)
    del part.nodes[:]
    part.nodes.extend(n for n in ir.nodes if n.pipeline_node.node_info.id == node_id)
    whole, own = pipeline_pb2.IntermediateDeploymentConfig(), pipeline_pb2.IntermediateDeploymentConfig()
    ir.deployment_config.Unpack(whole)
    for name in ("executor_specs", "custom_driver_specs", "node_level_platform_configs"):
        if node_id in getattr(whole, name):
            getattr(own, name)[node_id].CopyFrom(getattr(whole, name)[node_id])
    # the store is the pod's business: its address and password come from the environment
    packed = any_pb2.Any()
    packed.Pack(own, deterministic=True)
    part.deployment_config.CopyFrom(packed)
    return part.SerializeToString(deterministic=True)


def _other(encoded: EncodedNode, seen: str) -> HeadraceError:
    return HeadraceError(
        "HR-KFP-020",
        "the step's part of the pipeline is not the one that was compiled",
        seen=[seen, encoded.uri or "inline in the compiled pipeline"],
        expected=f"sha256 {encoded.sha256[:16]}",
        fix=[
            "headrace kubeflow publish TASK   compiles and publishes it anew",
            "never edit a compiled pipeline by hand",
        ],
    )
