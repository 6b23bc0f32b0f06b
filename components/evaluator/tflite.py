"""TFLite models on arrays of transformed features: exact quantization, whole batches where the graph allows them.

TFMA's own TFLite extractor casts without rounding or clipping, so that a good int8 model looks broken there.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from pipeline.errors import HeadraceError

BATCH_ROWS = 256
ROUNDS, CALLS, WARM_UP = 5, 60, 10  # of a latency measurement
_stderr = threading.Lock()


@dataclass(frozen=True)
class Port:
    """An input or output tensor: its index, dtype, shape of one row, and quantization (scale 0: none)."""

    index: int
    dtype: np.dtype
    row_shape: tuple[int, ...]
    scale: float
    zero_point: int


class TFLiteModel:
    """A TFLite file with one batch size.

    Args:
        path: the file; its inputs have batch 1.
        batch_rows: rows of one call; other than 1 resizes the inputs, which not every graph survives.
        threads: of one call.
    """

    def __init__(self, path: str, batch_rows: int = 1, threads: int = 1) -> None:
        """Load the file. Raises: ValueError and RuntimeError of the interpreter."""
        self.batch_rows = batch_rows
        with _quiet():
            self._interpreter = _interpreter_class()(model_path=path, num_threads=threads)
            self.inputs, outputs = self._ports()
            self._output = outputs.get("outputs") or next(iter(outputs.values()))
            if batch_rows != 1:
                for port in self.inputs.values():
                    self._interpreter.resize_tensor_input(port.index, [batch_rows, *port.row_shape])
            self._interpreter.allocate_tensors()

    def prepare(self, features: Mapping[str, np.ndarray]) -> dict[int, np.ndarray]:
        """Return the input tensors of all rows by tensor index, quantized where the model wants integers."""
        return {
            port.index: quantize(features[name], port.scale, port.zero_point, port.dtype).reshape(-1, *port.row_shape)
            for name, port in self.inputs.items()
        }

    def run(self, tensors: Mapping[int, np.ndarray]) -> np.ndarray:
        """Return float32 [n, k] for prepared tensors of n rows; the last batch is filled up with its last row."""
        rows = len(next(iter(tensors.values())))
        results = []
        for start in range(0, rows, self.batch_rows):
            for index, column in tensors.items():
                piece = column[start : start + self.batch_rows]
                if len(piece) < self.batch_rows:
                    piece = np.concatenate([piece, np.repeat(piece[-1:], self.batch_rows - len(piece), axis=0)])
                self._interpreter.set_tensor(index, piece)
            self._interpreter.invoke()
            results.append(self._interpreter.get_tensor(self._output.index).reshape(self.batch_rows, -1))
        raw = np.concatenate(results)[:rows]
        return dequantize(raw, self._output.scale, self._output.zero_point)

    def time_calls(self, tensors: Mapping[int, np.ndarray], calls: int) -> list[float]:
        """Return the time in us of each of `calls` invocations on the first row, without setting its inputs."""
        for index, column in tensors.items():
            self._interpreter.set_tensor(index, column[: self.batch_rows])
        times = []
        for _ in range(calls):
            start = time.perf_counter_ns()
            self._interpreter.invoke()
            times.append((time.perf_counter_ns() - start) / 1e3)
        return times

    def _ports(self) -> tuple[dict[str, Port], dict[str, Port]]:
        # the runner must not outlive this call: while it does, the interpreter refuses to resize
        runner = self._interpreter.get_signature_runner(next(iter(self._interpreter.get_signature_list())))
        inputs = {name: _port(details) for name, details in runner.get_input_details().items()}
        return inputs, {name: _port(details) for name, details in runner.get_output_details().items()}


def predict(path: str, features: Mapping[str, np.ndarray]) -> np.ndarray:
    """Return float32 [n, k]: the model's outputs for all rows.

    Whole batches are used when they give the same bits as one row at a time on the first rows, which is what a device
    does; a graph with the batch baked in runs one by one.

    Raises: HR-EDGE-005.
    """
    single = _load(path, features)
    tensors = single.prepare(features)
    head = {index: column[:BATCH_ROWS] for index, column in tensors.items()}
    expected = single.run(head)
    try:
        batched = TFLiteModel(path, BATCH_ROWS)
        if np.array_equal(batched.run(head), expected):
            return batched.run(tensors)
    except (RuntimeError, ValueError):  # the graph does not resize: a reshape to [1, n], for one
        pass
    return single.run(tensors)


def latencies_us(paths: Mapping[str, str], features: Mapping[str, np.ndarray]) -> dict[str, float]:
    """Return the median time of one call in us by name: batch 1, one thread, the models taking turns in each round.

    Turns make a slow moment of the machine fall on all of them. It is this machine's time, not a device's.
    """
    models = {name: _load(path, features) for name, path in paths.items()}
    tensors = {name: model.prepare({k: v[:1] for k, v in features.items()}) for name, model in models.items()}
    times: dict[str, list[float]] = {name: [] for name in models}
    for name, model in models.items():
        model.time_calls(tensors[name], WARM_UP)
    for _ in range(ROUNDS):
        for name, model in models.items():
            times[name] += model.time_calls(tensors[name], CALLS)
    return {name: float(np.median(values)) for name, values in times.items()}


def quantize(values: np.ndarray, scale: float, zero_point: int, dtype: np.dtype) -> np.ndarray:
    """Return integers: values / scale + zero point, rounded and clipped to the dtype; a cast when scale is 0.

    Source: ai.google.dev/edge/litert/models/quantization_spec, real = (integer - zero_point) * scale.
    """
    if not scale:
        return values.astype(dtype)
    limits = np.iinfo(dtype)
    return np.clip(np.rint(values / np.float32(scale)) + zero_point, limits.min, limits.max).astype(dtype)


def dequantize(values: np.ndarray, scale: float, zero_point: int) -> np.ndarray:
    """Return float32: (integers - zero point) * scale; a cast when scale is 0."""
    if not scale:
        return values.astype(np.float32)
    return (values.astype(np.float32) - zero_point) * np.float32(scale)


def _load(path: str, features: Mapping[str, np.ndarray]) -> TFLiteModel:
    try:
        model = TFLiteModel(path)
    except (RuntimeError, ValueError) as error:
        raise HeadraceError(
            "HR-EDGE-005",
            f"{os.path.basename(path)} does not load",
            seen=[path, str(error)],
            fix="make it again: headrace run TASK --from Quantizer --fresh",
        ) from error
    missing = sorted(set(model.inputs) - set(features))
    if missing:
        raise HeadraceError(
            "HR-EDGE-005",
            f"{os.path.basename(path)} reads features that the transformed examples lack",
            seen=missing,
            expected=f"some of {', '.join(sorted(features))}",
            fix="make it again: headrace run TASK --from Trainer",
        )
    return model


def _port(details: dict) -> Port:
    scale, zero_point = details["quantization"]
    row_shape = tuple(int(size) for size in details["shape"][1:])
    return Port(int(details["index"]), np.dtype(details["dtype"]), row_shape, float(scale), int(zero_point))


def _interpreter_class():
    """Return LiteRT's interpreter where it is installed; TensorFlow's own is deprecated there, yet works up to 2.21."""
    try:
        from ai_edge_litert.interpreter import Interpreter
    except ImportError:
        import tensorflow as tf

        return tf.lite.Interpreter
    return Interpreter


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Keep the runtime's "Created TensorFlow Lite XNNPACK delegate" off the terminal: no log level governs it.

    One thread at a time: a second one would take the first one's silence for the real stderr and restore that.
    """
    with _stderr:
        sys.stderr.flush()
        saved, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
        try:
            os.dup2(nowhere, 2)
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", message=r"(?s).*tf\.lite\.Interpreter is deprecated.*")
                yield
        finally:
            os.dup2(saved, 2)
            os.close(saved)
            os.close(nowhere)
