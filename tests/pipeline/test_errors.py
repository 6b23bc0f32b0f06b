"""Errors are bounded, addressable and survive a process boundary."""

import pickle

import pytest

from pipeline.errors import HeadraceError


@pytest.fixture
def error():
    return HeadraceError(
        "HR-DATA-201",
        "column 'carrier' has odd values",
        [f"'X{i}'" for i in range(9)],
        "16 values",
        ["approve", "or correct"],
    )


def test_at_most_five_examples_are_kept_and_the_rest_counted(error):
    assert len(error.seen) == 5
    assert error.more_seen == 4
    assert "and 4 more" in str(error)


def test_a_long_line_is_cut():
    assert len(HeadraceError("HR-SYS-900", "x" * 10_000).what) == 400


def test_newlines_never_break_the_layout():
    assert HeadraceError("HR-SYS-900", "one\n\ntwo").what == "one two"


def test_the_family_decides_the_exit_code():
    codes = {"HR-CLI-001": 2, "HR-DATA-201": 3, "HR-SYS-900": 4, "HR-DATA-101": 5}
    assert {code: HeadraceError(code, "x").exit_code for code in codes} == codes


def test_an_unknown_code_is_a_programming_error():
    with pytest.raises(AssertionError, match="HR-NO-1"):
        HeadraceError("HR-NO-1", "x")


def test_an_error_survives_pickling_and_json(error):
    assert str(pickle.loads(pickle.dumps(error))).startswith("HR-DATA-201")
    assert str(HeadraceError.from_dict(error.to_dict())) == str(error)


def test_the_text_reads_as_one_idea_a_line(error):
    assert str(error).splitlines()[-3:] == [
        "  fix        approve",
        "             or correct",
        "  details    docs/errors.md#hr-data-201",
    ]
