import numpy as np
import pytest

ROWS = [(733.0, 3, b"UA"), (2475.0, 7, b"ZZ")]


@pytest.fixture
def channel(running):
    channel = running.channel()
    yield channel
    channel.close()


def request_of(signature="raw", **inputs):
    import tensorflow as tf
    from tensorflow_serving.apis import predict_pb2

    request = predict_pb2.PredictRequest()
    request.model_spec.name = "tiny"
    request.model_spec.signature_name = signature
    for name, array in inputs.items():
        request.inputs[name].CopyFrom(tf.make_tensor_proto(array))
    return request


def raw_inputs():
    return {
        "distance": np.array([[d] for d, _, _ in ROWS], np.float32),
        "month": np.array([[m] for _, m, _ in ROWS]),
        "carrier": np.array([[c] for _, _, c in ROWS], object),
    }


def refusal(call, request):
    import grpc

    with pytest.raises(grpc.RpcError) as error:
        call(request, timeout=20)
    return error.value.code().name, error.value.details()


def test_predict_answers_the_formula_and_names_the_version(running, channel, oracle):
    import tensorflow as tf

    stub = running.stub("prediction", channel)
    response = stub.Predict(request_of(**raw_inputs()), timeout=20)
    outputs = tf.make_ndarray(response.outputs["outputs"])
    assert outputs.shape == (2, 1) and outputs.dtype == np.float32
    np.testing.assert_allclose(outputs[:, 0], [oracle(*row) for row in ROWS], atol=1e-6)
    spec = response.model_spec
    assert (spec.name, spec.version.value, spec.signature_name) == ("tiny", 1, "raw")
    assert len(response.outputs["outputs"].float_val) == 2  # typed fields, not tensor_content


def test_predict_takes_serialized_examples_by_default(running, channel, oracle, make_example):
    import tensorflow as tf

    request = request_of("", examples=np.array([make_example(*row) for row in ROWS], object))
    request.model_spec.version.value = 1
    response = running.stub("prediction", channel).Predict(request, timeout=20)
    assert response.model_spec.signature_name == "serving_default"
    outputs = tf.make_ndarray(response.outputs["outputs"])
    np.testing.assert_allclose(outputs[:, 0], [oracle(*row) for row in ROWS], atol=1e-6)


def test_an_output_filter_chooses_the_outputs(running, channel):
    import tensorflow as tf

    request = request_of("two", distance=np.array([[2.5]], np.float32))
    request.output_filter.append("whole")
    response = running.stub("prediction", channel).Predict(request, timeout=20)
    assert {name: tf.make_ndarray(value).tolist() for name, value in response.outputs.items()} == {"whole": [2]}


def test_a_bad_predict_gets_the_code_and_text_of_tensorflow_serving(running, channel):
    from tensorflow_serving.apis import predict_pb2

    call = running.stub("prediction", channel).Predict
    inputs = raw_inputs()
    assert refusal(call, predict_pb2.PredictRequest()) == ("INVALID_ARGUMENT", "Missing ModelSpec")
    nameless = request_of(**inputs)
    nameless.model_spec.name = ""
    assert refusal(call, nameless) == ("INVALID_ARGUMENT", "ModelSpec has no name specified.")
    assert refusal(call, request_of("row", **inputs)) == (
        "FAILED_PRECONDITION",
        'Serving signature key "row" not found.',
    )
    assert refusal(call, request_of(distance=inputs["distance"], month=inputs["month"])) == (
        "INVALID_ARGUMENT",
        "input size does not match signature: 2!=3 len({distance,month}) != len({carrier,distance,month})."
        " Sent extra: {}. Missing but required: {carrier}.",
    )
    code, text = refusal(call, request_of(distance=inputs["distance"], month=inputs["month"], career=inputs["carrier"]))
    assert code == "INVALID_ARGUMENT"
    assert text.startswith(
        "Signature input alias: carrier(feed name: raw_carrier:0) not found in request and no default"
    )
    unknown_output = request_of(**inputs)
    unknown_output.output_filter.append("score")
    assert refusal(call, unknown_output) == (
        "INVALID_ARGUMENT",
        "output tensor alias not found in signature: score Outputs expected to be in the set {outputs}.",
    )
    twice = request_of(**inputs)
    twice.output_filter.extend(["outputs", "outputs"])
    assert refusal(call, twice) == ("INVALID_ARGUMENT", "duplicate output tensor alias: outputs")
    code, text = refusal(call, request_of(**{**inputs, "distance": inputs["distance"].astype(np.float64)}))
    assert code == "INVALID_ARGUMENT" and "double" in text and "float" in text
    torn = request_of(**inputs)
    torn.inputs["month"].tensor_content = b"123"
    assert refusal(call, torn) == ("INVALID_ARGUMENT", "tensor parsing error: month")
    labelled = request_of(**inputs)
    labelled.model_spec.version_label = "canary"
    assert refusal(call, labelled) == ("INVALID_ARGUMENT", "Unrecognized servable version label: canary")
    seventh = request_of(**inputs)
    seventh.model_spec.version.value = 7
    assert refusal(call, seventh) == ("NOT_FOUND", "Servable not found for request: Specific(tiny, 7)")


def test_a_long_error_is_cut_as_tensorflow_serving_cuts_it(running, channel):
    code, text = refusal(running.stub("prediction", channel).Predict, request_of("s" * 2000, **raw_inputs()))
    assert code == "FAILED_PRECONDITION"
    assert len(text) == 1024 + len("...TRUNCATED") and text.endswith("...TRUNCATED")


def test_classify_is_unimplemented(running, channel):
    from tensorflow_serving.apis import classification_pb2

    call = running.stub("prediction", channel).Classify
    assert refusal(call, classification_pb2.ClassificationRequest())[0] == "UNIMPLEMENTED"


def test_the_metadata_packs_the_signatures_of_the_resolved_version(running, channel):
    from tensorflow_serving.apis import get_model_metadata_pb2

    call = running.stub("prediction", channel).GetModelMetadata
    request = get_model_metadata_pb2.GetModelMetadataRequest()
    assert refusal(call, request) == ("INVALID_ARGUMENT", "Missing ModelSpec")
    request.model_spec.name = "tiny"
    assert refusal(call, request)[1] == "GetModelMetadataRequest must specify at least one metadata_field"
    request.metadata_field.append("signature_def")
    response = call(request, timeout=20)
    signatures = get_model_metadata_pb2.SignatureDefMap()
    assert response.metadata["signature_def"].Unpack(signatures)
    assert set(signatures.signature_def) == {"serving_default", "raw", "two"}
    assert response.model_spec.version.value == 1
    request.metadata_field.append("graph_def")
    assert refusal(call, request) == ("INVALID_ARGUMENT", "Metadata field graph_def is not supported")


def test_the_status_says_available_and_ignores_a_label(running, channel):
    from tensorflow_serving.apis import get_model_status_pb2

    call = running.stub("model", channel).GetModelStatus
    request = get_model_status_pb2.GetModelStatusRequest()
    assert refusal(call, request) == ("INVALID_ARGUMENT", "Missing ModelSpec")
    request.model_spec.name = "tiny"
    request.model_spec.version_label = "canary"
    (status,) = call(request, timeout=20).model_version_status
    assert (status.version, status.state, status.status.error_code) == (1, 30, 0)
    request.model_spec.version.value = 3
    assert refusal(call, request) == ("NOT_FOUND", "Could not find version 3 of model tiny")
