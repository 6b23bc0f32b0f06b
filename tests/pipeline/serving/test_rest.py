import http.client
import json

import numpy as np
import pytest

ROWS = [(733.0, 3, b"UA"), (0.25, 12, b"AA"), (2475.0, 7, b"ZZ")]
PREDICT = "/v1/models/tiny:predict"


def instances(rows=ROWS):
    return [{"distance": [d], "month": [m], "carrier": [c.decode()]} for d, m, c in rows]


def post(running, body, path=PREDICT):
    code, headers, text = running.call("POST", path, body if isinstance(body, bytes | str) else json.dumps(body))
    assert headers["Content-Type"] == "application/json"
    return code, text


def error(running, body, path=PREDICT):
    code, text = post(running, body, path)
    return code, json.loads(text)["error"]


def test_rows_are_answered_as_the_model_called_directly_and_as_the_formula(running, oracle):
    code, text = post(running, {"signature_name": "raw", "instances": instances()})
    assert code == 200
    answers = np.array(json.loads(text)["predictions"])
    direct = running.server.manager
    with direct.acquire("tiny") as handle:
        inputs = {
            "distance": np.array([[d] for d, _, _ in ROWS], np.float32),
            "month": np.array([[m] for _, m, _ in ROWS]),
            "carrier": np.array([[c] for _, _, c in ROWS], object),
        }
        np.testing.assert_allclose(answers, handle.model.predict("raw", inputs)["outputs"], atol=1e-7)
    np.testing.assert_allclose(answers[:, 0], [oracle(*row) for row in ROWS], atol=1e-6)


def test_columns_are_answered_by_outputs(running, oracle):
    inputs = {"distance": [[733.0]], "month": [[3]], "carrier": [["UA"]]}
    code, text = post(running, {"signature_name": "raw", "inputs": inputs})
    assert code == 200
    np.testing.assert_allclose(json.loads(text)["outputs"], [[oracle(733.0, 3, b"UA")]], atol=1e-6)


def test_serving_default_takes_serialized_examples_as_base64(running, oracle, make_example):
    import base64

    rows = [{"b64": base64.b64encode(make_example(*row)).decode()} for row in ROWS]
    code, text = post(running, {"instances": rows})
    assert code == 200
    np.testing.assert_allclose(np.ravel(json.loads(text)["predictions"]), [oracle(*row) for row in ROWS], atol=1e-6)


def test_a_version_can_be_named(running):
    body = {"signature_name": "raw", "instances": instances()}
    assert post(running, body, "/v1/models/tiny/versions/1:predict") == post(running, body)


def test_several_outputs_come_back_as_objects_with_bytes_as_base64(running):
    code, text = post(running, {"signature_name": "two", "instances": [[2.5], [3.0]]})
    assert code == 200
    assert json.loads(text) == {
        "predictions": [
            {"half": [1.25], "text_bytes": [{"b64": "Mi41MDAwMDA="}], "whole": 2},
            {"half": [1.5], "text_bytes": [{"b64": "My4wMDAwMDA="}], "whole": 3},
        ]
    }
    assert '"half": [1.25],\n' in text


@pytest.mark.parametrize(
    ("path", "body", "code", "message"),
    [
        (PREDICT, "", 400, "JSON Parse error: The document is empty"),
        (PREDICT, "instances = [1, 2]", 400, "JSON Parse error: Invalid value. at offset: 0"),
        (PREDICT, "{}", 400, "Missing 'inputs' or 'instances' key"),
        (
            PREDICT,
            '{"signature_name": "row", "instances": [1]}',
            400,
            'Serving signature name: "row" not found in signature def',
        ),
        ("/v1/models/other:predict", "{}", 404, "Servable not found for request: Latest(other)"),
        ("/v1/models/other:predict", "{", 400, "JSON Parse error: Missing a name for object member. at offset: 1"),
        ("/v1/models/tiny/versions/7:predict", "{}", 404, "Servable not found for request: Specific(tiny, 7)"),
        ("/v1/models/tiny/labels/canary:predict", "{}", 400, "Unrecognized servable version label: canary"),
        (
            "/v1/models/tiny/versions/99999999999999999999:predict",
            "{}",
            400,
            "Failed to convert version: 99999999999999999999 to numeric.",
        ),
        ("/v1/models/tiny/version/1:predict", "{}", 400, "Malformed request: POST /v1/models/tiny/version/1:predict"),
        ("/v1/models/tiny", "{}", 400, "Malformed request: POST /v1/models/tiny"),
        ("/v1/models/tiny:Predict", "{}", 400, "Malformed request: POST /v1/models/tiny:Predict"),
        (
            PREDICT,
            '{"signature_name": "raw", "instances": [{"distance": [1.0], "month": [2], "career": ["UA"]}]}',
            400,
            "Failed to process element: 0 key: career of 'instances' list. Error: INVALID_ARGUMENT:"
            " JSON object: does not have named input: career",
        ),
    ],
)
def test_a_bad_request_gets_the_code_and_text_of_tensorflow_serving(running, path, body, code, message):
    assert error(running, body, path) == (code, message)


