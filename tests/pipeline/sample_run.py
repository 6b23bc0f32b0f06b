"""Sample run records and statistics artifacts, in the shapes that a run leaves, for the console and report tests."""

from __future__ import annotations

import copy
import hashlib
import json
import math
from pathlib import Path

import numpy as np

CARRIERS = {"UA": 9811, "EV": 8604, "B6": 8540, "DL": 7722, "AA": 5203, "MQ": 4110, "US": 3321, "9E": 2890, "WN": 1922}
SMALL_CARRIERS = {"VX": 840, "FL": 512, "AS": 118, "F9": 111, "YV": 95, "HA": 56, "OO": 29}
UPSTREAM = {
    "ImportSchemaGen": [],
    "ExampleGen": ["ImportSchemaGen"],
    "StatisticsGen": ["ExampleGen", "ImportSchemaGen"],
    "ExampleValidator": ["StatisticsGen", "ImportSchemaGen"],
    "Transform": ["ExampleGen", "ImportSchemaGen", "ExampleValidator"],
    "Trainer": ["Transform"],
    "LatestBlessedModel": ["Trainer"],
    "Evaluator": ["ExampleGen", "Transform", "Trainer", "LatestBlessedModel"],
    "Quantizer": ["Trainer", "Transform"],
    "EdgeEvaluator": ["ExampleGen", "Transform", "Evaluator", "Quantizer"],
    "InfraValidator": ["Trainer", "ExampleGen"],
    "Pusher": ["Trainer", "Evaluator", "InfraValidator", "EdgeEvaluator"],
}
SECONDS = {
    "ExampleGen": 2.31,
    "StatisticsGen": 0.94,
    "ImportSchemaGen": 0.02,
    "ExampleValidator": 0.21,
    "Transform": 8.12,
    "Trainer": 7.48,
    "LatestBlessedModel": 0.01,
    "Evaluator": 6.03,
    "Quantizer": 3.77,
    "EdgeEvaluator": 2.95,
    "InfraValidator": 1.88,
    "Pusher": 0.12,
}
OUTPUTS = {
    "ExampleGen": {"examples": "Examples"},
    "StatisticsGen": {"statistics": "ExampleStatistics"},
    "ImportSchemaGen": {"schema": "Schema"},
    "ExampleValidator": {"anomalies": "ExampleAnomalies"},
    "Transform": {"transform_graph": "TransformGraph", "transformed_examples": "Examples"},
    "Trainer": {"model": "Model"},
    "LatestBlessedModel": {"baseline_model": "Model"},
    "Evaluator": {"evaluation": "ModelEvaluation", "blessing": "ModelBlessing"},
    "Quantizer": {"quantized": "QuantizedModels"},
    "EdgeEvaluator": {"edge_evaluation": "EdgeEvaluation"},
    "InfraValidator": {"blessing": "InfraBlessing"},
    "Pusher": {"pushed_model": "PushedModel"},
}


def digest(text: str) -> str:
    """Return a stable stand-in for a content digest."""
    return hashlib.sha256(text.encode()).hexdigest()


def slice_metrics() -> dict:
    """Return metrics of the overall slice and of 16 carriers and 3 origins; the smallest carrier is the worst."""
    rng = np.random.default_rng(3)
    metrics = {"overall": {"auc": 0.668, "accuracy": 0.7812, "log_loss": 0.4831, "example_count": 53884.0}}
    for carrier, rows in {**CARRIERS, **SMALL_CARRIERS}.items():
        auc = 0.571 if carrier == "OO" else float(0.66 + 0.03 * rng.standard_normal())
        metrics[f"carrier={carrier}"] = {
            "auc": auc,
            "accuracy": float(0.77 + 0.04 * rng.standard_normal()),
            "log_loss": float(0.5 + 0.03 * rng.standard_normal()),
            "example_count": float(rows),
        }
    for origin, rows in {"EWR": 19310.0, "JFK": 17902.0, "LGA": 16672.0}.items():
        metrics[f"origin={origin}"] = {"auc": 0.66, "accuracy": 0.78, "log_loss": 0.482, "example_count": rows}
    return metrics


