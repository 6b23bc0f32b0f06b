"""The generated protobuf modules of kfp-pipeline-spec and kfp-kubernetes, without the SDK around them."""

from __future__ import annotations

import functools
import importlib.util
import sys
import types
from typing import Any


@functools.cache
def messages() -> tuple[Any, Any]:
    """Return the generated modules of the pipeline spec and of the Kubernetes executor configuration.

    `kfp` and `kfp.kubernetes` import the whole SDK (5 s), of which nothing is needed here: empty packages stand in
    for them while the two modules are loaded (0.1 s), and are gone afterwards, so that the SDK still imports.
    """
    found = importlib.util.find_spec("kfp")
    held = _take_kfp()
    try:
        for name, folder in (("kfp", ""), ("kfp.kubernetes", "/kubernetes")):
            package = types.ModuleType(name)
            package.__path__ = [f"{path}{folder}" for path in found.submodule_search_locations]
            sys.modules[name] = package
        from kfp.kubernetes import kubernetes_executor_config_pb2
        from kfp.pipeline_spec import pipeline_spec_pb2

        return pipeline_spec_pb2, kubernetes_executor_config_pb2
    finally:
        _take_kfp()
        sys.modules.update(held)


def _take_kfp() -> dict[str, types.ModuleType]:
    names = [name for name in sys.modules if name == "kfp" or name.startswith("kfp.")]
    return {name: sys.modules.pop(name) for name in names}
