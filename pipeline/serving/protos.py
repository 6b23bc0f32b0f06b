"""TensorFlow Serving's messages: tensors, model status and metadata, as protos and as the REST API's JSON."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import TYPE_CHECKING

from pipeline.serving.json_tensor import DEFAULT_SIGNATURE
from pipeline.serving.status import invalid_argument
from pipeline.serving.storage import Handle, VersionStatus

if TYPE_CHECKING:
    import numpy as np

_VALUE_FIELDS = {  # numpy dtype: the typed field of TensorProto. Source: tensorflow/core/framework/tensor.proto
    "float32": "float_val",
    "float64": "double_val",
    "int8": "int_val",
    "int16": "int_val",
    "int32": "int_val",
    "uint8": "int_val",
    "uint16": "int_val",
    "uint32": "uint32_val",
    "uint64": "uint64_val",
    "int64": "int64_val",
    "bool": "bool_val",
    "object": "string_val",
}


def to_tensor_proto(array: np.ndarray):
    """Return a TensorProto with the values in their typed field, as TensorFlow Serving answers by default."""
    import tensorflow as tf
    from tensorflow.core.framework import tensor_pb2

    field = _VALUE_FIELDS.get(array.dtype.name)
    if field is None:
        return tf.make_tensor_proto(array)
    dtype = tf.string if array.dtype == object else tf.as_dtype(array.dtype)
    proto = tensor_pb2.TensorProto(dtype=dtype.as_datatype_enum)
    proto.tensor_shape.SetInParent()
    for size in array.shape:
        proto.tensor_shape.dim.add(size=size)
    getattr(proto, field).extend(array.ravel().tolist())
    return proto


def from_tensor_proto(name: str, proto) -> np.ndarray:
    """Return the array of a TensorProto.

    Raises: ServingError INVALID_ARGUMENT if its values do not fit its shape.
    """
    import tensorflow as tf

    try:
        return tf.make_ndarray(proto)
    except (TypeError, ValueError):
        raise invalid_argument(f"tensor parsing error: {name}") from None


def status_proto(statuses: Sequence[VersionStatus]):
    """Return a GetModelStatusResponse."""
    from tensorflow_serving.apis import get_model_status_pb2

    response = get_model_status_pb2.GetModelStatusResponse()
    for status in statuses:
        entry = response.model_version_status.add(
            version=status.version, state=get_model_status_pb2.ModelVersionStatus.State.Value(status.state)
        )
        entry.status.error_code = int(status.code)
        entry.status.error_message = status.message
    return response


def status_json(statuses: Sequence[VersionStatus]) -> str:
    """Return the body of `GET /v1/models/NAME`."""
    return _to_json(status_proto(statuses)) + "\n"


def metadata_proto(name: str, handle: Handle):
    """Return a GetModelMetadataResponse with the signatures and the version that answers."""
    from tensorflow_serving.apis import get_model_metadata_pb2

    response = get_model_metadata_pb2.GetModelMetadataResponse()
    response.model_spec.name = name
    response.model_spec.version.value = handle.version
    response.metadata["signature_def"].Pack(_signature_map(handle))
    return response


def metadata_json(name: str, handle: Handle) -> str:
    """Return the body of `GET /v1/models/NAME/metadata`."""
    spec = _to_json(metadata_proto(name, handle).model_spec, preserving_proto_field_name=True)
    signatures = _to_json(_signature_map(handle), preserving_proto_field_name=True)
    return f'{{\n"model_spec":{spec}\n,\n"metadata": {{"signature_def": {signatures}\n}}\n}}\n'


def predict_proto(name: str, signature: str, version: int, outputs: dict[str, np.ndarray]):
    """Return a PredictResponse; its model_spec is the proof of which version answered."""
    from tensorflow_serving.apis import predict_pb2

    response = predict_pb2.PredictResponse()
    response.model_spec.name = name
    response.model_spec.signature_name = signature or DEFAULT_SIGNATURE
    response.model_spec.version.value = version
    for alias, array in outputs.items():
        response.outputs[alias].CopyFrom(to_tensor_proto(array))
    return response


def _signature_map(handle: Handle):
    from tensorflow_serving.apis import get_model_metadata_pb2

    signatures = get_model_metadata_pb2.SignatureDefMap()
    for key, definition in handle.model.signature_defs.items():
        signatures.signature_def[key].CopyFrom(definition)
    return signatures


def _to_json(message, **options) -> str:
    """Print defaults too, one space deep, as TensorFlow Serving does; protobuf 5.26 renamed the option."""
    from google.protobuf import json_format

    known = inspect.signature(json_format.MessageToJson).parameters
    new = "always_print_fields_with_no_presence"
    options[new if new in known else "including_default_value_fields"] = True
    return json_format.MessageToJson(message, indent=1, **options)
