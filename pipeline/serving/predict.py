"""Predictions without a server: rows in, the model's outputs out."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from pipeline.errors import HeadraceError
from pipeline.serving.json_tensor import DEFAULT_SIGNATURE
from pipeline.serving.model import LoadedModel, TensorSpec
from pipeline.serving.rows import check_rows, parse_json_row, read_rows
from pipeline.serving.status import ServingError

if TYPE_CHECKING:
    import numpy as np

RAW_SIGNATURE = "raw"
BATCH_ROWS = 1024  # bounds the memory of a large file


def predict_rows(
    model_dir: str, rows: Sequence[Mapping[str, object]], ignore: Collection[str] = ()
) -> list[list[float]]:
    """Return the outputs of each row: [P(label=1)] of a binary model, one probability a class of a multiclass model.

    Args:
        model_dir: a SavedModel, such as one numbered version.
        rows: one value a raw feature; None is a missing value; `image` is the path of a file.
        ignore: columns that may be there and are left out, such as the label.

    Raises: HR-PREDICT-002 to HR-PREDICT-008, HR-SERVE-003.
    """
    return _predict(model_dir, lambda inputs: rows, ignore)


def predict_json(model_dir: str, text: str, ignore: Collection[str] = ()) -> list[list[float]]:
    """Return the outputs of a row given as JSON text. Raises: also HR-PREDICT-001."""
    rows = parse_json_row(text)
    return _predict(model_dir, lambda inputs: rows, ignore)


def predict_file(model_dir: str, path: str, ignore: Collection[str] = ()) -> list[list[float]]:
    """Return the outputs of the rows of a CSV or JSON lines file. Raises: also HR-PREDICT-001, HR-PREDICT-006."""
    return _predict(model_dir, lambda inputs: read_rows(path, inputs), ignore)


def _predict(model_dir: str, rows_of, ignore: Collection[str]) -> list[list[float]]:
    model = _load(model_dir)
    try:
        inputs = _raw_inputs(model, model_dir)
        rows = check_rows(rows_of(inputs), inputs, ignore)
        answers: list[list[float]] = []
        for start in range(0, len(rows), BATCH_ROWS):
            batch = rows[start : start + BATCH_ROWS]
            answers += _run(model, [_serialize(row, inputs) for row in batch], start)
        return answers
    finally:
        model.close()


def _load(model_dir: str) -> LoadedModel:
    try:
        return LoadedModel(model_dir)
    except ServingError as error:
        raise HeadraceError(
            "HR-SERVE-003",
            f"the model in {model_dir} cannot be loaded",
            seen=[error.message],
            expected="a SavedModel with variables and assets",
            fix=["headrace run TASK pushes a new version"],
        ) from error


def _raw_inputs(model: LoadedModel, model_dir: str) -> dict[str, TensorSpec]:
    if not {RAW_SIGNATURE, DEFAULT_SIGNATURE} <= model.signatures.keys():
        raise HeadraceError(
            "HR-PREDICT-007",
            f"the model in {model_dir} takes no raw features",
            seen=[f"signatures {', '.join(sorted(model.signatures)) or 'none'}"],
            expected=f"the signatures {RAW_SIGNATURE} and {DEFAULT_SIGNATURE}",
            fix=["headrace run TASK makes a model that has both"],
        )
    return model.signatures[RAW_SIGNATURE].inputs


def _serialize(row: Mapping[str, object], inputs: Mapping[str, TensorSpec]) -> bytes:
    """Return a row as the model was trained on it: a missing value is a missing feature, which `raw` cannot say."""
    import tensorflow as tf

    example = tf.train.Example()
    for name, value in row.items():
        feature = example.features.feature[name]
        if value is None:
            continue
        if inputs[name].dtype == "string":
            feature.bytes_list.value.append(value)
        elif inputs[name].dtype in ("float", "double"):
            feature.float_list.value.append(value)
        else:
            feature.int64_list.value.append(value)
    return example.SerializeToString()


def _run(model: LoadedModel, serialized: Sequence[bytes], before: int) -> list[list[float]]:
    import numpy as np

    try:
        outputs = model.predict(DEFAULT_SIGNATURE, _feed(model, serialized))
    except ServingError as error:
        raise HeadraceError(
            "HR-PREDICT-008",
            f"the model refused a row between {before + 1} and {before + len(serialized)}",
            seen=[error.message],
            expected="values that the model's preprocessing takes",
            fix=["give a value for the column named above; not every column may be missing"],
        ) from error
    first = outputs.get("outputs", next(iter(outputs.values())))
    return np.asarray(first, dtype=np.float64).reshape(len(serialized), -1).tolist()


def _feed(model: LoadedModel, serialized: Sequence[bytes]) -> dict[str, np.ndarray]:
    import numpy as np

    name = next(iter(model.signatures[DEFAULT_SIGNATURE].inputs))
    return {name: np.array(serialized, dtype=object)}
