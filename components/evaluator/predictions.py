"""Predictions of SavedModels on serialized examples, and the file that keeps them: nothing computes them again."""

from __future__ import annotations

import collections
import os
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from components import examples, reporting
from components.evaluator.slices import Slice
from pipeline.errors import HeadraceError

BATCH_ROWS = 4096
FILE = "predictions.npz"
SIGNATURE = "serving_default"


@dataclass(frozen=True)
class EvalRows:
    """What the Evaluator knows of each eval row, in the order of the examples.

    Args:
        labels: int64 [n].
        predictions: float32 [n, k], of the candidate.
        slices: rows of each slice by name, `overall` first.
    """

    labels: np.ndarray
    predictions: np.ndarray
    slices: dict[str, np.ndarray]


class Model:
    """A SavedModel's `serving_default`: serialized tf.Example in, float32 [n, k] out."""

    def __init__(self, model_uri: str) -> None:
        """Load `<model_uri>/Format-Serving`. Raises: ValueError without the signature, and TensorFlow's errors."""
        import tensorflow as tf

        self._loaded = tf.saved_model.load(os.path.join(model_uri, "Format-Serving"))  # owns the variables
        if SIGNATURE not in self._loaded.signatures:
            raise ValueError(f"the SavedModel has no signature {SIGNATURE!r}: {sorted(self._loaded.signatures)}")
        self._signature = self._loaded.signatures[SIGNATURE]
        _, inputs = self._signature.structured_input_signature
        self._input = next(iter(inputs))

    def predict(self, records: list[bytes]) -> np.ndarray:
        """Return float32 [len(records), k]."""
        import tensorflow as tf

        outputs = self._signature(**{self._input: tf.constant(records)})
        values = outputs["outputs"] if "outputs" in outputs else next(iter(outputs.values()))
        return values.numpy().reshape(len(records), -1)


def predict(model_uris: Mapping[str, str], examples_uri: str, rows: int) -> dict[str, np.ndarray]:
    """Return float32 [n, k] by model name: every model on the same eval rows, read once.

    Args:
        model_uris: Model artifacts by name; the name `baseline` decides whose fault a failure is.
        rows: rows expected, for progress only.

    Raises: HR-EVAL-003 (baseline), HR-EVAL-004.
    """
    models = {name: _load(name, uri) for name, uri in model_uris.items()}
    parts: dict[str, list[np.ndarray]] = {name: [] for name in models}
    done = 0
    for outputs in _map_in_order(lambda records: _outputs(models, records), examples_uri):
        for name, values in outputs.items():
            parts[name].append(values)
        done += len(next(iter(outputs.values())))
        reporting.progress(min(1.0, done / max(rows, 1)), f"{done:,} rows")
    return {name: np.concatenate(pieces) if pieces else np.zeros((0, 1), np.float32) for name, pieces in parts.items()}


def save_rows(folder: str, rows: EvalRows, baseline: np.ndarray | None) -> None:
    """Write `predictions.npz`: labels, predictions, the baseline's where there is one, and each slice's rows."""
    extra = {} if baseline is None else {"baseline_predictions": baseline}
    np.savez(
        os.path.join(folder, FILE),
        labels=rows.labels,
        predictions=rows.predictions,
        slice_names=np.array(list(rows.slices), str),
        slice_sizes=np.array([len(members) for members in rows.slices.values()], np.int64),
        slice_rows=np.concatenate(list(rows.slices.values())).astype(np.int32),
        **extra,
    )


def load_rows(folder: str) -> EvalRows:
    """Read what `save_rows` wrote. Raises: HR-EDGE-005."""
    path = os.path.join(folder, FILE)
    if not os.path.exists(path):
        raise HeadraceError(
            "HR-EDGE-005",
            "the evaluation holds no predictions of the float model",
            seen=[path],
            fix="run the Evaluator again: headrace run TASK --from Evaluator",
        )
    with np.load(path) as saved:
        members = np.split(saved["slice_rows"], np.cumsum(saved["slice_sizes"])[:-1])
        slices = dict(zip(saved["slice_names"].tolist(), members, strict=True))
        return EvalRows(saved["labels"], saved["predictions"], slices)


def slices_by_name(slices: list[Slice]) -> dict[str, np.ndarray]:
    """Return the rows of each slice."""
    return {found.name: found.rows for found in slices}


def _load(name: str, uri: str) -> Model:
    try:
        return Model(uri)
    except Exception as error:  # TensorFlow raises a dozen unrelated types for a model that does not load
        raise _failure(name, uri, error) from error


def _outputs(models: Mapping[str, Model], records: list[bytes]) -> dict[str, np.ndarray]:
    outputs = {}
    for name, model in models.items():
        try:
            outputs[name] = model.predict(records)
        except Exception as error:  # as above
            raise _failure(name, "", error) from error
    return outputs


def _map_in_order(function, examples_uri: str) -> Iterator[dict[str, np.ndarray]]:
    """Apply `function` to batches of eval examples, a few at once: parsing one overlaps with computing another."""
    workers = min(4, os.cpu_count() or 1)
    with ThreadPoolExecutor(workers) as pool:
        pending: collections.deque = collections.deque()
        for records in examples.read_serialized(examples_uri, "eval", BATCH_ROWS):
            pending.append(pool.submit(function, records))
            if len(pending) > workers:  # bounded, so that a slow model does not hold all examples in memory
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()


def _failure(name: str, uri: str, error: Exception) -> HeadraceError:
    seen = [_reason(error), *([uri] if uri else [])]
    if name == "baseline":
        return HeadraceError(
            "HR-EVAL-003",
            "the latest blessed model cannot read today's examples",
            seen=seen,
            expected="a baseline with the features and the signature of the candidate",
            fix="evaluate without it: headrace run TASK --from Evaluator --set evaluate.baseline=none",
        )
    return HeadraceError(
        "HR-EVAL-004",
        "the model cannot be evaluated on the eval examples",
        seen=seen,
        expected=f"a SavedModel whose {SIGNATURE} takes serialized tf.Example",
        fix="train it again: headrace run TASK --from Trainer",
    )


def _reason(error: Exception) -> str:
    """Return the line of TensorFlow's message that says what is wrong; the rest is its own call stack."""
    noise = ("Graph execution error", "Detected at node", "File ", "Node:", "<stack traces unavailable>")
    lines = [line.strip() for line in str(error).splitlines()]
    return next((line for line in lines if line and not line.startswith(noise)), type(error).__name__)
