"""Column types, against Python's own int and float."""

import pytest

from components.ingest.types import declared_types, infer_types
from pipeline.errors import HeadraceError


def infer(values: list[str], declared: str | None = None):
    import pyarrow as pa

    table = pa.table({"x": pa.array(values, pa.string())})
    typed = infer_types(table, {"x": declared} if declared else {}, lambda rows: [f"row {row}" for row in rows])
    return str(typed.schema.field("x").type), typed["x"].to_pylist()


def test_whole_numbers_stay_integers_where_values_are_missing():
    assert infer(["1", "", "-7", "007"]) == ("int64", [1, None, -7, 7])


def test_one_fraction_makes_the_column_real():
    assert infer(["1", "2.5", "", "-3e2", ".5", "4."]) == ("float", [1.0, 2.5, None, -300.0, 0.5, 4.0])


def test_signs_and_spaces_around_a_number_are_no_words():
    assert infer(["+5", " 6", "7 ", " +8\t", "  "]) == ("int64", [5, 6, 7, 8, None])
    assert infer(["+5.5", " 6"]) == ("float", [5.5, 6.0])


@pytest.mark.parametrize("value", ["0x1F", "1_000", "1,5", "1d", "٣", "--1", "1e", "."])
def test_what_only_some_readers_take_for_a_number_is_text(value):
    assert infer([value, value + "a"]) == ("binary", [value.encode(), (value + "a").encode()])
    assert infer([value]) == ("binary", [value.encode()])


def test_integers_beyond_64_bits_are_identifiers_and_keep_their_digits():
    big = "12345678901234567890123"
    assert infer([big, "1"]) == ("binary", [big.encode(), b"1"])
    assert infer(["9223372036854775807", "-9223372036854775808"])[1] == [2**63 - 1, -(2**63)]
    assert infer([big, "1"], "FLOAT")[0] == "float"


def test_an_empty_column_is_text_unless_the_schema_knows_better():
    assert infer(["", ""]) == ("binary", [None, None])
    assert infer(["", ""], "INT") == ("int64", [None, None])
    assert infer(["", ""], "FLOAT") == ("float", [None, None])


def test_ticket_numbers_with_letters_are_text():
    values = [str(n) for n in range(75)] + [f"A/{n}" for n in range(25)]
    assert infer(values)[0] == "binary"


@pytest.mark.parametrize("words", [["NA"], ["NA", "?", "unknown"] * 5, [f"w{n}" for n in range(10)]])
def test_few_words_among_numbers_are_refused(words):
    with pytest.raises(HeadraceError, match="HR-DATA-017"):
        infer([str(n) for n in range(100)] + words)


def test_a_column_declared_as_numbers_but_full_of_words_is_left_to_the_schema_check():
    assert infer(["a", "b", "1"], "INT") == ("binary", [b"a", b"b", b"1"])


@pytest.mark.parametrize("value", ["nan", "NaN", "inf", "-Infinity", "1e39", "-3.5e38", " inf"])
def test_numbers_that_are_not_finite_in_float32_are_refused(value):
    with pytest.raises(HeadraceError, match="HR-DATA-016") as caught:
        infer(["1", value])
    assert caught.value.seen == [f"x: {value.strip()!r} at row 1"]


def test_a_name_that_reads_as_nan_is_text_among_names():
    assert infer(["Nan", "Ana", "Inf"])[0] == "binary"


def test_real_numbers_are_the_float32_nearest_to_the_text():
    import numpy as np

    texts = ["0.1", "16777217.0", "1e-40", "3.4028234e38", "-0.0", "10.357019999999999"]
    assert infer(texts)[1] == [float(np.float32(float(text))) for text in texts]


def test_the_schema_names_types():
    from google.protobuf import text_format
    from tensorflow_metadata.proto.v0 import schema_pb2

    text = 'feature { name: "a" type: INT } feature { name: "b" type: BYTES } feature { name: "c" }'
    schema = text_format.Parse(text, schema_pb2.Schema())
    assert declared_types(schema) == {"a": "INT", "b": "BYTES"}
