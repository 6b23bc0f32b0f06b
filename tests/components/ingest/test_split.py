"""The split, against its definition row by row, and the exact error of each one that cannot be made."""

import datetime

import pytest

from components.ingest.split import assign_split, hash_rows
from pipeline.config.model import SplitConfig
from pipeline.errors import HeadraceError

BITS64 = 2**64 - 1
GOLDEN = [14382594582249489536, 5498989604872342490, 4680850970742244133]


def places(rows):
    return [f"row {row}" for row in rows]


def table(**columns):
    import pyarrow as pa

    kinds = {int: pa.int64(), float: pa.float32(), bytes: pa.binary()}
    made = {}
    for name, values in columns.items():
        kind = next(kinds[type(value)] for value in values if value is not None)
        made[name] = pa.chunked_array([pa.array(values, kind)])
    return pa.table(made)


def refused(rows, **split):
    with pytest.raises(HeadraceError) as caught:
        assign_split(rows, SplitConfig(**split), places)
    return caught.value


def test_the_hash_of_a_row_never_changes():
    """The split of a data set is part of every result: these numbers hold for all versions and machines."""
    rows = table(a=[1, None, 3], b=[b"x", b"", b"\xff"], c=[0.5, -0.0, None])
    assert hash_rows(rows).tolist() == GOLDEN


def test_the_hash_is_splitmix_over_names_and_values():
    import hashlib
    import struct

    def mix(z):
        z = (z + 0x9E3779B97F4A7C15) & BITS64
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & BITS64
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & BITS64
        return z ^ (z >> 31)

    def text(value):
        return int.from_bytes(hashlib.blake2b(value, digest_size=8).digest(), "little")

    number = mix(struct.unpack("<Q", struct.pack("<d", 7.0))[0])
    expected = mix((mix((number + text(b"a")) & BITS64) + text(b"x") + text(b"b")) & BITS64)
    assert hash_rows(table(b=[b"x"], a=[7])).tolist() == [expected]


def test_equal_rows_share_a_side_whatever_the_order_of_rows_and_columns():
    import numpy as np
    import pyarrow as pa

    draw = np.random.default_rng(0)
    a, b = draw.integers(0, 40, 5_000), draw.integers(0, 5, 5_000)
    rows = table(a=a.tolist(), b=[b"%d" % value for value in b])
    side = {}
    for key, in_eval in zip(zip(a, b, strict=True), assign_split(rows, SplitConfig(), places), strict=True):
        assert side.setdefault(key, in_eval) == in_eval
    order = draw.permutation(5_000)
    shuffled = rows.take(pa.array(order)).select(["b", "a"])
    np.testing.assert_array_equal(
        assign_split(shuffled, SplitConfig(), places), assign_split(rows, SplitConfig(), places)[order]
    )


def test_an_integer_and_the_same_real_number_hash_alike():
    assert hash_rows(table(a=[1, 0, None])).tolist() == hash_rows(table(a=[1.0, -0.0, None])).tolist()


def test_the_share_of_eval_is_as_asked_and_grows_without_moving_rows():
    import numpy as np

    rows = table(a=list(range(100_000)))
    small, large = (assign_split(rows, SplitConfig(eval_fraction=share), places) for share in (0.2, 0.3))
    assert abs(small.mean() - 0.2) < 4 * np.sqrt(0.16 / 100_000)
    assert abs(large.mean() - 0.3) < 4 * np.sqrt(0.21 / 100_000)
    assert not (small & ~large).any()


def test_a_million_different_rows_have_different_hashes():
    import numpy as np

    hashes = hash_rows(table(a=list(range(200_000)), b=[b"k"] * 200_000))
    assert len(np.unique(hashes)) == 200_000
    bits = [(hashes >> np.uint64(bit) & np.uint64(1)).mean() for bit in range(64)]
    assert max(abs(share - 0.5) for share in bits) < 5 * 0.5 / np.sqrt(200_000)


def test_dates_from_a_day_on_go_to_eval():
    rows = table(date=[b"2013-10-31", b"2013-11-01", b"2013-11-01T00:00:00", b"2014-01-01"])
    split = SplitConfig(by="time", column="date", eval_from="2013-11-01")
    assert assign_split(rows, split, places).tolist() == [False, True, True, True]


def test_zones_are_compared_as_moments():
    texts = [b"2013-11-01T01:00:00+05:00", b"2013-10-31T23:00:00-02:00", b"2013-10-31T23:59:59Z"]
    start = datetime.datetime(2013, 11, 1, tzinfo=datetime.UTC)
    expected = [datetime.datetime.fromisoformat(text.decode()) >= start for text in texts]
    split = SplitConfig(by="time", column="t", eval_from="2013-11-01")
    assert assign_split(table(t=texts), split, places).tolist() == expected


@pytest.mark.parametrize("years", [[2012, 2013, 2014], [2012.0, 2013.0, 2014.5]])
def test_numbers_are_compared_as_numbers(years):
    split = SplitConfig(by="time", column="year", eval_from="2013")
    assert assign_split(table(year=years), split, places).tolist() == [False, True, True]


def test_a_missing_split_column_is_named():
    error = refused(table(a=[1, 2]), by="time", column="date", eval_from="2013-01-01")
    assert (error.code, error.seen) == ("HR-DATA-019", ["a"])


def test_gaps_in_the_split_column_are_named():
    error = refused(table(date=[b"2013-01-01", None, None]), by="time", column="date", eval_from="2013-01-01")
    assert (error.code, error.seen) == ("HR-DATA-019", ["row 1", "row 2"])


def test_values_that_are_no_dates_are_named():
    rows = table(date=[b"2013-01-01", b"01/02/2013", b"soon"])
    error = refused(rows, by="time", column="date", eval_from="2013-01-01")
    assert error.code == "HR-DATA-019"
    assert error.seen == ["'01/02/2013' at row 1", "'soon' at row 2"]


@pytest.mark.parametrize(
    ("values", "kind"), [([b"2013-01-01", b"2014-01-01"], "an ISO 8601 date"), ([1, 2], "a number")]
)
def test_a_start_of_another_kind_is_refused(values, kind):
    error = refused(table(t=values), by="time", column="t", eval_from="november")
    assert (error.code, error.expected) == ("HR-DATA-019", kind)


def test_one_row_cannot_be_split():
    error = refused(table(a=[1]))
    assert error.code == "HR-DATA-018"
    assert error.seen == ["1 row, split.eval_fraction is 0.2"]


def test_a_start_after_the_last_row_suggests_one_that_works():
    dates = [f"2013-01-{day:02d}".encode() for day in range(1, 11)]
    error = refused(table(date=dates), by="time", column="date", eval_from="2014-01-01")
    assert error.code == "HR-DATA-018"
    assert error.seen == ["date runs from 2013-01-01 to 2013-01-10, split.eval_from is 2014-01-01"]
    suggested = error.fix[0].split("=")[1].split()[0]
    assert suggested == "2013-01-09"
    assert (
        assign_split(table(date=dates), SplitConfig(by="time", column="date", eval_from=suggested), places).sum() == 2
    )
