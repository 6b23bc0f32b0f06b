import json
import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.serving.json_parse import locate_error, parse
from pipeline.serving.json_write import Writer, decimal, dump, shortest
from pipeline.serving.status import ServingError


@pytest.mark.parametrize(
    ("number", "text"),
    [  # the literals of json_tensor_test.cc: FromJsonSingleFloatTensorSixDigitPrecision and NonFinite
        (9000000, "9e+06"),
        (999999, "999999.0"),
        (0.5, "0.5"),
        (0.0003, "0.0003"),
        (0.00003, "3e-05"),
        (555557.5, "555557.5"),
        (3, "3.0"),
        (float("nan"), "NaN"),
        (float("inf"), "Infinity"),
        (float("-inf"), "-Infinity"),
        (0.2, "0.2"),
        (0.8365802, "0.83658"),
    ],
)
def test_float32_is_written_as_tensorflow_serving_writes_it(number, text):
    written = decimal(np.float32(number))
    if number == 0.8365802:  # six digits do not read back, so nine are written
        assert written == "0.836580217" and np.float32(written) == np.float32(number)
    else:
        assert written == text


@given(st.floats(width=32, allow_nan=False))
def test_a_written_float32_reads_back_as_itself(number):
    text = decimal(np.float32(number))
    assert np.float32(float(text.replace("Infinity", "inf"))) == np.float32(number)


@given(st.floats(allow_nan=False))
def test_a_written_float64_reads_back_as_itself(number):
    for text in (decimal(np.float64(number)), shortest(number)):
        assert struct.pack("d", float(text.replace("Infinity", "inf"))) == struct.pack("d", number)


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (1.0, "1.0"),
        (0.1, "0.1"),
        (1e20, "100000000000000000000.0"),
        (1e21, "1e21"),
        (1.5e-7, "1.5e-7"),
        (0.00001234, "0.00001234"),
        (-0.0, "-0.0"),
        (123.456, "123.456"),
    ],
)
def test_a_quoted_double_is_laid_out_as_rapidjson_lays_it_out(number, text):
    assert shortest(number) == text


@pytest.mark.parametrize(
    ("body", "text", "offset"),
    [
        (b"  ", "The document is empty.", 2),
        (b"instances = [1, 2]", "Invalid value.", 0),
        (b'{"instances": [1, 2}', "Missing a comma or ']' after an array element.", 19),
        (b'{"a": 1 "b": 2}', "Missing a comma or '}' after an object member.", 8),
        (b'{"a" 1}', "Missing a colon after a name of object member.", 5),
        (b"{a: 1}", "Missing a name for object member.", 1),
        (b'{"a": 1,}', "Missing a name for object member.", 8),
        (b"[1,]", "Invalid value.", 3),
        (b'{"a": 1} x', "The document root must not be followed by other values.", 9),
        (b'{"a": "b', "Missing a closing quotation mark in string.", 8),
        (b'{"a": "\\q"}', "Invalid escape character in string.", 7),
        (b'{"a": "\\u12g4"}', "Incorrect hex digit after \\u escape in string.", 7),
        (b'{"a": nul}', "Invalid value.", 9),
        (b'{"a": 1.}', "Miss fraction part in number.", 8),
        (b'{"a": 1e}', "Miss exponent in number.", 8),
        ('{"ü": tru}'.encode(), "Invalid value.", 10),  # offsets count bytes
    ],
)
def test_a_document_that_does_not_parse_gets_the_text_and_offset_of_rapidjson(body, text, offset):
    assert locate_error(body) == (text, offset)
    with pytest.raises(ServingError, match=f"at offset: {offset}"):
        parse(body)


def test_an_empty_body_is_reported_without_an_offset():
    with pytest.raises(ServingError, match=r"JSON Parse error: The document is empty$"):
        parse(b"")


@settings(max_examples=30, deadline=None)
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers(-(2**63), 2**63) | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_what_is_written_parses_to_the_same_value(value):
    assert json.loads(dump(value)) == value


def test_control_characters_are_escaped_as_rapidjson_escapes_them():
    assert dump('a"\\\n\x1fü/') == '"a\\"\\\\\\n\\u001Fü/"'


def test_arrays_stand_on_one_line_only_where_asked():
    writer = Writer()
    writer.open(is_array=False)
    writer.string("predictions")
    writer.open(is_array=True)
    writer.single_line = True
    for _ in range(2):
        writer.open(is_array=True)
        writer.raw("1.0")
        writer.raw("2.0")
        writer.close()
    writer.single_line = False
    writer.close()
    writer.close()
    assert writer.text() == '{\n    "predictions": [[1.0, 2.0], [1.0, 2.0]\n    ]\n}'


def test_nesting_beyond_all_reason_is_an_answer_not_a_crash():
    with pytest.raises(ServingError, match="JSON Parse error"):
        parse(b"[" * 200_000)
