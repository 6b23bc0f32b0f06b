"""Data statistics of a run: FeatureStats.pb of every split, as plain features. Reads the protos; needs no TensorFlow.

Source of the format: tensorflow_metadata/proto/v0/statistics.proto.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from pathlib import Path

MAX_TOP_VALUES = 8
MAX_BINS = 20


@dataclass(frozen=True)
class SplitFacts:
    """One feature in one split. Shares are fractions of one; what a kind of feature lacks is None.

    Args:
        rows: examples, with and without a value.
        buckets: (low, high, rows) of the equal-width histogram.
        top: (value, rows), the most frequent first.
        ranks: rows of the 1st, 2nd, ... most frequent value, as far as recorded.
    """

    rows: int
    missing: float
    mean: float | None = None
    std_dev: float | None = None
    smallest: float | None = None
    median: float | None = None
    largest: float | None = None
    zeros: float | None = None
    not_numbers: int = 0
    unique: int | None = None
    average_length: float | None = None
    buckets: tuple[tuple[float, float, float], ...] = ()
    top: tuple[tuple[str, float], ...] = ()
    ranks: tuple[float, ...] = ()


@dataclass
class Feature:
    """One feature in every split that has it; `kind` is `numeric`, `text` or `bytes`."""

    name: str
    kind: str
    type: str
    splits: dict[str, SplitFacts] = field(default_factory=dict)


def read_features(folder: Path) -> tuple[list[Feature], list[str]]:
    """Return the features of an ExampleStatistics artifact, train first, and what could not be read, in words."""
    features: dict[str, Feature] = {}
    problems = []
    paths = sorted(
        folder.glob("Split-*/FeatureStats.pb"), key=lambda path: (path.parent.name != "Split-train", path.parent.name)
    )
    for path in paths:
        split = path.parent.name.removeprefix("Split-")
        try:
            _add_split(features, split, path.read_bytes())
        except (OSError, ValueError) as error:
            problems.append(f"the statistics of split {split} cannot be read: {type(error).__name__}")
    if not paths:
        problems.append(f"no statistics in {folder}: the artifact was removed, or lies on another machine")
    return list(features.values()), problems


def _add_split(features: dict[str, Feature], split: str, serialized: bytes) -> None:
    from google.protobuf.message import DecodeError
    from tensorflow_metadata.proto.v0 import statistics_pb2

    listed = statistics_pb2.DatasetFeatureStatisticsList()
    try:
        listed.ParseFromString(serialized)
    except DecodeError as error:
        raise ValueError("not a FeatureStats message") from error
    for proto in listed.datasets[0].features if listed.datasets else []:
        name = proto.name or ".".join(proto.path.step)
        stats = proto.WhichOneof("stats")
        kind = {"num_stats": "numeric", "string_stats": "text"}.get(stats, "bytes")
        feature = features.setdefault(
            name, Feature(name, kind, statistics_pb2.FeatureNameStatistics.Type.Name(proto.type).lower())
        )
        feature.splits[split] = _facts(proto, stats)


def _facts(proto, stats: str | None) -> SplitFacts:
    if stats is None:
        return SplitFacts(0, 0.0)
    own = getattr(proto, stats)
    common = own.common_stats
    rows = int(common.num_missing + common.num_non_missing)
    missing = common.num_missing / rows if rows else 0.0
    if rows and not common.tot_num_values:  # every row has the feature, with no value in it
        missing = 1.0
    if stats == "num_stats":
        known = common.tot_num_values > 0
        standard = next((histogram for histogram in own.histograms if histogram.type == histogram.STANDARD), None)
        buckets = tuple((b.low_value, b.high_value, b.sample_count) for b in standard.buckets) if standard else ()
        return SplitFacts(
            rows,
            missing,
            mean=own.mean if known else None,
            std_dev=own.std_dev if known else None,
            smallest=own.min if known else None,
            median=own.median if known else None,
            largest=own.max if known else None,
            zeros=own.num_zeros / common.num_non_missing if known else None,
            not_numbers=int(standard.num_nan) if standard else 0,
            buckets=tuple(b for b in buckets if all(math.isfinite(value) for value in b) and b[2] > 0),
        )
    if stats == "string_stats":
        top = tuple((value.value, value.frequency) for value in own.top_values)
        return SplitFacts(
            rows,
            missing,
            unique=int(own.unique),
            average_length=own.avg_length,
            top=top,
            ranks=tuple(b.sample_count for b in own.rank_histogram.buckets),
        )
    length = getattr(own, "avg_num_bytes", None)
    unique = int(getattr(own, "unique", 0)) or None
    return SplitFacts(rows, missing, unique=unique, average_length=length)


@dataclass(frozen=True)
class Bin:
    """A bin on the axis that the splits share: `shares` are fractions of each split's values."""

    low: float
    high: float
    shares: dict[str, float]


def common_bins(feature: Feature) -> list[Bin]:
    """Return the histograms of all splits on one axis, so that they can be compared.

    TFDV cuts ten equal bins between the smallest and the largest value of each split. Within a bucket the rows are
    taken as evenly spread.
    """
    by_split = {split: facts.buckets for split, facts in feature.splits.items() if facts.buckets}
    every = [bucket for buckets in by_split.values() for bucket in buckets]
    if not every:
        return []
    low, high = min(bucket[0] for bucket in every), max(bucket[1] for bucket in every)
    if high <= low:
        return [Bin(low, high, {split: float(split in by_split) for split in feature.splits})]
    widest = max(bucket[1] - bucket[0] for bucket in every) or high - low
    number = min(MAX_BINS, max(1, round((high - low) / widest)))
    step = (high - low) / number
    shares = {split: _rebin(by_split.get(split, ()), low, step, number) for split in feature.splits}
    return [
        Bin(low + i * step, low + (i + 1) * step, {split: values[i] for split, values in shares.items()})
        for i in range(number)
    ]


def _rebin(buckets: tuple[tuple[float, float, float], ...], low: float, step: float, number: int) -> list[float]:
    """Return the share of rows in each of `number` bins of width `step` from `low`."""
    total = sum(bucket[2] for bucket in buckets)
    values = [0.0] * number
    for start, end, rows in buckets:
        first = min(number - 1, max(0, int((start - low) / step)))
        last = min(number - 1, max(first, math.ceil((end - low) / step - 1e-9) - 1))
        for i in range(first, last + 1):
            inside = min(end, low + (i + 1) * step) - max(start, low + i * step)
            part = inside / (end - start) if end > start else 1.0
            values[i] += rows * max(0.0, part) / total
    return values


@dataclass(frozen=True)
class TopValue:
    """A frequent value and its share in each split."""

    value: str
    shares: dict[str, float]


def top_values(feature: Feature) -> list[TopValue]:
    """Return the values that are most frequent in any split, with their share of each split's values."""
    shares: dict[str, dict[str, float]] = {}
    for split, facts in feature.splits.items():
        known = facts.rows * (1 - facts.missing)
        for value, rows in facts.top:
            shares.setdefault(value, {})[split] = rows / known if known else 0.0
    ordered = sorted(shares.items(), key=lambda item: -max(item[1].values()))[:MAX_TOP_VALUES]
    return [TopValue(value, by_split) for value, by_split in ordered]


def covered(feature: Feature, split: str, shown: list[TopValue]) -> float:
    """Return the share of a split's values that the shown ones cover."""
    return min(1.0, sum(value.shares.get(split, 0.0) for value in shown)) if split in feature.splits else 0.0