def checks(metrics: dict) -> list[dict]:
    """Return the checks of the sample thresholds on `metrics`."""
    found = [
        {"metric": "auc", "slice": "overall", "value": 0.668, "bound": {"min": 0.63}, "kind": "value", "passed": True},
        {"metric": "auc", "slice": "overall", "value": 0.004, "bound": {"min": 0.0}, "kind": "change", "passed": True},
    ]
    for name, values in metrics.items():
        if name != "overall" and values["example_count"] >= 200:
            found.append(
                {
                    "metric": "auc",
                    "slice": name,
                    "value": values["auc"],
                    "bound": {"min": 0.55},
                    "kind": "value",
                    "passed": values["auc"] >= 0.55,
                }
            )
    return found


def summaries() -> dict[str, dict]:
    """Return the summary of every node of a run that went well."""
    metrics = slice_metrics()
    baseline = {
        name: {key: value - 0.004 if key == "auc" else value for key, value in values.items()}
        for name, values in metrics.items()
    }
    edge = {"overall": {**metrics["overall"], "auc": 0.667}, "carrier=OO": {"auc": 0.569, "example_count": 29.0}}
    return {
        "ExampleGen": {
            "rows": {"train": 273462, "eval": 53884},
            "features": 21,
            "source_bytes": 31_204_118,
            "rows_per_s": 141203.2,
            "late_warnings": [],
        },
        "StatisticsGen": {"features": 21},
        "ImportSchemaGen": {"path": "schemas/flights/schema.pbtxt", "features": 21},
        "ExampleValidator": {
            "errors": 0,
            "warnings": 1,
            "anomalies": [
                {
                    "feature": "wind_gust",
                    "severity": "warning",
                    "code": "HR-DATA-014",
                    "split": "eval",
                    "description": "column 'wind_gust': is missing in more rows than the schema allows",
                    "seen": ["76.1 % missing in eval, 74.0 % in train"],
                    "expected": "at most 75 % missing",
                    "fix": ["headrace schema approve flights --min-presence wind_gust=0.2"],
                }
            ],
        },
        "Transform": {"numeric": 14, "vocabularies": {"carrier": 16, "origin": 3, "dest": 104}, "features": 17},
        "Trainer": {
            "history": {
                "loss": [0.5541, 0.5203, 0.5122, 0.5081],
                "val_loss": [0.5312, 0.5188, 0.5141, 0.5149],
                "auc": [0.63, 0.684, 0.70, 0.71],
                "val_auc": [0.64, 0.659, 0.666, 0.668],
            },
            "steps": 1602,
            "parameters": 48211,
            "examples_per_s": 41288.0,
        },
        "LatestBlessedModel": {},
        "Evaluator": {
            "metrics": metrics,
            "checks": checks(metrics),
            "baseline": {"digest": digest("6"), "version": 6},
            "baseline_metrics": baseline,
            "blessed": True,
            "plots": {
                "calibration": [
                    {
                        "mean_prediction": p / 20 + 0.025,
                        "mean_label": min(1.0, 0.04 + 0.9 * (p / 20 + 0.025)),
                        "count": int(14000 * math.exp(-p / 4)),
                    }
                    for p in range(18)
                ]
            },
        },
        "Quantizer": {
            "models": [
                {"scheme": "float32", "path": "float32.tflite", "size_bytes": 196_104, "size_ratio": 1.0},
                {"scheme": "dynamic_range", "path": "dynamic_range.tflite", "size_bytes": 66_120, "size_ratio": 0.337},
                {"scheme": "float16", "path": "float16.tflite", "size_bytes": 101_020, "size_ratio": 0.515},
                {"scheme": "int8", "path": "int8.tflite", "size_bytes": 60_812, "size_ratio": 0.31},
            ]
        },
        "EdgeEvaluator": {
            "metric": "auc",
            "models": [
                {
                    "scheme": "float32",
                    "size_bytes": 196_104,
                    "size_ratio": 1.0,
                    "latency_us": 11.2,
                    "latency_ratio": 1.0,
                    "metrics": {"overall": metrics["overall"]},
                    "delta": {"value": 0.0, "low": 0.0, "high": 0.0},
                    "agreement": 1.0,
                    "gated": False,
                    "passed": True,
                    "reasons": [],
                },
                {
                    "scheme": "dynamic_range",
                    "size_bytes": 66_120,
                    "size_ratio": 0.337,
                    "latency_us": 9.1,
                    "latency_ratio": 0.81,
                    "metrics": edge,
                    "delta": {"value": -0.0004, "low": -0.001, "high": 0.0003},
                    "agreement": 0.9991,
                    "gated": False,
                    "passed": True,
                    "reasons": [],
                },
                {
                    "scheme": "float16",
                    "size_bytes": 101_020,
                    "size_ratio": 0.515,
                    "latency_us": 11.4,
                    "latency_ratio": 1.02,
                    "metrics": edge,
                    "delta": {"value": 0.0, "low": -0.0001, "high": 0.0001},
                    "agreement": 1.0,
                    "gated": False,
                    "passed": True,
                    "reasons": [],
                },
                {
                    "scheme": "int8",
                    "size_bytes": 60_812,
                    "size_ratio": 0.31,
                    "latency_us": 5.8,
                    "latency_ratio": 0.52,
                    "metrics": edge,
                    "delta": {"value": -0.001, "low": -0.003, "high": 0.001},
                    "agreement": 0.997,
                    "gated": True,
                    "passed": True,
                    "reasons": [],
                },
            ],
            "float": {"metrics": {"overall": metrics["overall"]}},
        },
        "InfraValidator": {"requests": 20, "p50_ms": 1.9, "load_s": 1.1, "blessed": True},
        "Pusher": {"version": 7, "path": "runs/flights/serving/7", "pushed": True},
    }


