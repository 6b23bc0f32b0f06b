"""Anomalies of a split against the schema, by TFDV, each with what was seen, what was expected and the fix."""

from __future__ import annotations

import difflib
import re
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING

from pipeline.config.model import ValidateConfig
from pipeline.errors import HeadraceError, bounded

if TYPE_CHECKING:
    from tensorflow_metadata.proto.v0 import anomalies_pb2, schema_pb2, statistics_pb2

RETYPED = "HR-DATA-205"  # whatever else TFDV says of such a column follows from it
# TFDV's AnomalyInfo.Type -> our code. Source: tensorflow_metadata/proto/v0/anomalies.proto.
CODES = {
    "ENUM_TYPE_UNEXPECTED_STRING_VALUES": "HR-DATA-201",
    "SCHEMA_NEW_COLUMN": "HR-DATA-202",
    "SCHEMA_MISSING_COLUMN": "HR-DATA-203",
    "FEATURE_TYPE_LOW_FRACTION_PRESENT": "HR-DATA-204",
    "FEATURE_TYPE_LOW_NUMBER_PRESENT": "HR-DATA-204",
    "FEATURE_TYPE_NOT_PRESENT": "HR-DATA-203",
    "UNEXPECTED_DATA_TYPE": RETYPED,
    "FLOAT_TYPE_SMALL_FLOAT": "HR-DATA-206",
    "FLOAT_TYPE_BIG_FLOAT": "HR-DATA-206",
    "INT_TYPE_SMALL_INT": "HR-DATA-206",
    "INT_TYPE_BIG_INT": "HR-DATA-206",
    "FLOAT_TYPE_HAS_NAN": "HR-DATA-207",
    "FLOAT_TYPE_HAS_INF": "HR-DATA-207",
}
OTHER = "HR-DATA-208"


@dataclass(frozen=True)
class Anomaly:
    """One thing in a split that the schema does not allow."""

    feature: str
    split: str
    severity: str
    code: str
    description: str
    seen: list[str] = field(default_factory=list)
    expected: str = ""
    fix: list[str] = field(default_factory=list)


def find(statistics: statistics_pb2.DatasetFeatureStatisticsList, schema: schema_pb2.Schema) -> anomalies_pb2.Anomalies:
    """Return TFDV's anomalies of one split."""
    from tensorflow_data_validation.api import validation_api

    return validation_api.validate_statistics(statistics, schema)


def describe(
    anomalies: anomalies_pb2.Anomalies,
    statistics: statistics_pb2.DatasetFeatureStatisticsList,
    schema: schema_pb2.Schema,
    split: str,
    task: str,
    schema_path: str,
    config: ValidateConfig,
) -> list[Anomaly]:
    """Return the anomalies in words, errors first."""
    from tensorflow_metadata.proto.v0 import anomalies_pb2

    counts = {_name(f): f for f in statistics.datasets[0].features} if statistics.datasets else {}
    added = [name for name in counts if name not in {f.name for f in schema.feature}]
    found = []
    for feature, info in sorted(anomalies.anomaly_info.items()):
        severity = "error" if info.severity == anomalies_pb2.AnomalyInfo.ERROR else "warning"
        for reason in info.reason:
            code = CODES.get(anomalies_pb2.AnomalyInfo.Type.Name(reason.type), OTHER)
            seen, fix = _evidence(
                code, feature, reason, counts.get(feature), added, task, schema_path, config.max_examples
            )
            found.append(
                Anomaly(
                    feature=feature,
                    split=split,
                    severity=severity,
                    code=code,
                    description=f"column {feature!r}: {_title(code, reason)}",
                    seen=seen,
                    expected=_expected(schema, feature, schema_path),
                    fix=fix,
                )
            )
    retyped = {anomaly.feature for anomaly in found if anomaly.code == RETYPED}
    found = [anomaly for anomaly in found if anomaly.code == RETYPED or anomaly.feature not in retyped]
    return sorted(found, key=lambda a: (a.severity != "error", a.feature))


def merge_splits(anomalies: list[Anomaly]) -> list[dict]:
    """Return the anomalies as plain values, one that stands in several splits once."""
    merged: dict[tuple, dict] = {}
    for anomaly in anomalies:
        key = (anomaly.feature, anomaly.code)
        if key in merged:
            merged[key]["split"] += f", {anomaly.split}"
            merged[key]["seen"] += [line for line in anomaly.seen if line not in merged[key]["seen"]]
        else:
            merged[key] = asdict(anomaly)
    return list(merged.values())


