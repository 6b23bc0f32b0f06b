"""Geometry and arithmetic of the charts, against independent computations."""

import itertools
import math
import re

import numpy as np
import pytest

from pipeline.report import charts, graph, lineage, statistics
from pipeline.report.statistics import Feature, SplitFacts


def histogram_feature(**values) -> Feature:
    """Return a feature whose splits hold ten-bucket histograms of the given values."""
    splits = {}
    for split, data in values.items():
        counts, edges = np.histogram(data, bins=10, range=(min(data), max(data)))
        buckets = tuple(
            (low, high, float(count)) for low, high, count in zip(edges, edges[1:], counts, strict=False) if count
        )
        splits[split] = SplitFacts(len(data), 0.0, buckets=buckets)
    return Feature("x", "numeric", "float", splits)


@pytest.mark.parametrize("seed", range(5))
def test_bins_that_splits_share_hold_the_same_rows_as_the_buckets(seed):
    rng = np.random.default_rng(seed)
    feature = histogram_feature(train=rng.normal(0, 1 + seed, 500), eval=rng.normal(1, 0.5, 300))
    bins = statistics.common_bins(feature)
    for split, facts in feature.splits.items():
        edges = np.array([facts.buckets[0][0], *(bucket[1] for bucket in facts.buckets)])
        lows = {bucket[0]: bucket[2] for bucket in facts.buckets}
        points, mass = [facts.buckets[0][0]], [0.0]
        for low, high, rows in facts.buckets:
            points += [low, high]
            mass += [mass[-1], mass[-1] + rows]
        total = sum(lows.values())
        expected = [
            (np.interp(found.high, points, mass) - np.interp(found.low, points, mass)) / total for found in bins
        ]
        assert [found.shares[split] for found in bins] == pytest.approx(expected, abs=1e-9)
        assert sum(found.shares[split] for found in bins) == pytest.approx(1.0)
        assert len(edges) <= 11


def test_one_split_keeps_its_own_buckets():
    feature = histogram_feature(train=np.arange(100.0))
    assert [found.shares["train"] for found in statistics.common_bins(feature)] == pytest.approx([0.1] * 10)


def test_a_constant_feature_is_one_bar_and_a_split_without_values_is_flat():
    feature = Feature(
        "x", "numeric", "int", {"train": SplitFacts(10, 1.0), "eval": SplitFacts(10, 0.0, buckets=((7.0, 7.0, 10.0),))}
    )
    bins = statistics.common_bins(feature)
    assert [(found.low, found.high, found.shares) for found in bins] == [(7.0, 7.0, {"train": 0.0, "eval": 1.0})]
    drawn = charts.histogram(bins)
    assert drawn.bars[0][3] == 0 and list(drawn.outlines) == ["eval"]
    assert statistics.common_bins(Feature("y", "numeric", "int", {"train": SplitFacts(0, 0.0)})) == []


def test_top_values_are_ordered_by_their_largest_share_and_cover_what_they_cover():
    feature = Feature(
        "c",
        "text",
        "string",
        {"train": SplitFacts(100, 0.5, top=(("a", 40.0), ("b", 10.0))), "eval": SplitFacts(10, 0.0, top=(("b", 9.0),))},
    )
    shown = statistics.top_values(feature)
    assert [(value.value, value.shares) for value in shown] == [
        ("b", {"train": 0.2, "eval": 0.9}),
        ("a", {"train": 0.8}),
    ]
    assert statistics.covered(feature, "train", shown) == 1.0 and statistics.covered(
        feature, "eval", shown
    ) == pytest.approx(0.9)


@pytest.mark.parametrize(
    ("low", "high"), [(0, 1), (0.5021, 0.5541), (-3, 7), (5, 5), (0, 0), (1e-9, 3e-9), (0, 1e12), (-1e-3, 1e5)]
)
def test_ticks_are_few_evenly_spaced_and_span_the_values(low, high):
    marks = charts.ticks(low, high)
    steps = {round((b - a) / (marks[1] - marks[0]), 6) for a, b in itertools.pairwise(marks)}
    assert 2 <= len(marks) <= 8 and steps == {1.0}
    assert marks[0] <= low + abs(low) * 1e-9 and marks[-1] >= high - abs(high) * 1e-9


def test_calibration_error_is_the_weighted_distance_from_the_diagonal():
    rows = [
        {"mean_prediction": 0.1, "mean_label": 0.2, "count": 30},
        {"mean_prediction": 0.6, "mean_label": 0.5, "count": 10},
        {"mean_prediction": math.nan, "mean_label": 0.5, "count": 10},
    ]
    drawn = charts.calibration(rows)
    assert drawn.error == pytest.approx((30 * 0.1 + 10 * 0.1) / 40) and len(drawn.points) == 2
    assert charts.calibration([]) is None