def config() -> dict:
    """Return the configuration of the sample task."""
    return {
        "name": "flights",
        "description": "arrives more than 15 minutes late",
        "root": "runs",
        "problem": "binary",
        "label": "late",
        "schema_path": "",
        "data": {"path": "data/flights/flights.csv", "format": "csv", "delimiter": ","},
        "split": {"by": "time", "eval_fraction": 0.2, "column": "time_hour", "eval_from": "2013-11-01"},
        "validation": {"max_examples": 5, "stop_on": "error"},
        "train": {
            "epochs": 4,
            "num_steps": None,
            "batch_size": 512,
            "base_learning_rate": 0.002,
            "seed": 17,
            "hparams": {"units": [64, 32]},
        },
        "evaluate": {
            "metrics": ["auc", "accuracy", "log_loss"],
            "slices": [["carrier"], ["origin"]],
            "thresholds": {"auc": {"min": 0.63, "max": None}},
            "slice_thresholds": {"auc": {"min": 0.55, "max": None}},
            "change": {"auc": {"min": 0.0, "max": None}},
            "min_slice_examples": 200,
            "baseline": "latest_blessed",
        },
        "edge_evaluate": {
            "metric": "auc",
            "max_drop": 0.005,
            "max_slice_drop": 0.05,
            "max_size_ratio": 0.45,
            "gate": ["int8"],
        },
    }


def sample_run(root: Path | str = "runs", run_id: str = "2026-11-30-153000") -> dict:
    """Return the record of a flights run in which all went well, two nodes cached."""
    found, clock, nodes = summaries(), 0.0, []
    for name, upstream in UPSTREAM.items():
        cached = name in ("ImportSchemaGen", "StatisticsGen")
        outputs = {
            key: {
                "type": kind,
                "uri": f"{root}/flights/artifacts/{name}/{key}/{number}",
                "digest": digest(name + key),
                "mlmd_id": 10 + len(nodes) * 2 + number,
            }
            for number, (key, kind) in enumerate(OUTPUTS[name].items(), start=1)
        }
        nodes.append(
            {
                "id": name,
                "status": "cached" if cached else "ran",
                "elapsed_s": 0.0 if cached else SECONDS[name],
                "started": f"2026-11-30T15:30:{clock:06.3f}+00:00",
                "key": digest("key" + name),
                "upstream": upstream,
                "summary": found[name],
                "outputs": outputs,
                "parts": {
                    "code": digest("code" + name)[:12],
                    "config": {"train.epochs": 4} if name == "Trainer" else {},
                    "inputs": {up: digest(up)[:12] for up in upstream},
                    "stack": "compat",
                },
                "error": None,
            }
        )
        clock += 0.0 if cached else SECONDS[name]
    return {
        "task": "flights",
        "run_id": run_id,
        "started": "2026-11-30T15:30:00+00:00",
        "ended": f"2026-11-30T15:30:{clock:06.3f}+00:00",
        "status": "succeeded",
        "command": "headrace run flights --set train.epochs=4",
        "pid": 4242,
        "stack": {"name": "compat", "python": "3.11.7", "tfx": "1.16.0", "tensorflow": "2.16.2", "glibc": "2.36"},
        "split": {"by": "time", "column": "time_hour", "train": "Jan-Oct", "eval": "Nov-Dec"},
        "config": config(),
        "config_sources": {
            "train.epochs": "--set",
            "train.base_learning_rate": "pipeline/tasks/flights/task.yaml:14",
            "evaluate.thresholds": "pipeline/tasks/flights/task.yaml:20",
        },
        "error": None,
        "nodes": nodes,
    }


