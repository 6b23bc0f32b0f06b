"""Schemas are read, changed and compared as text."""

import pytest

from components import schemas
from pipeline.errors import HeadraceError

TEXT = """
feature { name: "carrier" type: BYTES domain: "carrier" presence { min_fraction: 1.0 } }
feature { name: "distance" type: INT int_domain { min: 0 max: 5000 } }
string_domain { name: "carrier" value: "UA" value: "AA" }
"""


@pytest.fixture
def path(tmp_path):
    found = tmp_path / "schema.pbtxt"
    found.write_text(TEXT)
    return str(found)


def test_a_missing_schema_says_how_to_make_one(tmp_path):
    with pytest.raises(HeadraceError, match="HR-DATA-210") as caught:
        schemas.read_schema(str(tmp_path / "none.pbtxt"))
    assert "headrace schema infer" in caught.value.fix[0]


def test_text_that_is_no_schema_names_the_place(tmp_path):
    broken = tmp_path / "schema.pbtxt"
    broken.write_text('feature { nam: "x" }')
    with pytest.raises(HeadraceError, match="HR-DATA-211") as caught:
        schemas.read_schema(str(broken))
    assert "nam" in caught.value.seen[0]


def test_a_schema_survives_writing(path, tmp_path):
    schema = schemas.read_schema(path)
    schemas.write_schema(schema, str(tmp_path / "copy" / "schema.pbtxt"))
    assert schemas.read_schema(str(tmp_path / "copy")) == schema


def test_an_added_value_is_the_only_difference(path):
    before = schemas.read_schema(path)
    after = schemas.add_values(before, "carrier", ["XX", "UA"])
    assert list(after.string_domain[0].value) == ["UA", "AA", "XX"]
    assert len(schemas.differences(before, after)) == 1
    assert schemas.differences(before, before) == []


def test_a_value_cannot_be_added_to_a_column_of_numbers(path):
    with pytest.raises(HeadraceError, match="HR-DATA-212"):
        schemas.add_values(schemas.read_schema(path), "distance", ["7"])


def test_features_that_come_and_go_are_marked(path):
    before = schemas.read_schema(path)
    after = type(before)()
    after.CopyFrom(before)
    after.feature[1].name = "miles"
    assert [line[:10] for line in schemas.differences(before, after)] == ["- distance", "+ miles: I"]
