"""A loaded SavedModel: its signatures, and predict on numpy arrays, on the path that TensorFlow Serving takes."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pipeline.environment import prepare
from pipeline.serving.status import Code, ServingError, invalid_argument, not_found

if TYPE_CHECKING:
    import numpy as np

# Source: tensorflow/core/framework/types.proto and types.cc, DataTypeString
DTYPE_NAMES = {
    1: "float",
    2: "double",
    3: "int32",
    4: "uint8",
    5: "int16",
    6: "int8",
    7: "string",
    8: "complex64",
    9: "int64",
    10: "bool",
    14: "bfloat16",
    17: "uint16",
    18: "complex128",
    19: "half",
    22: "uint32",
    23: "uint64",
}
INIT_SIGNATURE = "__saved_model_init_op"  # how TensorFlow 2 stores the initialiser; no client can call it


@dataclass(frozen=True)
class TensorSpec:
    """One named input or output of a signature.

    Args:
        dtype: TensorFlow's name, such as `float`, `int64`, `string`.
        shape: -1 for an unknown dimension; None for an unknown rank.
        tensor: name in the graph.
    """

    dtype: str
    shape: tuple[int, ...] | None
    tensor: str


@dataclass(frozen=True)
class Signature:
    """The named inputs and outputs of one entry point of a model."""

    inputs: dict[str, TensorSpec]
    outputs: dict[str, TensorSpec]


class LoadedModel:
    """A SavedModel in memory. Any number of threads may call `predict`.

    It is loaded and run through a session as TensorFlow Serving does, so that the same feeds give the same answers and
    the same errors; Python's `tf.saved_model.load` checks shapes that the server does not.

    Raises: ServingError with the code of what went wrong while loading.
    """

    def __init__(self, path: str) -> None:
        prepare()
        import tensorflow as tf

        self.path = str(path)
        self._session = tf.compat.v1.Session(graph=tf.Graph())
        try:
            with self._session.graph.as_default():
                meta_graph = tf.compat.v1.saved_model.load(self._session, [tf.saved_model.SERVING], self.path)
        except Exception as error:
            self._session.close()
            raise _load_error(error) from error
        self.signature_defs = {n: d for n, d in meta_graph.signature_def.items() if n != INIT_SIGNATURE}
        self.signatures = {name: _signature(definition) for name, definition in self.signature_defs.items()}
        self._callables: dict[tuple, object] = {}
        self._lock = threading.Lock()

    def close(self) -> None:
        """Free the variables and tables."""
        self._callables.clear()
        self._session.close()

    def predict(
        self, signature_name: str, inputs: Mapping[str, np.ndarray], output_filter: Sequence[str] = ()
    ) -> dict[str, np.ndarray]:
        """Return the outputs of one signature by name.

        Args:
            signature_name: a key of `signatures`.
            inputs: every input by name; strings as object arrays of bytes.
            output_filter: outputs to compute; all if empty.

        Raises: ServingError with TensorFlow Serving's code and text.
        Source: servables/tensorflow/predict_util.cc, tensorflow/cc/saved_model/util.cc.
        """
        import tensorflow as tf

        if signature_name not in self.signatures:
            raise ServingError(Code.FAILED_PRECONDITION, f'Serving signature key "{signature_name}" not found.')
        signature = self.signatures[signature_name]
        feeds = self._feeds(signature_name, inputs)
        names = _output_names(signature, output_filter)
        run = self._callable(signature_name, tuple(names))
        try:
            values = run(*feeds)
        except tf.errors.OpError as error:
            raise ServingError(Code(error.error_code), error.message) from None
        return dict(zip(names, values, strict=True))

    def _feeds(self, signature_name: str, inputs: Mapping[str, np.ndarray]) -> list[np.ndarray]:
        """Return the values to feed, in the order of the signature's sorted input names."""
        import tensorflow as tf

        signature = self.signatures[signature_name]
        defaults = getattr(self.signature_defs[signature_name], "defaults", {})
        sent, needed = set(inputs), set(signature.inputs)
        if len(sent) > len(needed) or (len(sent) < len(needed) and not defaults):
            raise invalid_argument(
                f"input size does not match signature: {len(sent)}!={len(needed)} len({{{_names(sent)}}})"
                f" != len({{{_names(needed)}}}). Sent extra: {{{_names(sent - needed)}}}."
                f" Missing but required: {{{_names(needed - sent)}}}."
            )
        feeds = []
        for name in sorted(needed):
            if name in inputs:
                feeds.append(inputs[name])
            elif name in defaults:
                feeds.append(tf.make_ndarray(defaults[name]))
            else:
                raise invalid_argument(
                    f"Signature input alias: {name}(feed name: {signature.inputs[name].tensor}) not found in request"
                    f" and no default value provided. Inputs expected to be in the request {{{_names(sent)}}},"
                    f" or default input alias set: {_names(defaults)}"
                )
        if sent - needed:
            raise invalid_argument(
                f"Inputs contains invalid name. Used request inputs: {_names(sent & needed)},"
                f" request input: {_names(sent)}"
            )
        return feeds

    def _callable(self, signature_name: str, output_names: tuple[str, ...]):
        from tensorflow.core.protobuf import config_pb2

        key = (signature_name, output_names)
        with self._lock:
            if key not in self._callables:
                signature = self.signatures[signature_name]
                options = config_pb2.CallableOptions()
                options.feed.extend(signature.inputs[name].tensor for name in sorted(signature.inputs))
                options.fetch.extend(signature.outputs[name].tensor for name in output_names)
                # The public make_callable casts feeds, refuses shapes that the C++ session takes, and is 4x slower.
                self._callables[key] = self._session._make_callable_from_options(options)
            return self._callables[key]


def _signature(definition) -> Signature:
    return Signature(
        {name: _spec(info) for name, info in definition.inputs.items()},
        {name: _spec(info) for name, info in definition.outputs.items()},
    )


def _spec(info) -> TensorSpec:
    shape = None if info.tensor_shape.unknown_rank else tuple(dim.size for dim in info.tensor_shape.dim)
    return TensorSpec(DTYPE_NAMES.get(info.dtype, str(info.dtype)), shape, info.name)


def _output_names(signature: Signature, output_filter: Sequence[str]) -> list[str]:
    seen: list[str] = []
    for name in output_filter:
        if name not in signature.outputs:
            raise invalid_argument(
                f"output tensor alias not found in signature: {name}"
                f" Outputs expected to be in the set {{{_names(signature.outputs)}}}."
            )
        if name in seen:
            raise invalid_argument(f"duplicate output tensor alias: {name}")
        seen.append(name)
    return seen or sorted(signature.outputs)


def _names(names) -> str:
    return ",".join(sorted(names))


def _load_error(error: Exception) -> ServingError:
    import tensorflow as tf

    if isinstance(error, tf.errors.OpError):
        return ServingError(Code(error.error_code), error.message)
    if isinstance(error, OSError):
        return not_found(str(error))
    return ServingError(Code.INTERNAL, f"{type(error).__name__}: {error}")
