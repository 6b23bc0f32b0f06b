"""Conversion of an edge SavedModel to TFLite files: `python -m components.quantizer.convert REQUEST.json`.

It runs in a process of its own because the converter can abort the process it runs in. The edge model has its own
SavedModel because a lookup table beside its signature does not convert.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass

import numpy as np

from components.quantizer import flatbuffer
from components.quantizer.failures import reason
from pipeline.errors import HeadraceError

SIGNATURE = "edge"
PREFIX = "converting "  # of the progress lines on stdout


@dataclass(frozen=True)
class Request:
    """What the parent process asks for.

    Args:
        edge_dir: SavedModel with the signature `edge`.
        calibration: `.npz` of transformed examples by input name, [n, ...] each.
        schemes: schemes to make, in order.
        out_dir: folder that gets `<scheme>.tflite`.
        result: JSON file that gets the answer.
    """

    edge_dir: str
    calibration: str
    schemes: list[str]
    out_dir: str
    result: str


def convert(edge_dir: str, calibration: dict[str, np.ndarray], scheme: str) -> bytes:
    """Return the TFLite file of one scheme. Raises: HR-EDGE-004, and the converter's own errors."""
    import tensorflow as tf

    converter = tf.lite.TFLiteConverter.from_saved_model(edge_dir, signature_keys=[SIGNATURE])
    if scheme != "float32":
        converter.optimizations = [tf.lite.Optimize.DEFAULT]
    if scheme == "float16":
        converter.target_spec.supported_types = [tf.float16]
    if scheme == "int8":
        converter.representative_dataset = _representative_dataset(edge_dir, calibration)
        converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS_INT8]
        converter.inference_input_type = converter.inference_output_type = tf.int8
        # TF 2.21 gives dense weights a scale a channel under an operator version that older kernels and the Edge TPU
        # compiler take for one scale a tensor (tflite-micro#2602). The flag is private: a test pins what it does.
        flag = "_experimental_disable_per_channel_quantization_for_dense_layers"
        if hasattr(converter, flag):
            setattr(converter, flag, True)
    return converter.convert()


def _representative_dataset(edge_dir: str, calibration: dict[str, np.ndarray]) -> Callable[[], Iterator[dict]]:
    """Return the callable that yields one example at a time, [1, ...] an input, bound by name."""
    import tensorflow as tf

    _, specs = tf.saved_model.load(edge_dir).signatures[SIGNATURE].structured_input_signature
    missing = sorted(set(specs) - set(calibration))
    if missing:
        raise HeadraceError(
            "HR-EDGE-004",
            f"the edge model reads features that the transformed examples lack: {', '.join(missing)}",
            seen=[f"transformed features: {', '.join(sorted(calibration))}"],
            expected="an edge model whose inputs are transformed features",
            fix="name the inputs of the edge model after the outputs of preprocessing_fn",
        )
    columns = {
        name: np.ascontiguousarray(calibration[name].astype(spec.dtype.as_numpy_dtype)).reshape(-1, *spec.shape)
        for name, spec in specs.items()
    }
    rows = len(next(iter(columns.values())))

    def examples() -> Iterator[dict[str, np.ndarray]]:
        for row in range(rows):
            yield {name: column[row] for name, column in columns.items()}

    return examples


def run(request: Request) -> dict:
    """Convert every scheme and describe the files; an error is part of the answer, never raised."""
    import tensorflow as tf

    with np.load(request.calibration) as saved:
        calibration = dict(saved)
    graphs = {}
    for scheme in request.schemes:
        print(f"{PREFIX}{scheme}", flush=True)
        try:
            content = convert(request.edge_dir, calibration, scheme)
        except HeadraceError as error:
            return {"error": error.to_dict()}
        except Exception as error:  # the converter raises ConverterError, ValueError, RuntimeError and more
            return {"error": failure(scheme, reason(str(error)) or type(error).__name__).to_dict()}
        with open(os.path.join(request.out_dir, f"{scheme}.tflite"), "wb") as file:
            file.write(content)
        graphs[scheme] = asdict(flatbuffer.read(content))
    return {"graphs": graphs, "converter": {"tensorflow": tf.__version__}}


def failure(scheme: str, line: str) -> HeadraceError:
    """Return the error of a conversion that did not end well."""
    return HeadraceError(
        "HR-EDGE-002",
        f"TensorFlow's converter failed on scheme {scheme}",
        seen=[line],
        expected="a model of TFLite's built-in operators",
        fix=[
            "use layers that TFLite has (tensorflow.org/lite/guide/ops_compatibility) in build_model",
            f"leave the scheme out: quantize.schemes and edge_evaluate.gate without {scheme}",
        ],
    )


def main() -> None:
    """Answer the request file named on the command line."""
    from pipeline.environment import prepare

    prepare()
    with open(sys.argv[1], encoding="utf-8") as file:
        request = Request(**json.load(file))
    answer = run(request)
    with open(request.result, "w", encoding="utf-8") as file:
        json.dump(answer, file)


if __name__ == "__main__":
    main()
