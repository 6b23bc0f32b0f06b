"""Predictions without a server: rows in, the model's outputs out."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from pipeline.errors import HeadraceError
from pipeline.serving.model import LoadedModel, TensorSpec
from pipeline.serving.rows import MISSING, check_rows, parse_json_row, read_rows
from pipeline.serving.status import ServingError

if TYPE_CHECKING:
    import numpy as np

RAW_SIGNATURE = "raw"  # the function that REST clients call, so that both give the same answer
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
            answers += _run(model, batch, inputs, start)
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
    if RAW_SIGNATURE not in model.signatures:
        raise HeadraceError(
            "HR-PREDICT-007",
            f"the model in {model_dir} takes no raw features",
            seen=[f"signatures {', '.join(sorted(model.signatures)) or 'none'}"],
            expected=f"the signature {RAW_SIGNATURE}",
            fix=["headrace run TASK makes a model that has it"],
        )
    return model.signatures[RAW_SIGNATURE].inputs


def _run(
    model: LoadedModel, rows: Sequence[Mapping[str, object]], inputs: Mapping[str, TensorSpec], before: int
) -> list[list[float]]:
    import numpy as np

    feeds = {name: _column(name, rows, spec, before) for name, spec in inputs.items()}
    try:
        outputs = model.predict(RAW_SIGNATURE, feeds)
    except ServingError as error:
        raise _refused(f"between {before + 1} and {before + len(rows)}", error.message) from error
    answers = np.asarray(outputs["outputs"], dtype=np.float64).reshape(len(rows), -1)
    for index in np.flatnonzero(~np.isfinite(answers).all(axis=1))[:1]:
        missing = [name for name, value in rows[index].items() if value is None]
        raise _refused(
            str(before + index + 1), f"the answer is {answers[index].tolist()}; missing: {', '.join(missing)}"
        )
    return answers.tolist()


def _column(name: str, rows: Sequence[Mapping[str, object]], spec: TensorSpec, before: int) -> np.ndarray:
    """Return one raw feature of all rows, shaped [rows, 1] as the signature says; NaN and "" stand for missing."""
    import numpy as np

    missing = MISSING.get(spec.dtype)
    values = [missing if row[name] is None else row[name] for row in rows]
    if None in values:
        raise _refused(str(before + values.index(None) + 1), f"column {name} has no value")
    dtype = {"string": object, "float": np.float32, "double": np.float64}.get(spec.dtype, spec.dtype)
    return np.array(values, dtype=dtype).reshape(-1, *[1] * (len(spec.shape or (-1,)) - 1))


def _refused(where: str, seen: str) -> HeadraceError:
    return HeadraceError(
        "HR-PREDICT-008",
        f"the model refused row {where}",
        seen=[seen],
        expected="values that the model's preprocessing takes",
        fix=["give a value for the column named above; not every column may be missing"],
    )
