"""Quantization of an edge model to TFLite files that are checked before anyone uses them."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from components import reporting
from components.quantizer import convert, representative
from components.quantizer.failures import reason
from components.quantizer.flatbuffer import Graph, Tensor
from pipeline.errors import HeadraceError

TIMEOUT_S = 1800.0  # a large model converts in minutes; a converter that hangs must not hang the run
MANIFEST = "manifest.json"
CONVERTER = "components.quantizer.convert"


@dataclass(frozen=True)
class QuantizedModel:
    """One TFLite file.

    Args:
        path: file name within the folder.
        size_ratio: size over the size of the float32 TFLite file.
        inputs: by name, `dtype`, `shape`, `scale` and `zero_point` each (empty when not quantized).
        outputs: the same.
        operators: how often each operator occurs.
    """

    scheme: str
    path: str
    size_bytes: int
    size_ratio: float
    sha256: str
    inputs: dict[str, dict]
    outputs: dict[str, dict]
    operators: dict[str, int]


def quantize(
    edge_dir: str, calibration: Mapping[str, np.ndarray], schemes: Sequence[str], out_dir: str
) -> list[QuantizedModel]:
    """Convert the edge SavedModel to `<scheme>.tflite` files and write `manifest.json`; float32 always comes first.

    Args:
        edge_dir: SavedModel with the signature `edge`: static batch 1, no lookup tables.
        calibration: transformed training examples by input name, [n, ...] each; int8 alone reads them.
        schemes: of float32, dynamic_range, float16, int8.

    Raises: HR-EDGE-002, HR-EDGE-003, HR-EDGE-004.
    """
    schemes = list(dict.fromkeys(["float32", *schemes]))
    if "int8" in schemes:
        representative.check_distinct(dict(calibration))
    os.makedirs(out_dir, exist_ok=True)
    answer = _convert_apart(edge_dir, calibration, schemes, out_dir)
    graphs = {scheme: _graph(values) for scheme, values in answer["graphs"].items()}
    for scheme, graph in graphs.items():
        check_graph(scheme, graph)
    models = [_model(scheme, graphs[scheme], out_dir) for scheme in schemes]
    manifest = {
        "models": [asdict(model) for model in models],
        "calibration": {
            "examples": max((len(column) for column in calibration.values()), default=0),
            "sha256": representative.digest(dict(calibration)),
        },
        "converter": answer["converter"],
    }
    with open(os.path.join(out_dir, MANIFEST), "w", encoding="utf-8") as file:
        json.dump(manifest, file, indent=2)
    return models


def check_graph(scheme: str, graph: Graph) -> None:
    """Refuse a file that an edge device cannot run as promised.

    Raises: HR-EDGE-003.
    Source: coral.ai/docs/edgetpu/models-intro ("Model requirements"): static sizes, quantized, no foreign operators.
    """
    broken = {
        "float tensors": graph.float_tensors if scheme == "int8" else [],
        "shapes not known before the model runs": graph.dynamic_tensors,
        "operators that are not TFLite's own": graph.foreign_operators,
        "more than one subgraph": [f"{graph.subgraphs} subgraphs"] if graph.subgraphs != 1 else [],
    }
    for rule, found in broken.items():
        if found:
            raise HeadraceError(
                "HR-EDGE-003",
                f"the {scheme} model has {rule}",
                seen=found,
                expected="static shapes, one subgraph, built-in operators, and integers only in int8",
                fix=[
                    "use simpler layers in build_model: no control flow, no dynamic shapes, no string operations",
                    f"leave the scheme out: quantize.schemes and edge_evaluate.gate without {scheme}",
                ],
            )


def _convert_apart(edge_dir: str, calibration: Mapping[str, np.ndarray], schemes: list[str], out_dir: str) -> dict:
    """Run `convert` in its own process and return its answer. Raises: HR-EDGE-002, HR-EDGE-004."""
    with tempfile.TemporaryDirectory(prefix="headrace-quantizer-") as folder:
        arrays, result = os.path.join(folder, "calibration.npz"), os.path.join(folder, "result.json")
        np.savez(arrays, **calibration)
        request = convert.Request(os.path.abspath(edge_dir), arrays, schemes, os.path.abspath(out_dir), result)
        request_path = os.path.join(folder, "request.json")
        with open(request_path, "w", encoding="utf-8") as file:
            json.dump(asdict(request), file)
        scheme, code, errors = _watch(request_path, os.path.join(folder, "errors"), schemes)
        if code or not os.path.exists(result):
            raise convert.failure(scheme, reason(errors) or f"the converter's process ended with code {code}")
        with open(result, encoding="utf-8") as file:
            answer = json.load(file)
    if "error" in answer:
        raise HeadraceError.from_dict(answer["error"])
    return answer


def _watch(request_path: str, errors_path: str, schemes: list[str]) -> tuple[str, int, str]:
    """Run the converter and return the scheme it was last at, its exit code and its error output."""
    root = str(Path(__file__).resolve().parents[2])
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH", "")]))}
    command = [sys.executable, "-m", CONVERTER, request_path]
    scheme, late = schemes[0], threading.Event()
    with open(errors_path, "wb") as errors:
        process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=errors, text=True)
        timer = threading.Timer(TIMEOUT_S, lambda: (late.set(), process.kill()))
        timer.start()
        try:
            for line in process.stdout:
                if line.startswith(convert.PREFIX):
                    scheme = line.removeprefix(convert.PREFIX).strip()
                    reporting.progress(schemes.index(scheme) / len(schemes), scheme)
            code = process.wait()
        finally:
            timer.cancel()
            process.kill()  # an interrupted run leaves no converter behind; a finished process ignores it
            process.stdout.close()
            process.wait()
    if late.is_set():
        return scheme, code, f"error: not done after {TIMEOUT_S:.0f} s"
    with open(errors_path, encoding="utf-8", errors="replace") as file:
        return scheme, code, file.read()


def _model(scheme: str, graph: Graph, out_dir: str) -> QuantizedModel:
    name = f"{scheme}.tflite"
    content = Path(out_dir, name).read_bytes()
    float_size = os.path.getsize(os.path.join(out_dir, "float32.tflite"))
    return QuantizedModel(
        scheme=scheme,
        path=name,
        size_bytes=len(content),
        size_ratio=len(content) / float_size,
        sha256=hashlib.sha256(content).hexdigest(),
        inputs={name: _ends(tensor) for name, tensor in graph.inputs.items()},
        outputs={name: _ends(tensor) for name, tensor in graph.outputs.items()},
        operators=graph.operators,
    )


def _ends(tensor: Tensor) -> dict:
    return {
        "dtype": tensor.dtype,
        "shape": list(tensor.shape),
        "scale": list(tensor.scale),
        "zero_point": list(tensor.zero_point),
    }


def _graph(values: dict) -> Graph:
    def tensor(found: dict) -> Tensor:
        return Tensor(**{name: tuple(value) if isinstance(value, list) else value for name, value in found.items()})

    return Graph(
        inputs={name: tensor(found) for name, found in values["inputs"].items()},
        outputs={name: tensor(found) for name, found in values["outputs"].items()},
        tensors=[tensor(found) for found in values["tensors"]],
        operators=values["operators"],
        subgraphs=values["subgraphs"],
        dense_scales=values["dense_scales"],
    )