def test_an_error_of_the_graph_itself_is_passed_on(running):
    code, message = error(running, {"instances": [{"b64": "anVuaw=="}]})
    assert code == 400
    assert "Feature: carrier (data type: string) is required but could not be found." in message


def test_classify_and_regress_are_not_offered(running):
    for verb in ("classify", "regress"):
        code, message = error(running, {"examples": [{}]}, f"/v1/models/tiny:{verb}")
        assert code == 501 and verb in message


def test_the_status_lists_the_versions_as_tensorflow_serving_does(running):
    want = {
        "model_version_status": [
            {"version": "1", "state": "AVAILABLE", "status": {"error_code": "OK", "error_message": ""}}
        ]
    }
    for path in ("/v1/models/tiny", "/v1/models/tiny/versions/1", "/v1/models/tiny/labels/any", "/V1/Models/tiny"):
        code, headers, text = running.call("GET", path)
        assert (code, json.loads(text), headers["Content-Type"]) == (200, want, "application/json")


@pytest.mark.parametrize(
    ("path", "code", "message"),
    [
        ("/v1/models/other", 404, "Could not find any versions of model other"),
        ("/v1/models/tiny/versions/3", 404, "Could not find version 3 of model tiny"),
        ("/v1/models", 400, "Missing model name in request."),
        ("/v1/foo", 400, "Malformed request: GET /v1/foo"),
        ("/v1/models/tiny:predict", 400, "Malformed request: GET /v1/models/tiny:predict"),
        ("/v1/models/tiny/labels/canary/metadata", 400, "Unrecognized servable version label: canary"),
        ("/v1/models/other/metadata", 404, "Servable not found for request: Latest(other)"),
    ],
)
def test_a_bad_get_gets_the_code_and_text_of_tensorflow_serving(running, path, code, message):
    got, _, text = running.call("GET", path)
    assert (got, json.loads(text)["error"]) == (code, message)


def test_a_path_outside_the_api_is_a_plain_404(running):
    code, headers, text = running.call("GET", "/index")
    assert code == 404 and "json" not in headers["Content-Type"] and "error" not in text


def test_the_metadata_names_the_version_and_the_signatures(running):
    code, _, text = running.call("GET", "/v1/models/tiny/metadata")
    document = json.loads(text)
    assert code == 200
    assert document["model_spec"] == {"name": "tiny", "signature_name": "", "version": "1"}
    signatures = document["metadata"]["signature_def"]["signature_def"]
    assert set(signatures) == {"serving_default", "raw", "two"}
    distance = signatures["raw"]["inputs"]["distance"]
    assert distance["dtype"] == "DT_FLOAT"
    assert [dim["size"] for dim in distance["tensor_shape"]["dim"]] == ["-1", "1"]
    assert distance["tensor_shape"]["unknown_rank"] is False
    assert signatures["raw"]["method_name"] == "tensorflow/serving/predict"


def test_one_connection_takes_many_requests(running):
    connection = http.client.HTTPConnection("127.0.0.1", running.server.rest_port, timeout=20)
    try:
        sockets = set()
        for _ in range(3):
            connection.request("POST", PREDICT, json.dumps({"signature_name": "raw", "instances": instances()}))
            response = connection.getresponse()
            assert (response.version, response.status) == (11, 200)
            response.read()
            sockets.add(id(connection.sock))
        assert len(sockets) == 1 and connection.sock is not None
    finally:
        connection.close()


def test_a_length_that_is_no_number_is_refused_and_the_server_lives_on(running):
    connection = http.client.HTTPConnection("127.0.0.1", running.server.rest_port, timeout=20)
    try:
        connection.putrequest("POST", PREDICT)
        connection.putheader("Content-Length", "many")
        connection.endheaders()
        assert connection.getresponse().status == 400
    finally:
        connection.close()
    assert running.call("GET", "/v1/models/tiny")[0] == 200


def test_a_defect_is_an_internal_error_with_an_answer(running, monkeypatch):
    monkeypatch.setattr("pipeline.serving.rest.status_json", lambda statuses: 1 / 0)
    code, _, text = running.call("GET", "/v1/models/tiny")
    assert (code, json.loads(text)["error"]) == (500, "ZeroDivisionError: division by zero")


def test_a_chunked_body_is_read(running):
    body = json.dumps({"signature_name": "raw", "instances": instances()}).encode()
    connection = http.client.HTTPConnection("127.0.0.1", running.server.rest_port, timeout=20)
    try:
        parts = iter([body[:10], body[10:]])
        connection.request("POST", PREDICT, parts, {"Transfer-Encoding": "chunked"}, encode_chunked=True)
        response = connection.getresponse()
        assert response.status == 200
        assert len(json.loads(response.read())["predictions"]) == len(ROWS)
    finally:
        connection.close()
