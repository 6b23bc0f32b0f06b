import json

import numpy as np
import pytest

from pipeline.serving.json_answer import error_json, predict_json
from pipeline.serving.json_tensor import parse_predict, read_tensors
from pipeline.serving.status import Code, ServingError

INT = {"default": "int32"}
FLOAT = {"default": "float"}
TEXT = {"default": "string"}
TWO = {"int_tensor": "int32", "str_tensor": "string"}


def read(body, dtypes):
    parsed = parse_predict(body.encode() if isinstance(body, str) else body)
    return read_tensors(parsed, dtypes)


def refused(body, dtypes):
    with pytest.raises(ServingError) as error:
        read(body, dtypes)
    assert error.value.code == Code.INVALID_ARGUMENT
    return error.value.message


def test_rows_of_one_unnamed_tensor_become_a_batch():
    tensors = read('{"instances": [[1,2],[3,4],[5,6]]}', INT)
    np.testing.assert_array_equal(tensors["default"], np.array([[1, 2], [3, 4], [5, 6]], np.int32))
    assert tensors["default"].dtype == np.int32


def test_whole_and_decimal_numbers_mix_in_a_float_tensor():
    tensors = read('{"instances": [1, 2.0, 3, 4, 5.003, 0.007, NaN, Infinity, -Infinity]}', FLOAT)
    want = np.array([1, 2, 3, 4, 5.003, 0.007, np.nan, np.inf, -np.inf], np.float32)
    np.testing.assert_array_equal(tensors["default"], want)


def test_base64_objects_become_bytes_at_any_depth():
    assert read('{"instances": [{"b64": "aGVsbG8="}, {"b64": "d29ybGQ="}]}', TEXT)["default"].tolist() == [
        b"hello",
        b"world",
    ]
    nested = read('{"instances": [[{"b64": "aGVsbG8="}], [{"b64": "d29ybGQ"}]]}', TEXT)["default"]
    assert nested.tolist() == [[b"hello"], [b"world"]]
    assert read('{"inputs": {"b64": "aGVsbG8="}}', TEXT)["default"].tolist() == b"hello"


def test_text_that_is_not_utf8_reaches_a_string_tensor_unchanged():
    assert read(b'{"instances": ["\xff\xfe", "\xc3\xbc"]}', TEXT)["default"].tolist() == [b"\xff\xfe", "ü".encode()]


def test_named_tensors_by_row_and_by_column():
    rows = read(
        '{"instances": [{"int_tensor": [1, 2], "str_tensor": "a"}, {"int_tensor": [3, 4], "str_tensor": "b"}]}', TWO
    )
    columns = read('{"inputs": {"int_tensor": [[1, 2], [3, 4]], "str_tensor": ["a", "b"], "more": 1}}', TWO)
    for tensors in (rows, columns):
        assert tensors["int_tensor"].tolist() == [[1, 2], [3, 4]]
        assert tensors["str_tensor"].tolist() == [b"a", b"b"]


