"""Which training examples the representative dataset takes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from components.quantizer.representative import check_distinct, choose_rows, digest, read_representative
from pipeline.errors import HeadraceError


@given(st.lists(st.integers(0, 4), min_size=1, max_size=200), st.integers(1, 60))
@settings(max_examples=150, deadline=None)
def test_as_many_rows_as_asked_for_in_order_without_repeats(labels, count):
    rows = choose_rows(np.array(labels), count)
    assert len(rows) == min(count, len(labels))
    assert (np.diff(rows) > 0).all()


@given(st.lists(st.integers(0, 4), min_size=1, max_size=200), st.integers(1, 60))
@settings(max_examples=150, deadline=None)
def test_no_class_gets_less_than_a_larger_one_could_give_up(labels, count):
    labels = np.array(labels)
    taken = np.bincount(labels[choose_rows(labels, count)], minlength=5)
    there = np.bincount(labels, minlength=5)
    short = taken < there  # classes that had more to give
    if short.any():
        assert taken.max() <= taken[short].min() + 1


def test_rows_of_a_class_are_spread_over_the_whole_split():
    labels = np.tile([0, 1], 500)
    rows = choose_rows(labels, 100)
    assert rows[0] < 20 and rows[-1] > 970
    assert np.bincount(labels[rows]).tolist() == [50, 50]


def test_only_the_chosen_rows_are_read_with_their_features(tmp_path):
    import pyarrow as pa

    from components import examples

    labels = np.array([0] * 90 + [1] * 10)
    values = np.arange(100, dtype=np.float32)
    images = pa.array((values[:, None] * np.ones(4, np.float32)).tolist(), pa.list_(pa.float32()))
    batch = pa.RecordBatch.from_pydict({"x": values, "image": images, "label": labels})
    examples.write_split([batch], str(tmp_path), "train")
    found = read_representative(str(tmp_path), "label", 30)
    assert set(found) == {"x", "image"}
    assert found["x"].astype(int).tolist() == choose_rows(labels, 30).tolist()
    assert found["image"].shape == (30, 4) and (found["image"][:, 0] == found["x"]).all()


def test_one_distinct_example_is_not_enough_but_two_are():
    check_distinct({"x": np.array([1.0, 2.0])})
    for calibration in ({"x": np.ones(5), "y": np.zeros((5, 3))}, {"x": np.ones(1)}, {"x": np.ones(0)}, {}):
        with pytest.raises(HeadraceError) as caught:
            check_distinct(calibration)
        assert caught.value.code == "HR-EDGE-004"


def test_the_digest_sees_names_shapes_and_values():
    base = {"a": np.arange(4.0)}
    others = [{"b": np.arange(4.0)}, {"a": np.arange(4.0).reshape(2, 2)}, {"a": np.arange(4)}, {"a": np.ones(4)}]
    assert digest(base) == digest({"a": np.arange(4.0)})
    assert len({digest(base), *map(digest, others)}) == 5