ANOMALY_ERROR = {
    "code": "HR-DATA-012",
    "family": "data",
    "what": "column 'carrier' has values that the schema does not know",
    "seen": ["'XX' in 1,204 of 327,346 rows (0.37 %), first at flights.csv:18,213"],
    "more_seen": 0,
    "expected": "16 values listed in schemas/flights/schema.pbtxt:41",
    "fix": [
        "new carrier is right:  headrace schema approve flights --add carrier=XX",
        "new carrier is wrong:  fix the file, then  headrace run flights --from ExampleGen",
    ],
}


def stopped_run(root: Path | str = "runs") -> dict:
    """Return the record of a run that the data gate stopped: nothing after ExampleValidator ran."""
    run = sample_run(root, "2026-11-30-160000")
    stop = [node["id"] for node in run["nodes"]].index("ExampleValidator")
    gate = run["nodes"][stop]
    gate.update(status="stopped", error=copy.deepcopy(ANOMALY_ERROR))
    unknown = {key: ANOMALY_ERROR[key] for key in ("code", "seen", "expected", "fix")}
    gate["summary"]["anomalies"].insert(
        0,
        {
            "feature": "carrier",
            "severity": "error",
            "split": "train",
            "description": "column 'carrier': has values that the schema does not know",
            **unknown,
        },
    )
    gate["summary"]["errors"] = 1
    for node in run["nodes"][stop + 1 :]:
        node.update(status="pending", elapsed_s=0.0, started=None, key="", summary={}, outputs={}, parts={})
    run.update(
        status="failed",
        error=copy.deepcopy(ANOMALY_ERROR),
        started="2026-11-30T15:30:00+00:00",
        ended="2026-11-30T15:30:03.400000+00:00",
        serving_version=6,
    )
    return run


def unblessed_run(root: Path | str = "runs") -> dict:
    """Return the record of a run whose model fell under two thresholds and was not pushed."""
    run = sample_run(root, "2026-11-30-170000")
    by_id = {node["id"]: node for node in run["nodes"]}
    summary = by_id["Evaluator"]["summary"]
    summary["blessed"] = False
    summary["metrics"]["overall"]["auc"] = 0.611
    summary["checks"][0].update(value=0.611, passed=False)
    summary["checks"][1].update(value=-0.053, passed=False)
    error = {
        "code": "HR-EVAL-001",
        "family": "data",
        "what": "the model is not good enough to serve",
        "seen": ["auc 0.611, -0.053 against version 6"],
        "more_seen": 0,
        "expected": "auc >= 0.630 and no drop against version 6",
        "fix": ["headrace run flights --set train.epochs=6"],
    }
    by_id["Evaluator"].update(status="stopped", error=error)
    for name in ("Quantizer", "EdgeEvaluator", "InfraValidator", "Pusher"):
        by_id[name].update(status="pending", elapsed_s=0.0, started=None, summary={}, outputs={})
    run.update(status="failed", error=copy.deepcopy(error))
    return run