@pytest.mark.parametrize(
    ("body", "dtypes", "message"),
    [
        ("[1]", INT, "JSON Value: [\n    1\n] Is not object"),
        ("{}", INT, "Missing 'inputs' or 'instances' key"),
        (
            '{"signature_name": 5}',
            INT,
            'JSON Value: {\n    "signature_name": 5\n} not formatted correctly.'
            " 'signature_name' key must be a string value.",
        ),
        ('{"instances": 1}', INT, "JSON Value: {\n    \"instances\": 1\n} Excepting 'instances' to be an list/array"),
        ('{"instances": []}', INT, "JSON Value: {\n    \"instances\": []\n} No values in 'instances' array"),
        (
            '{"instances": [[1,2],[3,4],[5,6,7]]}',
            INT,
            "Failed to process element: 2 of 'instances' list."
            " Error: INVALID_ARGUMENT: Expecting tensor size: 2 but got: 3",
        ),
        (
            '{"instances": [[1,2],[3,4],[[5,6]]]}',
            INT,
            "Failed to process element: 2 of 'instances' list."
            " Error: INVALID_ARGUMENT: Expecting shape [2] but got: [1,2]",
        ),
        (
            '{"instances": ["x", "y"]}',
            FLOAT,
            "Failed to process element: 0 of 'instances' list. Error: INVALID_ARGUMENT:"
            ' JSON Value: "x" Type: String is not of expected type: float',
        ),
        (
            '{"instances": [1.5]}',
            INT,
            "Failed to process element: 0 of 'instances' list. Error: INVALID_ARGUMENT:"
            " JSON Value: 1.5 Type: Number is not of expected type: int32",
        ),
        (
            '{"instances": [true]}',
            FLOAT,
            "Failed to process element: 0 of 'instances' list. Error: INVALID_ARGUMENT:"
            " JSON Value: true Type: True is not of expected type: float",
        ),
        (
            '{"instances": [16777217]}',
            FLOAT,
            "Failed to process element: 0 of 'instances' list. Error: INVALID_ARGUMENT:"
            " Cannot convert JSON value: 16777217 to float without loss of precision.",
        ),
        (
            '{"instances": [[[1, 2], [3]]]}',
            INT,
            "Failed to process element: 0 of 'instances' list. Error: INVALID_ARGUMENT:"
            " Encountered list at unexpected size: 1 at level: 1 expected size: 2",
        ),
        (
            '{"instances": [{"int_tensor": 1, "str_tensor": "a"}, [1]]}',
            TWO,
            "Expecting object but got list at item 1 of input list",
        ),
        (
            '{"instances": [["baz"], {"default": ["baz"]}]}',
            TEXT,
            "Expecting value/list but got object at item 1 of input list",
        ),
        (
            '{"instances": [{"int_tensor": 1, "sir_tensor": "a"}]}',
            TWO,
            "Failed to process element: 0 key: sir_tensor of 'instances' list. Error: INVALID_ARGUMENT:"
            " JSON object: does not have named input: sir_tensor",
        ),
        (
            '{"instances": [{"int_tensor": 1}]}',
            TWO,
            "Failed to process element: 0 of 'instances' list. JSON object: {\n    \"int_tensor\": 1\n}"
            " keys must be equal to: int_tensor,str_tensor",
        ),
        (
            '{"instances": [1]}',
            TWO,
            "instances is a plain list, but expecting list of objects as multiple"
            " input tensors required as per tensorinfo_map",
        ),
        (
            '{"inputs": [1]}',
            TWO,
            "inputs is a plain value/list, but expecting an object as multiple"
            " input tensors required as per tensorinfo_map",
        ),
        ('{"inputs": {"int_tensor": [1]}}', TWO, "Missing named input: str_tensor in 'inputs' object."),
        (
            '{"inputs": [1, [2]]}',
            INT,
            "Encountered list at unexpected level: 1 expected < 1",
        ),
        (
            '{"inputs": [[1], 2]}',
            INT,
            "JSON Value: 2 found at incorrect level: 2 in the JSON DOM. Expected at level: 2",
        ),
        ('{"inputs": [{"b64": "?"}]}', TEXT, "Unable to base64 decode"),
        (
            '{"inputs": [{"c64": "?"}]}',
            TEXT,
            'JSON Value: {\n    "c64": "?"\n} not formatted correctly for base64 data',
        ),
    ],
)
def test_a_body_that_does_not_fit_gets_the_text_of_tensorflow_serving(body, dtypes, message):
    assert refused(body, dtypes) == message


def test_both_formats_at_once_are_refused():
    assert "Not formatted correctly expecting only one of 'inputs' or 'instances' keys to exist" in refused(
        '{"instances": [1], "inputs": [1]}', INT
    )


def test_one_output_is_bare_and_several_are_objects():
    one = {"outputs": np.array([[2.5, 3.0], [3.5, 4.0]], np.float32)}
    assert predict_json(one, by_row=True) == '{\n    "predictions": [[2.5, 3.0], [3.5, 4.0]\n    ]\n}'
    assert json.loads(predict_json(one, by_row=False)) == {"outputs": [[2.5, 3.0], [3.5, 4.0]]}
    several = {
        "b": np.array([8.0, 9.0]),
        "a": np.array([[b"x"], [b"\xc3\xbc"]], object),
        "c_bytes": np.array([b"hi", b"\xff"], object),
    }
    row = """        {
            "a": ["%s"],
            "b": %s,
            "c_bytes": {
                "b64": "%s"
            }
        }"""
    rows = ",\n".join([row % ("x", "8.0", "aGk="), row % ("ü", "9.0", "/w==")])
    assert predict_json(several, by_row=True) == f'{{\n    "predictions": [\n{rows}\n    ]\n}}'
    assert json.loads(predict_json(several, by_row=False))["outputs"]["c_bytes"] == [{"b64": "aGk="}, {"b64": "/w=="}]


@pytest.mark.parametrize(
    ("outputs", "message"),
    [
        ({}, "Cannot convert empty tensor map to JSON"),
        ({"t": np.array(1)}, "Tensor name: t has no shape information "),
        (
            {"a": np.zeros((2, 3)), "b": np.zeros((1, 3))},
            "Tensor name: b has inconsistent batch size: 1 expecting: 2",
        ),
        ({"t": np.zeros(2, np.complex64)}, "Failed to write JSON value for tensor type: complex64"),
    ],
)
def test_outputs_that_cannot_be_rows_get_the_text_of_tensorflow_serving(outputs, message):
    with pytest.raises(ServingError) as error:
        predict_json(outputs, by_row=True)
    assert (error.value.code, error.value.message) == (Code.INVALID_ARGUMENT, message)


def test_an_error_body_is_pretty_printed_and_escaped():
    assert error_json('Bad key: "key"\n') == '{\n    "error": "Bad key: \\"key\\"\\n"\n}'
    assert json.loads(error_json("Bad key: 'key'")) == {"error": "Bad key: 'key'"}
