"""What a node leaves in ML Metadata fits there, whatever its size."""

import json

import pytest

from components.reporting import Outcome
from pipeline.errors import HeadraceError

pytestmark = pytest.mark.tf

ERROR = HeadraceError("HR-DATA-201", "the data breaks the schema", ["x" * 390] * 9, "y" * 900, ["z" * 900] * 4)


def test_an_execution_without_an_outcome_has_an_empty_one():
    from pipeline.recording import read_outcome

    assert read_outcome({}) == Outcome()


def test_an_outcome_comes_back_with_the_error_that_stops_the_run():
    from ml_metadata.proto import metadata_store_pb2

    from pipeline.recording import MAX_PROPERTY_BYTES, read_outcome, write_outcome

    properties = metadata_store_pb2.Execution().custom_properties
    write_outcome(properties, Outcome({"auc": 0.75, "rows": ["é" * 3_000]}, ERROR))
    assert max(len(value.string_value.encode()) for value in properties.values()) == MAX_PROPERTY_BYTES
    found = read_outcome(properties)
    assert found.summary == {"auc": 0.75, "rows": ["é" * 3_000]}
    assert found.stop.to_dict() == ERROR.to_dict()


def test_a_long_error_is_kept_with_its_code_and_first_fix_and_counts_the_evidence_left_out():
    from pipeline.recording import MAX_PROPERTY_BYTES, _short

    text = _short(ERROR)
    kept = HeadraceError.from_dict(json.loads(text))
    assert len(text.encode()) <= MAX_PROPERTY_BYTES
    assert (kept.code, kept.what) == ("HR-DATA-201", "the data breaks the schema")
    assert len(kept.seen) + kept.more_seen == 9
    assert kept.fix and ERROR.fix[0].startswith(kept.fix[0].rstrip("…"))


def test_a_short_error_is_kept_whole():
    from pipeline.recording import _short

    error = HeadraceError("HR-DATA-201", "the data breaks the schema", ["one"], "none", ["correct it"])
    assert json.loads(_short(error)) == error.to_dict()
