"""Training and the two exports, on the shared run of the tumours task."""

import os

import numpy as np
import pytest

from components import examples
from components.trainer.fit import fit
from components.trainer.plan import Feature, TrainingPlan
from pipeline.config.model import TrainConfig
from pipeline.errors import HeadraceError

pytestmark = pytest.mark.tf


@pytest.fixture(scope="module")
def uris(finished):
    nodes = finished.last()["nodes"]
    return {
        "raw": nodes["ExampleGen"]["outputs"]["examples"]["uri"],
        "transformed": nodes["Transform"]["outputs"]["transformed_examples"]["uri"],
        "model": nodes["Trainer"]["outputs"]["model"]["uri"],
    }


@pytest.fixture(scope="module")
def serving(uris):
    import tensorflow as tf

    return tf.saved_model.load(os.path.join(uris["model"], "Format-Serving"))


def answers_to_examples(serving, uris) -> np.ndarray:
    import tensorflow as tf

    records = [r for batch in examples.read_serialized(uris["raw"], "eval") for r in batch]
    return serving.signatures["serving_default"](tf.constant(records))["outputs"].numpy()


def test_named_columns_and_serialized_examples_get_the_same_answers(serving, uris):
    import tensorflow as tf

    columns = examples.read_dense(uris["raw"], "eval")
    del columns["malignant"]
    named = {name: tf.constant(column.reshape(-1, 1)) for name, column in columns.items()}
    np.testing.assert_allclose(
        serving.signatures["raw"](**named)["outputs"], answers_to_examples(serving, uris), atol=1e-6
    )


def test_the_served_transform_is_the_one_of_training(serving, uris):
    import tensorflow as tf

    records = [r for batch in examples.read_serialized(uris["raw"], "eval") for r in batch]
    served = serving.signatures["transform_features"](tf.constant(records))
    stored = examples.read_dense(uris["transformed"], "eval")
    assert set(served) == {"numeric", "size"}
    np.testing.assert_allclose(served["numeric"], stored["numeric"], atol=1e-5)
    np.testing.assert_array_equal(np.reshape(served["size"], -1), stored["size"])


def test_the_edge_model_answers_one_transformed_row_as_the_served_model_does(serving, uris):
    import tensorflow as tf

    edge = tf.saved_model.load(os.path.join(uris["model"], "Format-Edge")).signatures["edge"]
    stored = examples.read_dense(uris["transformed"], "eval")
    expected = answers_to_examples(serving, uris)
    for row in range(5):
        answer = edge(
            numeric=tf.constant(stored["numeric"][row : row + 1]), size=tf.constant(stored["size"][row : row + 1])
        )
        np.testing.assert_allclose(answer["outputs"], expected[row : row + 1], atol=1e-6)


def test_unknown_words_and_rows_of_any_number_are_answered(serving):
    import tensorflow as tf

    for rows in (1, 3):
        named = {
            name: tf.constant(np.full((rows, 1), 1.0, np.float32))
            for name in ("mean_radius", "mean_texture", "mean_concavity", "worst_area")
        }
        answer = serving.signatures["raw"](size=tf.constant([[b"gigantic"]] * rows), **named)["outputs"].numpy()
        assert answer.shape == (rows, 1)
        assert np.isfinite(answer).all()


def try_fit(uris, build_model, **config):
    features = {"numeric": Feature((4,), "float32"), "size": Feature((), "int64"), "malignant": Feature((), "int64")}
    plan = TrainingPlan(
        __file__,
        features,
        "malignant",
        {"size": 3},
        2,
        examples.split_files(uris["transformed"], "train"),
        examples.split_files(uris["transformed"], "eval"),
        TrainConfig(batch_size=32, **config),
    )
    return fit(build_model, plan)


def a_model(context, loss="binary_crossentropy"):
    import tf_keras as keras

    numeric, size = keras.Input((4,), name="numeric"), keras.Input((), name="size", dtype="int64")
    model = keras.Model({"numeric": numeric, "size": size}, keras.layers.Dense(1, activation="sigmoid")(numeric))
    model.compile("sgd", loss)
    return model


def test_num_steps_overrides_epochs(uris):
    trained = try_fit(uris, a_model, epochs=9, num_steps=7)
    assert trained.steps == 7
    assert len(trained.history["loss"]) == 1


def test_the_same_seed_gives_the_same_losses(uris):
    runs = [try_fit(uris, a_model, epochs=2).history["loss"] for _ in range(2)]
    np.testing.assert_allclose(runs[0], runs[1], rtol=1e-6)


def test_build_model_is_told_steps_and_rate(uris):
    seen = []

    def build(context):
        seen.append(context)
        return a_model(context)

    trained = try_fit(uris, build, epochs=2, base_learning_rate=0.5)
    assert (seen[0].steps, seen[0].learning_rate) == (trained.steps, 0.5)
    assert seen[0].features == {"numeric": ((4,), "float32"), "size": ((), "int64")}


def test_a_loss_that_is_not_finite_stops_with_advice(uris):
    import tensorflow as tf

    def diverging(labels, predictions):
        return tf.reduce_mean(predictions) * float("nan")

    with pytest.raises(HeadraceError, match="HR-TRAIN-001") as caught:
        try_fit(uris, lambda context: a_model(context, diverging), epochs=1)
    assert any("base_learning_rate" in line for line in caught.value.fix)


@pytest.mark.parametrize("returned", [None, "uncompiled"])
def test_a_build_model_that_returns_the_wrong_thing_is_refused(uris, returned):
    def build(context):
        import tf_keras as keras

        return None if returned is None else keras.Model(*[keras.Input((4,), name="numeric")] * 2)

    with pytest.raises(HeadraceError, match="HR-TASK-004"):
        try_fit(uris, build, epochs=1)
