"""Spans: numbers and times in the path of the data."""

from datetime import date

import pytest

from components.ingest.span import span_number, spanned_path
from pipeline.errors import HeadraceError


@pytest.mark.parametrize(
    ("path", "span", "expected"),
    [
        ("/d/flights.csv", "", "/d/flights.csv"),
        ("/d/flights.csv", "20261130023000", "/d/flights.csv"),
        ("/d/span-{SPAN}/*", "7", "/d/span-7/*"),
        ("/d/{YYYY}/{MM}/{DD}.csv", "2026-11-30", "/d/2026/11/30.csv"),
        ("/d/{YYYY}-{MM}-{DD}", "20261130", "/d/2026-11-30"),
        ("s3://b/{YYYY}{MM}{DD}T{HH}", "20261130023000", "s3://b/20261130T02"),
        ("/d/{YYYY}-{MM}-{DD}", "2026-11-30T23:30:00-02:00", "/d/2026-12-01"),
    ],
)
def test_a_span_fills_the_placeholders_of_the_path(path, span, expected):
    assert spanned_path(path, span) == expected


@pytest.mark.parametrize(
    ("path", "span"),
    [("/{SPAN}", ""), ("/{SPAN}", "2026-11-30"), ("/{YYYY}", ""), ("/{DD}", "7"), ("/{DD}", "20261399")],
)
def test_a_span_that_does_not_fill_the_path_is_refused(path, span):
    with pytest.raises(HeadraceError, match="HR-DATA-031"):
        spanned_path(path, span)


def test_a_time_counts_as_its_days_since_1970_as_in_tfx():
    days = (date(2026, 11, 30) - date(1970, 1, 1)).days
    assert [span_number(span) for span in ("", "12", "2026-11-30", "20261130", "20261130235959")] == [
        0,
        12,
        *[days] * 3,
    ]
    with pytest.raises(HeadraceError, match="HR-DATA-031"):
        span_number("yesterday")
