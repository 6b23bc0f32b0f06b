"""A small trained network and its TFLite files, made once."""

from dataclasses import dataclass

import numpy as np
import pytest

SCHEMES = ["dynamic_range", "float16", "int8"]


@dataclass
class Trained:
    """An edge SavedModel and data to try it on.

    Args:
        features: `image` float32 [n, 8, 8, 1] in 0..1 and `hour` int64 [n]; `labels` int64 [n].
    """

    edge_dir: str
    features: dict[str, np.ndarray]
    labels: np.ndarray
    model: object


@pytest.fixture(scope="session")
def trained(tmp_path_factory) -> Trained:
    """scikit-learn's digits, a convolution, an embedding of an id, two dense layers; seconds to train."""
    import tensorflow as tf
    import tf_keras as keras
    from sklearn.datasets import load_digits

    keras.utils.set_random_seed(1)
    data = load_digits()
    features = {
        "image": (data.images / 16).astype(np.float32)[..., None],
        "hour": np.random.default_rng(0).integers(0, 24, len(data.target)),
    }
    image, hour = keras.Input((8, 8, 1), name="image"), keras.Input((1,), name="hour", dtype="int32")
    x = keras.layers.Flatten()(keras.layers.Conv2D(16, 3, activation="relu")(image))
    x = keras.layers.Concatenate()([x, keras.layers.Flatten()(keras.layers.Embedding(24, 4)(hour))])
    x = keras.layers.Dense(64, activation="relu")(x)
    model = keras.Model({"image": image, "hour": hour}, keras.layers.Dense(10, activation="softmax")(x))
    model.compile("adam", "sparse_categorical_crossentropy")
    inputs = {"image": features["image"], "hour": features["hour"][:, None].astype(np.int32)}
    model.fit(inputs, data.target, batch_size=32, epochs=4, verbose=0)

    edge = tf.Module()
    edge.model = model
    specs = {"image": ([1, 8, 8, 1], tf.float32), "hour": ([1, 1], tf.int32)}

    @tf.function(input_signature=[{name: tf.TensorSpec(*spec, name=name) for name, spec in specs.items()}])
    def one(features):
        return {"outputs": model(features, training=False)}

    folder = str(tmp_path_factory.mktemp("trained") / "Format-Edge")
    tf.saved_model.save(edge, folder, signatures={"edge": one})
    return Trained(folder, features, data.target.astype(np.int64), model)


@pytest.fixture(scope="session")
def quantized(trained, tmp_path_factory):
    """The models of all schemes, and the folder that holds them."""
    from components.quantizer.quantize import quantize

    folder = tmp_path_factory.mktemp("quantized")
    calibration = {name: column[:200] for name, column in trained.features.items()}
    return quantize(trained.edge_dir, calibration, SCHEMES, str(folder)), folder
