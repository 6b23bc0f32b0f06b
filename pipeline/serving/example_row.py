"""Rows of raw features: read from Examples, and written as a REST client sends them."""

from __future__ import annotations

import base64
from collections.abc import Mapping

from pipeline.serving.model import Signature, TensorSpec


def read_example_row(examples_uri: str, split: str = "eval") -> dict[str, object]:
    """Return the first row of an Examples artifact: one value a feature, None where it is missing.

    Features with several values in a row are left out: the `raw` signature takes one value each.
    """
    from pipeline.environment import prepare

    prepare()
    import numpy as np
    import tensorflow as tf

    from components.examples import read_serialized

    record = next(read_serialized(examples_uri, split, batch_rows=1))[0]
    row: dict[str, object] = {}
    for name, feature in tf.train.Example.FromString(record).features.feature.items():
        kind = feature.WhichOneof("kind")
        values = list(getattr(feature, kind).value) if kind else []
        if kind == "float_list":
            values = [float(str(np.float32(value))) for value in values]  # 0.1, not 0.10000000149011612
        if len(values) < 2:
            row[name] = values[0] if values else None
    return row


def placeholder_row(signature: Signature) -> dict[str, object]:
    """Return a row that has the right types and says nothing: 0 and the empty string."""
    return {name: _default(spec) for name, spec in signature.inputs.items()}


def to_instance(row: Mapping[str, object], signature: Signature) -> dict[str, object]:
    """Return a row as an element of `instances`: the inputs of the signature, nested as deep as its shapes are."""
    instance = {}
    for name, spec in sorted(signature.inputs.items()):
        value = row.get(name)
        instance[name] = nest(_json_value(_default(spec) if value is None else value), spec)
    return instance


def nest(value: object, spec: TensorSpec) -> object:
    """Return a single value wrapped in one list for each dimension after the batch, as TensorFlow Serving wants it."""
    for _ in (spec.shape or ())[1:]:
        value = [value]
    return value


def _default(spec: TensorSpec) -> object:
    return "" if spec.dtype == "string" else 0.0 if spec.dtype in ("float", "double") else 0


def _json_value(value: object) -> object:
    if not isinstance(value, bytes):
        return value
    try:
        return value.decode("ascii")
    except UnicodeDecodeError:
        return {"b64": base64.b64encode(value).decode("ascii")}
