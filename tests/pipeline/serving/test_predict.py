import json

import numpy as np
import pytest

from pipeline.errors import HeadraceError
from pipeline.serving.example_row import read_example_row, to_instance
from pipeline.serving.model import LoadedModel, Signature, TensorSpec
from pipeline.serving.predict import predict_file, predict_json, predict_rows
from pipeline.serving.rows import check_rows

GOOD = {"distance": 733, "month": 3, "carrier": "UA"}
INPUTS = {
    "distance": TensorSpec("float", (-1, 1), "d:0"),
    "month": TensorSpec("int64", (-1, 1), "m:0"),
    "carrier": TensorSpec("string", (-1, 1), "c:0"),
}


@pytest.fixture
def model_dir(tiny_models):
    return str(tiny_models[0])


def refused(code, rows, inputs=INPUTS, ignore=()):
    with pytest.raises(HeadraceError) as error:
        check_rows(rows, inputs, ignore)
    assert error.value.code == code
    return str(error.value)


def test_rows_are_answered_as_the_formula_says(model_dir, oracle):
    rows = [GOOD, {"distance": 1.5, "month": 12, "carrier": "ZZ"}]
    want = [[oracle(733, 3, b"UA")], [oracle(1.5, 12, b"ZZ")]]
    np.testing.assert_allclose(predict_rows(model_dir, rows), want, atol=1e-6)
    np.testing.assert_allclose(predict_json(model_dir, json.dumps(rows)), want, atol=1e-6)
    np.testing.assert_allclose(predict_json(model_dir, json.dumps(rows[0])), want[:1], atol=1e-6)


def test_a_missing_value_is_what_it_was_in_training(model_dir, oracle):
    rows = [{**GOOD, "distance": None}]
    np.testing.assert_allclose(predict_rows(model_dir, rows), [[oracle(0, 3, b"UA")]], atol=1e-6)
    with pytest.raises(HeadraceError, match="HR-PREDICT-008  the model refused row 2") as error:
        predict_rows(model_dir, [GOOD, {**GOOD, "month": None}])
    assert error.value.seen == ["column month has no value"]


def test_an_answer_that_is_not_a_number_names_the_row_and_what_is_missing(model_dir, monkeypatch):
    answers = {"outputs": np.array([[0.5], [np.nan]], np.float32)}
    monkeypatch.setattr(LoadedModel, "predict", lambda self, signature, inputs: answers)
    with pytest.raises(HeadraceError, match="HR-PREDICT-008  the model refused row 2") as error:
        predict_rows(model_dir, [GOOD, {**GOOD, "distance": None}])
    assert error.value.seen == ["the answer is [nan]; missing: distance"]


def test_csv_and_json_lines_files_give_the_same_answers(model_dir, tmp_path, oracle):
    csv = tmp_path / "rows.csv"
    csv.write_bytes(b"\xef\xbb\xbfcarrier,month,distance,delayed\nUA,3,733,1\n\nZZ,12,,0\n")
    lines = tmp_path / "rows.jsonl"
    lines.write_text(json.dumps(GOOD) + "\n\n" + json.dumps({"distance": None, "month": 12, "carrier": "ZZ"}) + "\n")
    want = [[oracle(733, 3, b"UA")], [oracle(0, 12, b"ZZ")]]
    np.testing.assert_allclose(predict_file(model_dir, str(csv), ignore=["delayed"]), want, atol=1e-6)
    np.testing.assert_allclose(predict_file(model_dir, str(lines)), want, atol=1e-6)


def test_a_missing_column_is_named():
    text = refused("HR-PREDICT-002", [GOOD, {"distance": 1, "month": 1}])
    assert "row 2 lacks the column carrier" in text


def test_an_unknown_column_gets_a_suggestion():
    text = refused("HR-PREDICT-003", [{"distance": 1, "month": 1, "carier": "UA"}])
    assert "carier: did you mean carrier?" in text
    assert check_rows([{**GOOD, "delayed": 1}], INPUTS, ignore=["delayed"])[0].keys() == INPUTS.keys()


@pytest.mark.parametrize(
    ("column", "value", "kind"),
    [
        ("distance", "733", "a number (float)"),
        ("distance", True, "a number (float)"),
        ("month", 3.5, "a whole number (int64)"),
        ("month", 2**63, "a whole number (int64)"),
        ("month", [3], "a whole number (int64)"),
        ("carrier", 7, "text (string)"),
        ("carrier", {"b64": "?"}, "text (string)"),
    ],
)
def test_a_value_of_the_wrong_type_says_what_would_be_right(column, value, kind):
    text = refused("HR-PREDICT-004", [{**GOOD, column: value}])
    assert f"column {column} of row 1" in text and kind in text and json.dumps(value)[:20] in text


