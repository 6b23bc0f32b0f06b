"""The gRPC API of TensorFlow Serving: Predict, GetModelMetadata and GetModelStatus; the rest is UNIMPLEMENTED.

Source: apis/*.proto, servables/tensorflow/predict_impl.cc and get_model_metadata_impl.cc, by behaviour.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from pipeline.serving import protos
from pipeline.serving.json_tensor import DEFAULT_SIGNATURE
from pipeline.serving.status import ServingError, invalid_argument
from pipeline.serving.storage import ModelManager

THREADS = 16
MAX_MESSAGE_BYTES = 2**31 - 1  # TensorFlow Serving's limit


def make_grpc_server(manager: ModelManager, host: str, port: int):
    """Return a grpc.Server bound to `host:port` and the port that it got; `start` is the caller's.

    Raises: RuntimeError if the port cannot be bound.
    """
    import grpc
    from tensorflow_serving.apis import model_service_pb2_grpc, prediction_service_pb2_grpc

    class Prediction(prediction_service_pb2_grpc.PredictionServiceServicer):
        """tensorflow.serving.PredictionService."""

        def Predict(self, request, context):
            """Run one signature."""
            return _answer(context, lambda: _predict(manager, request))

        def GetModelMetadata(self, request, context):
            """Describe the signatures of the version that would answer."""
            return _answer(context, lambda: _metadata(manager, request))

    class Model(model_service_pb2_grpc.ModelServiceServicer):
        """tensorflow.serving.ModelService."""

        def GetModelStatus(self, request, context):
            """Report the state of the versions."""
            return _answer(context, lambda: _status(manager, request))

    server = grpc.server(
        ThreadPoolExecutor(THREADS, thread_name_prefix="grpc"),
        options=[
            ("grpc.so_reuseport", 0),  # otherwise a second server on the same port is not refused
            ("grpc.max_send_message_length", MAX_MESSAGE_BYTES),
            ("grpc.max_receive_message_length", MAX_MESSAGE_BYTES),
        ],
    )
    prediction_service_pb2_grpc.add_PredictionServiceServicer_to_server(Prediction(), server)
    model_service_pb2_grpc.add_ModelServiceServicer_to_server(Model(), server)
    bound = server.add_insecure_port(f"{host}:{port}")
    if not bound:  # older grpcio answers 0 where newer raises
        raise RuntimeError(f"cannot bind {host}:{port}")
    return server, bound


def _answer(context, work):
    import grpc

    try:
        return work()
    except ServingError as error:
        code = next(code for code in grpc.StatusCode if code.value[0] == error.code)
        context.abort(code, error.grpc_message)


def _where(spec) -> tuple[str, int | None, str | None]:
    choice = spec.WhichOneof("version_choice")
    return (
        spec.name,
        spec.version.value if choice == "version" else None,
        spec.version_label if choice == "version_label" else None,
    )


def _need_spec(request) -> None:
    if not request.HasField("model_spec"):
        raise invalid_argument("Missing ModelSpec")


def _predict(manager: ModelManager, request):
    _need_spec(request)
    signature = request.model_spec.signature_name or DEFAULT_SIGNATURE
    with manager.acquire(*_where(request.model_spec)) as handle:
        inputs = {name: protos.from_tensor_proto(name, proto) for name, proto in request.inputs.items()}
        outputs = handle.model.predict(signature, inputs, list(request.output_filter))
        return protos.predict_proto(request.model_spec.name, signature, handle.version, outputs)


def _metadata(manager: ModelManager, request):
    _need_spec(request)
    if not request.metadata_field:
        raise invalid_argument("GetModelMetadataRequest must specify at least one metadata_field")
    for name in request.metadata_field:
        if name != "signature_def":
            raise invalid_argument(f"Metadata field {name} is not supported")
    with manager.acquire(*_where(request.model_spec)) as handle:
        return protos.metadata_proto(request.model_spec.name, handle)


def _status(manager: ModelManager, request):
    _need_spec(request)
    name, version, _ = _where(request.model_spec)
    return protos.status_proto(manager.statuses(name, version))
