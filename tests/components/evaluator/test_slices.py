"""Slices against a dictionary that is filled row by row."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from components.evaluator.slices import MAX_SLICES, find_slices, slice_rows
from pipeline.errors import HeadraceError

rows = st.lists(st.tuples(st.sampled_from(["OO", "AA", ""]), st.sampled_from(["1", "2", "11", ""])), min_size=1)


def by_loop(table, specs):
    """Rows of each slice, one row after another."""
    found = {"overall": list(range(len(next(iter(table.values())))))}
    for spec in specs:
        for row in found["overall"]:
            values = [str(table[name][row]) for name in spec]
            if all(values):
                key = ",".join(f"{name}={value}" for name, value in zip(spec, values, strict=True))
                found.setdefault(key, []).append(row)
    return found


@given(rows)
@settings(max_examples=150, deadline=None)
def test_slices_are_those_of_a_loop_over_rows(values):
    table = {"carrier": np.array([a for a, _ in values]), "month": np.array([b for _, b in values])}
    if not all((column != "").any() for column in table.values()):
        return
    specs = [["carrier"], ["carrier", "month"], ["month"]]
    found = {name: members.tolist() for name, members in slice_rows(table, specs).items()}
    assert found == by_loop(table, specs)


def test_integers_are_ordered_by_size_and_keep_their_type():
    found = find_slices({"month": np.array(["11", "2", "1", "2"])}, [["month"]])
    assert [s.name for s in found] == ["overall", "month=1", "month=2", "month=11"]
    assert found[1].parts == (("month", 1),)


def test_a_code_with_a_leading_zero_stays_text():
    found = find_slices({"zip": np.array(["07", "11"])}, [["zip"]])
    assert found[1].parts == (("zip", "07"),)


def test_bytes_and_numbers_slice_as_their_text():
    columns = {"carrier": np.array([b"AA", b"\xff", b"AA"], object), "hour": np.array([3, 4, 3])}
    assert list(slice_rows(columns, [["carrier", "hour"]])) == ["overall", "carrier=AA,hour=3", "carrier=�,hour=4"]


def test_no_columns_leave_the_overall_slice():
    assert [(s.name, len(s.rows)) for s in find_slices({}, [], rows=7)] == [("overall", 7)]


def test_a_column_without_values_is_refused():
    with pytest.raises(HeadraceError) as caught:
        find_slices({"carier": np.array(["", ""])}, [["carier"]])
    assert caught.value.code == "HR-EVAL-006" and "carier" in caught.value.what


def test_a_column_of_identifiers_is_refused():
    with pytest.raises(HeadraceError) as caught:
        find_slices({"tail": np.arange(MAX_SLICES + 1)}, [["tail"]])
    assert caught.value.code == "HR-EVAL-006" and "2,001" in caught.value.what