def gate(anomalies: list[dict], config: ValidateConfig, task: str) -> HeadraceError | None:
    """Return the error that stops the run, or None.

    One anomaly is told as itself (HR-DATA-201 to 208); several as HR-DATA-200 with one line each.
    """
    stopping = [a for a in anomalies if a["severity"] == "error" or config.stop_on == "warning"]
    if config.stop_on == "never" or not stopping:
        return None
    first = stopping[0]
    if len(stopping) == 1:
        return HeadraceError(first["code"], first["description"], first["seen"], first["expected"], first["fix"])
    return HeadraceError(
        "HR-DATA-200",
        f"{len(stopping)} columns or values break the schema",
        seen=[f"{a['code']}  {a['description']}" + (f": {a['seen'][0]}" if a["seen"] else "") for a in stopping],
        expected=first["expected"].split(" of ")[-1] if " of " in first["expected"] else first["expected"],
        fix=list(dict.fromkeys(line for a in stopping for line in a["fix"]))[:6],
    )


def _name(feature) -> str:
    return feature.name or ".".join(feature.path.step)


def _title(code: str, reason) -> str:
    return {
        "HR-DATA-201": "has values that the schema does not know",
        "HR-DATA-202": "is not in the schema",
        "HR-DATA-203": "is missing from the data",
        "HR-DATA-204": "is missing in more rows than the schema allows",
        "HR-DATA-205": "has another type than the schema says",
        "HR-DATA-206": "has values outside the schema's range",
        "HR-DATA-207": "holds NaN or infinity",
    }.get(code, bounded(reason.short_description[:1].lower() + reason.short_description[1:]))


def _expected(schema, feature: str, schema_path: str) -> str:
    from components.schemas import describe_features

    known = describe_features(schema).get(feature)
    return f"{known}   of {schema_path}{_line_of(schema_path, feature)}" if known else f"the columns of {schema_path}"


def _line_of(schema_path: str, feature: str) -> str:
    try:
        with open(schema_path, encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                if re.search(rf'\bname:\s*"{re.escape(feature)}"', line):
                    return f":{number}"
    except OSError:
        pass
    return ""


def _evidence(code, feature, reason, counts, added, task, schema_path, limit) -> tuple[list[str], list[str]]:
    """Return what was seen and what to do."""
    rerun = f"headrace run {task}"
    if code == "HR-DATA-201":
        seen = _unexpected_values(reason.description, counts, limit)
        values = [line.split("'")[1] for line in seen if line.count("'") >= 2][:3]
        adds = " ".join(f"--add {feature}={value}" for value in values) or f"--add {feature}=VALUE"
        return seen, [
            f"the values are right:  headrace schema approve {task} {adds}",
            f"the values are wrong:  correct the file, then  {rerun}",
        ]
    if code == "HR-DATA-202":
        return [f"{feature!r} in the data"], [
            f"the column is wanted:  headrace schema approve {task} --feature {feature}",
            f"it is not:  drop it from the file, then  {rerun}",
        ]
    if code == "HR-DATA-203":
        close = difflib.get_close_matches(feature, added, 1, 0.5)
        hint = [f"a new column {close[0]!r} looks like it: renamed?"] if close else []
        return hint or ["no row has it"], [
            f"bring the column back (or rename it to {feature!r}), then  {rerun}",
            f"it is gone for good:  headrace schema approve {task} --drop {feature}",
        ]
    edit = f"the data is right:  widen {feature!r} in {schema_path}, then  {rerun}"
    seen = [bounded(reason.description)]
    if counts is not None and counts.HasField("num_stats"):
        numbers = counts.num_stats
        seen.append(
            f"smallest {numbers.min:g}, largest {numbers.max:g}, {numbers.common_stats.num_missing} without a value"
        )
    return seen, [edit, f"the data is wrong:  correct the file, then  {rerun}"]


def _unexpected_values(description: str, counts, limit: int) -> list[str]:
    """Return lines such as `'XX' in 1204 of 327346 rows (0.37 %)`.

    Source of the text: TFDV's `Examples contain values missing from the schema: XX (~0.37%). `
    """
    rows = 0
    tallies: dict[str, float] = {}
    if counts is not None and counts.HasField("string_stats"):
        common = counts.string_stats.common_stats
        rows = common.num_non_missing + common.num_missing
        tallies = {bucket.label: bucket.sample_count for bucket in counts.string_stats.rank_histogram.buckets}
    seen = []
    for value, share in re.findall(r"(?:: |, )([^,]*?) \((~?<?[\d.]+%)\)", description):
        if value in tallies and rows:
            seen.append(f"{value!r} in {tallies[value]:,.0f} of {rows:,} rows ({100 * tallies[value] / rows:.2g} %)")
        else:
            seen.append(f"{value!r} in {share} of the rows")
    return seen[:limit] or [bounded(description)]
