"""Geometry of the report's charts, in SVG user units. The templates write the markup and escape the text."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from pipeline.console import figures
from pipeline.report.statistics import Bin

MAX_MARKS, MAX_POINTS = 60, 400  # points of a line that are drawn as dots to point at, and that are drawn at all


def ticks(low: float, high: float, about: int = 4) -> list[float]:
    """Return round values that span `low` to `high`.

    Source of the 1-2-5 steps: Heckbert, Nice Numbers for Graph Labels, Graphics Gems (1990).
    """
    if not high > low:
        pad = abs(low) * 0.1 or 1.0
        low, high = low - pad, high + pad
    raw = (high - low) / about
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= raw * 0.999)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [round(i * step, 12) for i in range(first, last + 1)]


def tick_texts(values: Sequence[float]) -> list[str]:
    """Return the values with as many decimals as their step needs: `0.70`, `0.72`."""
    step = values[1] - values[0]
    decimals = max(0, -math.floor(math.log10(step) + 1e-9))
    return [
        f"{value:.{decimals}f}" if abs(value) < 1e5 and decimals <= 6 else figures.general(value) for value in values
    ]


@dataclass(frozen=True)
class Series:
    """A line of a chart: `marks` are (x, y, text) of its points, empty if there are too many to point at."""

    name: str
    path: str
    marks: tuple[tuple[float, float, str], ...]
    last: str


@dataclass(frozen=True)
class Chart:
    """A line chart with its axes; ticks are (position, text)."""

    title: str
    series: list[Series]
    x_ticks: list[tuple[float, str]]
    y_ticks: list[tuple[float, str]]
    width: float = 360
    height: float = 190
    left: float = 46
    right: float = 10
    top: float = 10
    bottom: float = 24


def curves(history: dict[str, Sequence[float | None]]) -> list[Chart]:
    """Return a chart per metric with its training and evaluation curve; gaps where a value is not finite."""
    names = [name for name in history if not (name.startswith("val_") and name[4:] in history)]
    charts = []
    for name in names:
        pair = (
            {"train": history[name], "eval": history.get(f"val_{name}")}
            if not name.startswith("val_")
            else {"eval": history[name]}
        )
        lines = {
            split: list(values)
            for split, values in pair.items()
            if isinstance(values, Sequence) and not isinstance(values, str) and len(values)
        }
        if any(_finite(value) for values in lines.values() for value in values):
            charts.append(_line_chart(name.removeprefix("val_"), lines))
    return charts


def _finite(value: object) -> bool:
    return figures.is_number(value) and math.isfinite(value)


def _line_chart(title: str, lines: dict[str, list]) -> Chart:
    blank = Chart(title, [], [], [])
    known = [value for values in lines.values() for value in values if _finite(value)]
    y_values = ticks(min(known), max(known))
    low, high, longest = y_values[0], y_values[-1], max(len(values) for values in lines.values())

    def x(i: int) -> float:
        inner = blank.width - blank.left - blank.right
        return round(blank.left + inner * (i / (longest - 1) if longest > 1 else 0.5), 1)

    def y(value: float) -> float:
        inner = blank.height - blank.top - blank.bottom
        return round(blank.height - blank.bottom - inner * (value - low) / (high - low), 1)

    series = []
    for split, values in lines.items():
        stride = max(1, math.ceil(len(values) / MAX_POINTS))
        points = [(i, value) for i, value in enumerate(values) if i % stride == 0 or i == len(values) - 1]
        path, pen_down = "", False
        for i, value in points:
            path += f"{'L' if pen_down else 'M'}{x(i)} {y(value)}" if _finite(value) else ""
            pen_down = _finite(value)
        marks = (
            tuple((x(i), y(v), f"{split}, epoch {i + 1}: {figures.metric(title, v)}") for i, v in points if _finite(v))
            if len(points) <= MAX_MARKS
            else ()
        )
        series.append(Series(split, path, marks, figures.metric(title, values[-1])))
    every = max(1, math.ceil(longest / 8))
    x_ticks = [(x(i), str(i + 1)) for i in range(longest) if i % every == 0 or longest <= 8]
    return Chart(
        title, series, x_ticks, [(y(value), text) for value, text in zip(y_values, tick_texts(y_values), strict=True)]
    )


@dataclass(frozen=True)
class Calibration:
    """Predicted against seen; `points` are (x, y, radius, text), in a square of `side` units with room for the axes."""

    points: list[tuple[float, float, float, str]]
    ticks: list[tuple[float, float, str]]
    error: float
    side: float = 240
    margin: float = 36


def calibration(rows: Sequence[dict]) -> Calibration | None:
    """Return the calibration plot, None without rows; `error` is the mean distance from the diagonal, by rows."""
    rows = [row for row in rows if all(_finite(row.get(key)) for key in ("mean_prediction", "mean_label", "count"))]
    total = sum(row["count"] for row in rows)
    if not total:
        return None
    blank = Calibration([], [], 0.0)
    marks = [
        value
        for value in ticks(0, max(0.01, *(max(row["mean_prediction"], row["mean_label"]) for row in rows)))
        if value <= 1
    ]
    top = marks[-1]
    largest = max(row["count"] for row in rows)

    def along(value: float) -> float:
        return round(blank.side * min(value, top) / top, 1)

    points = [
        (
            blank.margin + along(row["mean_prediction"]),
            blank.side - along(row["mean_label"]),
            round(2 + 4 * math.sqrt(row["count"] / largest), 1),
            f"predicted {row['mean_prediction']:.3f}, seen {row['mean_label']:.3f}, "
            + figures.counted(row["count"], "row"),
        )
        for row in rows
    ]
    error = sum(row["count"] * abs(row["mean_prediction"] - row["mean_label"]) for row in rows) / total
    return Calibration(
        points,
        [
            (blank.margin + along(v), blank.side - along(v), text)
            for v, text in zip(marks, tick_texts(marks), strict=True)
        ],
        error,
    )


@dataclass(frozen=True)
class Histogram:
    """Bars of the first split and the outline of the others on one axis, in a box of `width` by `height`."""

    bars: list[tuple[float, float, float, float]]
    outlines: dict[str, str]
    hits: list[tuple[float, float, str]]
    low: str
    high: str
    width: float = 260
    height: float = 72


def histogram(bins: list[Bin]) -> Histogram | None:
    """Return the drawing of bins that the splits share, None without any. Heights are shares of each split."""
    if not bins:
        return None
    splits = list(bins[0].shares)
    blank = Histogram([], {}, [], "", "")
    tallest = max(share for found in bins for share in found.shares.values()) or 1.0
    step = blank.width / len(bins)

    def height(share: float) -> float:
        return round((blank.height - 4) * share / tallest, 1)

    bars = [
        (
            round(i * step + 0.5, 1),
            round(blank.height - height(found.shares[splits[0]]), 1),
            round(step - 1, 1),
            height(found.shares[splits[0]]),
        )
        for i, found in enumerate(bins)
    ]
    outlines = {
        split: f"M0 {blank.height}"
        + "".join(
            f"V{round(blank.height - height(found.shares[split]), 1)}H{round((i + 1) * step, 1)}"
            for i, found in enumerate(bins)
        )
        + f"V{blank.height}"
        for split in splits[1:]
    }
    hits = [
        (
            round(i * step, 1),
            round(step, 1),
            f"{figures.general(found.low)} to {figures.general(found.high)}: "
            + ", ".join(f"{split} {figures.percent(found.shares[split])}" for split in splits),
        )
        for i, found in enumerate(bins)
    ]
    return Histogram(bars, outlines, hits, figures.general(bins[0].low), figures.general(bins[-1].high))


@dataclass(frozen=True)
class Sparkline:
    """How fast frequency falls with rank: a filled line in a box of `width` by `height`."""

    path: str
    width: float = 260
    height: float = 36


def ranks(counts: Sequence[float], points: int = 60) -> Sparkline | None:
    """Return the frequency over rank on logarithmic axes, None where there are too few values for a shape."""
    if len(counts) < 12 or counts[0] <= 0:
        return None
    blank = Sparkline("")
    top = math.log(counts[0] + 1)
    wanted = sorted(
        {min(len(counts) - 1, round(math.exp(math.log(len(counts)) * i / points)) - 1) for i in range(points + 1)}
    )
    path = f"M0 {blank.height}"
    for rank in wanted:
        x = blank.width * math.log(rank + 1) / math.log(len(counts))
        y = blank.height - (blank.height - 2) * math.log(max(counts[rank], 0) + 1) / top
        path += f"L{x:.1f} {y:.1f}"
    return Sparkline(path + f"L{blank.width} {blank.height}z")


@dataclass(frozen=True)
class Deviation:
    """A bar from the middle of its cell: how far a slice is from the overall value; widths in percent of a half."""

    width: float
    right: bool
    better: bool
    clipped: bool = False


def deviation(value: float | None, overall: float | None, scale: float, lower_is_better: bool) -> Deviation | None:
    """Return the bar of `value` against `overall`; None where either is not a number."""
    if not (_finite(value) and _finite(overall)) or scale <= 0:
        return None
    difference = value - overall
    share = abs(difference) / scale
    return Deviation(
        round(100 * min(1.0, share), 1),
        difference > 0,
        (difference < 0) == lower_is_better or difference == 0,
        share > 1,
    )