def write_statistics(uri: Path, split: str, rows: int, seed: int = 0, extra_feature: str = "") -> None:
    """Write `<uri>/Split-<split>/FeatureStats.pb` with equal-width histograms and value counts of made-up flights."""
    from tensorflow_metadata.proto.v0 import statistics_pb2

    rng = np.random.default_rng(seed)
    late = split == "eval"
    listed = statistics_pb2.DatasetFeatureStatisticsList()
    dataset = listed.datasets.add(num_examples=rows)
    numeric = {
        "month": rng.integers(11, 13, rows) if late else rng.integers(1, 11, rows),
        "day": rng.integers(1, 32, rows),
        "hour": np.clip(rng.normal(13, 4.5, rows).round(), 5, 23),
        "minute": rng.integers(0, 60, rows),
        "distance": np.round(rng.lognormal(6.8, 0.6, rows)),
        "temp": rng.normal(42 if late else 58, 12 if late else 17, rows),
        "wind_gust": np.where(rng.random(rows) < 0.74, np.nan, rng.gamma(9, 2.8, rows)),
        "visib": np.minimum(10, rng.exponential(40, rows)),
        "year": np.full(rows, 2013),
        "late": (rng.random(rows) < 0.23).astype(int),
    }
    for name, values in numeric.items():
        add_numeric(dataset, name, values)
    top = list({**CARRIERS, **SMALL_CARRIERS})
    weights = np.array(list({**CARRIERS, **SMALL_CARRIERS}.values()), float)
    add_text(dataset, "carrier", rng.choice(top, rows, p=weights / weights.sum()))
    add_text(dataset, "origin", rng.choice(["EWR", "JFK", "LGA"], rows, p=[0.36, 0.33, 0.31]))
    add_text(dataset, "tailnum", np.char.add("N", np.minimum(4000, rng.zipf(1.35, rows)).astype(str)))
    if extra_feature:
        add_text(dataset, extra_feature, rng.choice(["<img src=x onerror=alert(1)>", "x"], rows))
    folder = uri / f"Split-{split}"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "FeatureStats.pb").write_bytes(listed.SerializeToString())


def add_numeric(dataset, name: str, values: np.ndarray) -> None:
    """Add one numeric feature to the statistics; NaN counts as missing."""
    from tensorflow_metadata.proto.v0 import statistics_pb2

    feature = dataset.features.add(
        type=statistics_pb2.FeatureNameStatistics.FLOAT
        if values.dtype.kind == "f"
        else statistics_pb2.FeatureNameStatistics.INT
    )
    feature.path.step.append(name)
    known = values[~np.isnan(values.astype(float))].astype(float)
    stats = feature.num_stats
    stats.common_stats.num_non_missing, stats.common_stats.num_missing = len(known), len(values) - len(known)
    stats.common_stats.tot_num_values = len(known)
    stats.mean, stats.std_dev, stats.min, stats.max = known.mean(), known.std(), known.min(), known.max()
    stats.median, stats.num_zeros = float(np.median(known)), int((known == 0).sum())
    counts, edges = np.histogram(known, bins=10)
    histogram = stats.histograms.add(type=statistics_pb2.Histogram.STANDARD)
    for count, low, high in zip(counts, edges, edges[1:], strict=False):
        histogram.buckets.add(low_value=low, high_value=high, sample_count=float(count))


def add_text(dataset, name: str, values: np.ndarray) -> None:
    """Add one string feature to the statistics, with its 20 most frequent values and all ranks."""
    from tensorflow_metadata.proto.v0 import statistics_pb2

    feature = dataset.features.add(type=statistics_pb2.FeatureNameStatistics.STRING)
    feature.path.step.append(name)
    stats = feature.string_stats
    found, counts = np.unique(values, return_counts=True)
    order = np.argsort(-counts, kind="stable")
    stats.common_stats.num_non_missing, stats.common_stats.tot_num_values, stats.unique = (
        len(values),
        len(values),
        len(found),
    )
    stats.avg_length = float(np.mean([len(value) for value in values]))
    for rank, index in enumerate(order):
        if rank < 20:
            stats.top_values.add(value=str(found[index]), frequency=float(counts[index]))
        if rank < 1000:
            stats.rank_histogram.buckets.add(
                low_rank=rank, high_rank=rank, label=str(found[index]), sample_count=float(counts[index])
            )


def write_run(folder: Path, run: dict, rows: int = 4000, extra_feature: str = "") -> Path:
    """Write `run` and the statistics it names under `folder` and return its run folder."""
    run_dir = folder / "runs" / run["task"] / run["run_id"]
    run_dir.mkdir(parents=True)
    for node in run["nodes"]:
        if node["id"] == "StatisticsGen" and node["outputs"]:
            for seed, split in enumerate(("train", "eval")):
                write_statistics(
                    folder / node["outputs"]["statistics"]["uri"], split, rows // (1 + 4 * seed), seed, extra_feature
                )
    (run_dir / "run.json").write_text(json.dumps(run), encoding="utf-8")
    return run_dir