def test_a_point_on_the_diagonal_is_drawn_on_the_diagonal():
    drawn = charts.calibration([{"mean_prediction": 0.25, "mean_label": 0.25, "count": 1}])
    x, y, _, _ = drawn.points[0]
    assert x - drawn.margin == pytest.approx(drawn.side - y)


def test_lanes_of_lines_that_pass_each_other_never_coincide():
    rng = np.random.default_rng(4)
    for _ in range(50):
        nodes = [{"id": str(i), "upstream": [str(j) for j in range(i) if rng.random() < 0.35]} for i in range(14)]
        drawn = graph.graph(nodes)
        assert len(drawn.edges) == sum(len(node["upstream"]) for node in nodes)
        spans = {}
        for edge in drawn.edges:
            source, target = int(edge.source), int(edge.target)
            lane = re.search(r"H([\d.-]+)q", edge.path)
            if lane:
                key = (source, float(lane.group(1)))
                spans[key] = max(spans.get(key, 0), target)
        for ((one, x), end), ((other, x2), end2) in itertools.combinations(spans.items(), 2):
            assert x != x2 or end <= other or end2 <= one
        assert all(0 < dot.x < drawn.width and 0 < dot.y < drawn.height for dot in drawn.dots)


def test_an_upstream_that_the_record_lacks_is_left_out():
    drawn = graph.graph([{"id": "A", "upstream": ["Gone", "B"]}, {"id": "B", "upstream": ["A"]}])
    assert [(edge.source, edge.target) for edge in drawn.edges] == [("A", "B")]


def test_bars_of_time_follow_start_and_seconds():
    run = {
        "nodes": [
            {"id": "A", "status": "ran", "started": "2026-01-01T00:00:00", "elapsed_s": 2.0},
            {"id": "B", "status": "ran", "started": "2026-01-01T00:00:02", "elapsed_s": 6.0},
            {"id": "C", "status": "cached", "started": "2026-01-01T00:00:08", "elapsed_s": 0.0},
            {"id": "D", "status": "ran", "started": "not a time", "elapsed_s": 1.0},
        ]
    }
    assert graph.spans(run) == {"A": (0.0, 25.0), "B": (25.0, 75.0)}
    assert graph.spans({"nodes": []}) == {}


@pytest.mark.parametrize(
    ("value", "lower_is_better", "right", "better"),
    [(0.7, False, True, True), (0.5, False, False, False), (0.7, True, True, False), (0.5, True, False, True)],
)
def test_a_deviation_points_to_its_side_and_knows_better_from_worse(value, lower_is_better, right, better):
    bar = charts.deviation(value, 0.6, 0.2, lower_is_better)
    assert (bar.right, bar.better, bar.width) == (right, better, 50.0)


@pytest.mark.parametrize(
    ("value", "overall", "scale"), [(None, 0.6, 1), (math.nan, 0.6, 1), (0.5, None, 1), (0.5, 0.6, 0)]
)
def test_there_is_no_deviation_without_numbers(value, overall, scale):
    assert charts.deviation(value, overall, scale, False) is None


def test_a_long_history_is_thinned_and_keeps_its_last_value():
    chart = charts.curves({"loss": [1 / (i + 1) for i in range(5000)]})[0]
    line = chart.series[0]
    assert line.path.count("L") + line.path.count("M") <= charts.MAX_POINTS + 1 and line.marks == ()
    assert float(re.findall(r"([\d.]+) [\d.]+$", line.path)[0]) == chart.width - chart.right


def test_training_and_evaluation_share_a_chart():
    drawn = charts.curves({"loss": [1.0, 0.5], "val_loss": [1.1, 0.7], "val_auc": [0.5, 0.6]})
    assert [(chart.title, [line.name for line in chart.series]) for chart in drawn] == [
        ("loss", ["train", "eval"]),
        ("auc", ["eval"]),
    ]


@pytest.mark.parametrize(
    ("then", "now", "words"),
    [
        ({"code": "a"}, {"code": "a"}, []),
        ({"code": "a"}, {"code": "b"}, ["code"]),
        ({"config": {"train.epochs": 3}}, {"config": {"train.epochs": 4}}, ["config train.epochs 3 -> 4"]),
        ({"inputs": {"model": "a" * 64}}, {"inputs": {"model": "b" * 64}}, ["inputs model"]),
        (
            {"config": dict.fromkeys("abcde", 1)},
            {"config": dict.fromkeys("abcde", 2)},
            ["config a 1 -> 2, b 1 -> 2, c 1 -> 2 and 2 more"],
        ),
        ({}, {"stack": "compat"}, ["stack"]),
    ],
)
def test_changed_parts_are_named_with_their_keys(then, now, words):
    assert lineage.changes(then, now) == words
