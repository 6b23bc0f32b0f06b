"""Labels that cannot be learnt: the exact error of each."""

import pytest

from components.ingest.label import check_label, check_split_classes
from pipeline.errors import HeadraceError


def places(rows):
    return [f"rows.csv:{row + 2}" for row in rows]


def table(label, kind=None):
    import pyarrow as pa

    return pa.table({"late": pa.chunked_array([pa.array(label, kind)])})


def refused(label, problem="binary", name="late", kind=None):
    with pytest.raises(HeadraceError) as caught:
        check_label(table(label, kind), name, problem, places)
    return caught.value


def test_a_missing_label_column_suggests_the_nearest_name():
    error = refused([0, 1], name="lates")
    assert (error.code, error.seen, error.fix) == ("HR-DATA-010", ["late"], ["--set label=late"])


def test_rows_without_a_label_are_named():
    error = refused([0, None, 1] + [None] * 9)
    assert error.code == "HR-DATA-011"
    assert error.what == "label 'late' is missing in 10 of 12 rows"
    assert error.seen == ["rows.csv:3", "rows.csv:5", "rows.csv:6", "rows.csv:7", "rows.csv:8"]
    assert error.more_seen == 5


@pytest.mark.parametrize(("label", "problem"), [([1, 1], "binary"), ([b"cat", b"cat"], "multiclass")])
def test_one_class_is_refused(label, problem):
    error = refused(label, problem)
    assert error.code == "HR-DATA-013"
    assert error.seen[0].endswith("in 2 of 2 rows")


@pytest.mark.parametrize("label", [[1, 2, 1], [b"yes", b"no", b"no"], [0.5, 1.0, 0.0]])
def test_a_binary_label_other_than_0_and_1_is_refused(label):
    error = refused(label)
    assert (error.code, error.expected) == ("HR-DATA-014", "0 and 1")
    assert len(error.seen) == len(set(label))


def test_real_numbers_are_no_class_names():
    assert refused([0.5, 1.5], "multiclass").code == "HR-DATA-014"


@pytest.mark.parametrize(
    ("label", "problem"),
    [([0, 1], "binary"), ([0.0, 1.0], "binary"), ([b"a", b"b"], "multiclass"), ([3, 5, 7], "multiclass")],
)
def test_labels_that_can_be_learnt_pass(label, problem):
    check_label(table(label), "late", problem, places)


def test_a_class_of_eval_that_train_lacks_is_named():
    import numpy as np

    rows = table([b"a", b"b", b"c", b"c", b"a"])
    with pytest.raises(HeadraceError, match="HR-DATA-015") as caught:
        check_split_classes(rows, "late", np.array([False, False, True, True, True]), places)
    assert caught.value.what == "1 of 2 classes in eval do not occur in train"
    assert caught.value.seen == ["'c' in eval 2 times, first at rows.csv:4"]
    assert caught.value.expected == "one of a, b"


def test_a_class_that_eval_lacks_is_a_warning():
    import numpy as np

    warnings = check_split_classes(table([0, 1, 0]), "late", np.array([False, False, True]), places)
    assert warnings == ["eval has no row of class 1"]
