"""TensorFlow Model Analysis's own files for numbers that were computed here, so that its tools open the evaluation.

`tfma.load_eval_result(uri)`, `tfma.load_validation_result(uri)` and TFMA's notebook views read the folder. With a
baseline the metrics carry the model names `candidate` and `baseline`, as TFMA's do.

Source: tensorflow_model_analysis/writers (eval_config_writer.py, metrics_plots_and_validations_writer.py) and the
messages in tensorflow_model_analysis/proto; the same files in 0.47 and 0.52.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from importlib import metadata

from components.evaluator.slices import Slice
from components.evaluator.tfma_protos import tfma_proto
from components.evaluator.thresholds import NO_BASELINE, Check, Metrics, needed_metrics
from pipeline.config.model import Bound, EvaluateConfig

CANDIDATE, BASELINE = "candidate", "baseline"
BINARY_CLASSES = {
    "auc": "AUC",
    "accuracy": "BinaryAccuracy",
    "precision": "Precision",
    "recall": "Recall",
    "log_loss": "BinaryCrossEntropy",
    "calibration": "Calibration",
    "example_count": "ExampleCount",
}
# TFMA has no macro precision and recall of the most probable class: those two are in the metrics, not in the config.
MULTICLASS_CLASSES = {
    "accuracy": "SparseCategoricalAccuracy",
    "log_loss": "SparseCategoricalCrossentropy",
    "example_count": "ExampleCount",
}


def write(
    folder: str,
    config: EvaluateConfig,
    problem: str,
    label: str,
    slices: Sequence[Slice],
    metrics: Metrics,
    baseline_metrics: Metrics | None,
    checks: Sequence[Check],
    locations: dict[str, str],
    classes: int = 2,
) -> None:
    """Write `eval_config.json`, `metrics-00000-of-00001.tfrecord` and `validations.tfrecord` into `folder`.

    Args:
        locations: URIs of `data`, `candidate` and, with a baseline, `baseline`; for display.
        classes: number of classes.
    """
    from google.protobuf import json_format

    config_pb2 = tfma_proto("config_pb2")

    models = {name: locations[name] for name in (CANDIDATE, BASELINE) if name in locations}
    run = config_pb2.EvalRun(
        eval_config=eval_config(config, problem, label, baseline_metrics is not None, classes),
        version=metadata.version("tensorflow-model-analysis"),
        data_location=locations["data"],
        file_format="tfrecord",
        model_locations=models if baseline_metrics is not None else {"": locations[CANDIDATE]},
    )
    with open(os.path.join(folder, "eval_config.json"), "w", encoding="utf-8") as file:
        file.write(json_format.MessageToJson(run))
    records = (_metrics_for_slice(found, metrics, baseline_metrics) for found in slices)
    _write_records(os.path.join(folder, "metrics-00000-of-00001.tfrecord"), records)
    _write_records(os.path.join(folder, "validations.tfrecord"), [_validation(slices, checks, baseline_metrics)])


def eval_config(config: EvaluateConfig, problem: str, label: str, has_baseline: bool, classes: int = 2):
    """Return the `tfma.EvalConfig` that describes the evaluation.

    TFMA knows one side of a change threshold: `min` is taken where both are set. It also has no smallest slice for a
    threshold, so the written validation, which is the one that counts, may pass where TFMA itself would not.
    """
    config_pb2 = tfma_proto("config_pb2")

    common = {"signature_name": "serving_default", "label_key": label}
    models = [config_pb2.ModelSpec(name=CANDIDATE if has_baseline else "", **common)]
    if has_baseline:
        models.append(config_pb2.ModelSpec(name=BASELINE, is_baseline=True, **common))
    table = BINARY_CLASSES if problem == "binary" else MULTICLASS_CLASSES
    slicing = [config_pb2.SlicingSpec(feature_keys=columns) for columns in config.slices]
    names = [name for name in needed_metrics(config) if name in table]
    metrics = [_metric(name, table[name], config, slicing, has_baseline) for name in names]
    named = [CANDIDATE, BASELINE] if has_baseline else []
    specs = [config_pb2.MetricsSpec(metrics=metrics, model_names=named)]
    if problem == "multiclass" and "auc" in needed_metrics(config):
        macro = config_pb2.AggregationOptions(macro_average=True, class_weights=dict.fromkeys(range(classes), 1.0))
        each = config_pb2.BinarizationOptions()
        each.class_ids.values.extend(range(classes))
        auc = _metric("auc", "AUC", config, slicing, has_baseline)
        specs.append(config_pb2.MetricsSpec(metrics=[auc], model_names=named, binarize=each, aggregate=macro))
    return config_pb2.EvalConfig(
        model_specs=models, slicing_specs=[config_pb2.SlicingSpec(), *slicing], metrics_specs=specs
    )


def _metric(name: str, class_name: str, config: EvaluateConfig, slicing: list, has_baseline: bool):
    config_pb2 = tfma_proto("config_pb2")

    metric = config_pb2.MetricConfig(class_name=class_name, config=json.dumps({"name": name}))
    overall = [config_pb2.SlicingSpec()]  # a threshold without a slicing spec would count in every slice

    def hold(specs: list, **threshold) -> None:
        metric.per_slice_thresholds.add(slicing_specs=specs, threshold=config_pb2.MetricThreshold(**threshold))

    if name in config.thresholds:
        hold(overall, value_threshold=_value_threshold(config.thresholds[name]))
    if name in config.slice_thresholds and slicing:
        hold(slicing, value_threshold=_value_threshold(config.slice_thresholds[name]))
    if name in config.change and has_baseline:
        hold(overall, change_threshold=_change_threshold(config.change[name]))
    return metric


def _value_threshold(bound: Bound):
    from google.protobuf.wrappers_pb2 import DoubleValue

    config_pb2 = tfma_proto("config_pb2")

    sides = {"lower_bound": bound.min, "upper_bound": bound.max}
    return config_pb2.GenericValueThreshold(**{k: DoubleValue(value=v) for k, v in sides.items() if v is not None})


def _change_threshold(bound: Bound):
    from google.protobuf.wrappers_pb2 import DoubleValue

    config_pb2 = tfma_proto("config_pb2")

    higher = bound.min is not None
    return config_pb2.GenericChangeThreshold(
        absolute=DoubleValue(value=bound.min if higher else bound.max),
        direction=config_pb2.HIGHER_IS_BETTER if higher else config_pb2.LOWER_IS_BETTER,
    )


def _metrics_for_slice(found: Slice, metrics: Metrics, baseline_metrics: Metrics | None):
    metrics_for_slice_pb2 = tfma_proto("metrics_for_slice_pb2")

    record = metrics_for_slice_pb2.MetricsForSlice(slice_key=_slice_key(found))
    alone = baseline_metrics is None
    values = {(name, "" if alone else CANDIDATE, False): value for name, value in metrics[found.name].items()}
    if baseline_metrics is not None:
        for name, value in baseline_metrics[found.name].items():
            values[name, BASELINE, False] = value
            values[name, CANDIDATE, True] = metrics[found.name][name] - value
    for (name, model, is_diff), value in values.items():
        entry = record.metric_keys_and_values.add()
        entry.key.CopyFrom(_metric_key(name, model, is_diff))
        entry.value.double_value.value = value
    return record


def _metric_key(name: str, model: str, is_diff: bool):
    from google.protobuf.wrappers_pb2 import BoolValue

    metrics_for_slice_pb2 = tfma_proto("metrics_for_slice_pb2")

    weighted = BoolValue(value=False)
    return metrics_for_slice_pb2.MetricKey(name=name, model_name=model, is_diff=is_diff, example_weighted=weighted)


def _slice_key(found: Slice):
    metrics_for_slice_pb2 = tfma_proto("metrics_for_slice_pb2")

    key = metrics_for_slice_pb2.SliceKey()
    for column, value in found.parts:
        part = key.single_slice_keys.add(column=column)
        if isinstance(value, str):
            part.bytes_value = value.encode()
        elif isinstance(value, int):
            part.int64_value = value
        else:
            part.float_value = value
    return key


def _validation(slices: Sequence[Slice], checks: Sequence[Check], baseline_metrics: Metrics | None):
    validation_result_pb2 = tfma_proto("validation_result_pb2")

    held = [check for check in checks if check.note != NO_BASELINE]
    result = validation_result_pb2.ValidationResult(
        validation_ok=all(check.passed for check in checks), missing_thresholds=not held
    )
    by_name = {found.name: found for found in slices}
    model = "" if baseline_metrics is None else CANDIDATE
    for name in dict.fromkeys(check.slice for check in held if not check.passed):
        entry = result.metric_validations_per_slice.add(slice_key=_slice_key(by_name[name]))
        for check in held:
            if check.slice == name and not check.passed:
                _add_failure(entry, check, model)
    specs: dict[tuple[str, ...], set[str]] = {}
    for check in held:
        columns = tuple(column for column, _ in by_name[check.slice].parts)
        specs.setdefault(columns, set()).add(check.slice)
    for columns, names in specs.items():
        details = result.validation_details.slicing_details.add(num_matching_slices=len(names))
        details.slicing_spec.feature_keys.extend(columns)
        if not columns:
            details.slicing_spec.SetInParent()
    return result


def _add_failure(entry, check: Check, model: str) -> None:
    bound = Bound(**check.bound)
    is_change = check.kind == "change"
    failure = entry.failures.add(metric_key=_metric_key(check.metric, model, is_change), message=check.note)
    failure.metric_value.double_value.value = check.value
    if is_change:
        failure.metric_threshold.change_threshold.CopyFrom(_change_threshold(bound))
    else:
        failure.metric_threshold.value_threshold.CopyFrom(_value_threshold(bound))


def _write_records(path: str, messages: Iterable) -> None:
    import tensorflow as tf

    with tf.io.TFRecordWriter(path) as writer:
        for message in messages:
            writer.write(message.SerializeToString())