def test_text_in_a_number_column_of_a_csv_is_refused(model_dir, tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("distance,month,carrier\n733,March,UA\n")
    with pytest.raises(HeadraceError, match="HR-PREDICT-004") as error:
        predict_file(model_dir, str(path))
    assert '"March"' in error.value.seen[0]


@pytest.mark.parametrize("text", ["{distance: 1}", "", "[1]", "7", '{"a": 1'])
def test_text_that_is_no_json_row_is_a_coded_error(model_dir, text):
    with pytest.raises(HeadraceError, match="HR-PREDICT-001"):
        predict_json(model_dir, text)


@pytest.mark.parametrize(
    ("name", "content", "code", "evidence"),
    [
        ("rows.jsonl", b'{"distance": 1}\n{"distance"\n', "HR-PREDICT-001", "rows.jsonl:2"),
        ("rows.csv", b"distance,month,carrier\n1,2\n", "HR-PREDICT-001", "rows.csv:2"),
        ("rows.csv", b"distance,month,carrier\n1,2,\xe9\n", "HR-PREDICT-001", "0xe9"),
        (None, None, "HR-PREDICT-006", "No such file"),
    ],
)
def test_a_file_that_cannot_be_read_as_rows_names_the_place(model_dir, tmp_path, name, content, code, evidence):
    path = tmp_path / (name or "absent.csv")
    if name:
        path.write_bytes(content)
    with pytest.raises(HeadraceError) as error:
        predict_file(model_dir, str(path))
    assert error.value.code == code and evidence in str(error.value)


def test_an_image_is_read_from_its_path(tmp_path):
    inputs = {"image": TensorSpec("string", (-1, 1), "i:0")}
    path = tmp_path / "7.png"
    path.write_bytes(b"\x89PNG")
    assert check_rows([{"image": str(path)}, {"image": {"b64": "iVBORw=="}}], inputs) == [{"image": b"\x89PNG"}] * 2
    text = refused("HR-PREDICT-005", [{"image": str(tmp_path / "8.png")}], inputs)
    assert "8.png: No such file" in text


def test_a_folder_without_a_model_and_a_model_without_raw_are_coded_errors(tmp_path, tiny_models):
    with pytest.raises(HeadraceError, match="HR-SERVE-003"):
        predict_rows(str(tmp_path), [GOOD])


def test_a_model_whose_vocabulary_is_missing_does_not_load(tiny_models, tmp_path):
    import shutil

    copy = tmp_path / "1"
    shutil.copytree(tiny_models[0], copy)
    shutil.rmtree(copy / "assets")
    with pytest.raises(HeadraceError, match="HR-SERVE-003") as error:
        predict_rows(str(copy), [GOOD])
    assert "carriers" in error.value.seen[0]


def test_a_model_gives_the_same_answer_alone_and_in_a_batch(model_dir):
    model = LoadedModel(model_dir)
    try:
        rows = {
            "distance": np.arange(100, dtype=np.float32).reshape(-1, 1),
            "month": np.arange(100).reshape(-1, 1),
            "carrier": np.full((100, 1), b"UA", object),
        }
        together = model.predict("raw", rows)["outputs"]
        alone = [model.predict("raw", {k: v[i : i + 1] for k, v in rows.items()})["outputs"][0] for i in range(100)]
        np.testing.assert_allclose(together, alone, atol=1e-6)
    finally:
        model.close()


def test_an_example_row_comes_from_the_source_data(tmp_path):
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "b.csv").write_text("distance;carrier\n9;ZZ\n")
    (folder / "a.csv").write_bytes(b"\xef\xbb\xbfdistance;delayed;carrier;month\n0.1;1;UA;\n7;0;AA;2\n")
    row = read_example_row(str(folder), "csv", "delayed", ";")
    assert row == {"distance": "0.1", "carrier": "UA", "month": ""}
    assert to_instance(row, Signature(INPUTS, {})) == {"carrier": ["UA"], "distance": [0.1], "month": [0]}
    assert json.dumps(to_instance({}, Signature(INPUTS, {}))) == '{"carrier": [""], "distance": [NaN], "month": [0]}'
    assert read_example_row(str(tmp_path / "absent"), "csv") == {}


def test_an_example_row_of_parquet_has_its_types(tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"distance": [0.5, 1.0], "carrier": ["UA", None]}), tmp_path / "rows.parquet")
    assert read_example_row(str(tmp_path / "rows.parquet"), "parquet") == {"distance": 0.5, "carrier": "UA"}


def test_an_example_image_is_sent_as_base64(tmp_path):
    (tmp_path / "7").mkdir()
    (tmp_path / "7" / "a.png").write_bytes(b"\x89PNG")
    row = read_example_row(str(tmp_path), "images", "label")
    picture = Signature({"image": TensorSpec("string", (-1,), "i:0")}, {})
    assert to_instance(row, picture) == {"image": {"b64": "iVBORw=="}}
