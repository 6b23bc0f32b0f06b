"""The flights task: features against a numpy oracle, the model's inputs and outputs, and what a new day does."""

from pathlib import Path

import numpy as np
import pytest

import pipeline.tasks
from components import examples
from components.schemas import read_schema
from components.trainer.context import ModelContext
from pipeline.config.model import BeamConfig
from pipeline.environment import skip_library_autograph
from pipeline.tasks.flights.features import preprocessing_fn
from pipeline.tasks.flights.model import build_model

TASK = Path(pipeline.tasks.__file__).parent / "flights"
SCHEMA = TASK.parents[2] / "schemas" / "flights"
N = None  # a missing value
RAW = {
    "date": [b"2013-01-01", b"2013-01-01", b"2013-06-15", b"2013-06-15"], "month": [1, 1, 6, 6], "day": [1, 1, 15, 15],
    "weekday": [1, 1, 5, 5], "dep_hour": [5, 23, 12, 18], "dep_minute": [15, 59, 0, 30], "arr_hour": [8, 1, 15, 20],
    "arr_minute": [19, 5, 0, 45], "carrier": [b"UA", b"B6", b"UA", b"DL"], "origin": [b"EWR", b"JFK", b"EWR", b"EWR"],
    "dest": [b"IAH", b"LAX", b"IAH", b"ATL"], "distance": [1400, 2475, 1400, 760],
    "tailnum": [b"N1", b"N2", b"N3", b"N4"], "temp": [39.0, 41.0, N, 80.0], "dewp": [28.0, N, N, 60.0],
    "humid": [64.0, 70.0, N, 50.0], "wind_dir": [260.0, N, N, 90.0], "wind_speed": [12.66, 0.0, N, 20.0],
    "wind_gust": [N, N, N, 30.0], "precip": [0.0, 0.25, N, 0.0], "pressure": [1011.9, N, N, 1020.1],
    "visib": [10.0, 2.0, N, 10.0], "late": [0, 1, 0, 1],
}  # fmt: skip
SCALED = ["distance", "temp", "dewp", "humid", "wind_speed", "wind_gust", "pressure", "visib"]


@pytest.fixture(scope="module")
def transformed(tmp_path_factory) -> dict[str, np.ndarray]:
    """RAW as both splits, through TFT."""
    import pyarrow as pa

    from components.transform.analyze import analyze
    from components.transform.apply import apply

    skip_library_autograph()  # as every node does
    folder = tmp_path_factory.mktemp("flights")
    raw, graph, out = str(folder / "raw"), str(folder / "graph"), str(folder / "out")
    schema = read_schema(str(SCHEMA))
    types = {1: pa.binary(), 2: pa.int64(), 3: pa.float32()}
    arrays = [pa.array(RAW[feature.name], types[feature.type]) for feature in schema.feature]
    examples.write_split([pa.RecordBatch.from_arrays(arrays, [f.name for f in schema.feature])], raw, "train")
    analyze(preprocessing_fn, str(TASK / "features.py"), raw, schema, graph, BeamConfig(), 1024)
    apply(graph, raw, "train", out, BeamConfig(), 1024)
    return examples.read_dense(out, "train")


def expected_numbers() -> np.ndarray:
    """The oracle: numpy over whole columns, NaN for missing."""
    raw = {name: np.array(values, float) for name, values in RAW.items() if not isinstance(values[0], bytes)}
    columns = []
    for name in SCALED:
        mean, deviation = np.nanmean(raw[name]), np.nanstd(raw[name])
        columns.append(np.nan_to_num((raw[name] - mean) / (deviation or 1)))  # TFT leaves a constant column centred
    for hour, minute in (("dep_hour", "dep_minute"), ("arr_hour", "arr_minute")):
        turn = 2 * np.pi * (raw[hour] * 60 + raw[minute]) / 1440
        columns += [np.sin(turn), np.cos(turn), np.sin(2 * turn), np.cos(2 * turn)]
    season = 2 * np.pi * (raw["month"] - 1 + (raw["day"] - 1) / 31) / 12
    columns += [np.sin(season), np.cos(season)]
    wind = np.radians(raw["wind_dir"])
    columns += [np.nan_to_num(wave(wind) * raw["wind_speed"] / 10) for wave in (np.sin, np.cos)]
    rain = np.nan_to_num(raw["precip"])
    columns += [np.log1p(100 * rain), rain > 0, *(np.isnan(raw[name]) for name in ("temp", "wind_gust", "pressure"))]
    hour, weekday = np.eye(24)[raw["dep_hour"].astype(int)], np.eye(7)[raw["weekday"].astype(int)]
    return np.concatenate([np.stack(columns, axis=1), hour, weekday], axis=1)


def test_numbers_equal_the_numpy_oracle(transformed):
    assert transformed["numeric"].dtype == np.float32
    np.testing.assert_allclose(transformed["numeric"], expected_numbers(), atol=2e-5)


def test_names_get_ids_by_frequency_and_the_label_stays(transformed):
    assert sorted(transformed) == ["carrier", "date", "dest", "late", "numeric", "origin"]
    assert transformed["late"].tolist() == RAW["late"]
    assert transformed["origin"].tolist() == [0, 1, 0, 0]
    first, other, _, last = transformed["carrier"]
    assert transformed["carrier"].tolist() == [0, other, 0, last] and first == 0 and {other, last} == {1, 2}
    assert transformed["date"].tolist() in ([0, 0, 1, 1], [1, 1, 0, 0])
    assert all(transformed[name].dtype == np.int64 for name in ("carrier", "date", "dest", "late", "origin"))


@pytest.fixture(scope="module")
def model():
    """The compiled model for five numbers."""
    names = ("carrier", "date", "dest", "origin")
    features = {**{name: ((), "int64") for name in names}, "numeric": ((5,), "float32")}
    sizes = {"carrier": 16, "date": 304, "dest": 104, "origin": 3}
    return build_model(ModelContext(features, sizes, 2, {"hidden": [128, 64], "day_dropout": 0.5}, 1e-3, 10))


def batch(rows: int, dtype: str = "int64", **ids: int) -> dict[str, np.ndarray]:
    """Return inputs of the model; names not given have id 0."""
    columns = {name: np.full(rows, ids.get(name, 0), dtype) for name in ("carrier", "date", "dest", "origin")}
    return columns | {"numeric": np.linspace(-1, 1, rows * 5, dtype=np.float32).reshape(rows, 5)}


def test_the_model_has_one_input_a_feature_and_one_probability(model):
    assert {name: tensor.shape[1:] for name, tensor in zip(model.input_names, model.inputs, strict=True)} == {
        "carrier": (), "date": (), "dest": (), "origin": (), "numeric": (5,),
    }  # fmt: skip
    assert model.output_shape == (None, 1)
    probability = model(batch(4)).numpy()
    assert ((probability > 0) & (probability < 1)).all()


def test_ids_of_either_integer_type_give_the_same_answer(model):
    np.testing.assert_array_equal(model(batch(4, "int64")).numpy(), model(batch(4, "int32")).numpy())


def test_after_training_a_new_day_still_has_the_neutral_vector_and_seen_days_have_not(model):
    import tensorflow as tf

    with tf.GradientTape() as tape:
        loss = -tf.reduce_mean(tf.math.log(model(batch(64, date=7), training=True)))
    model.optimizer.apply_gradients(
        zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables, strict=True)
    )
    vectors = model.get_layer("date_vector").get_weights()[0]
    assert not vectors[304].any(), "the out-of-vocabulary row"
    assert vectors[7].any()
