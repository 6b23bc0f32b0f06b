"""A small convolutional network for 8x8 digits.

Only convolutions, poolings, dense layers and ReLU: each has an int8 kernel, so that nothing falls back to float on the
edge. No batch normalisation: on 1,400 images in a hundred steps a plain network learns as well and has nothing to fold.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from components.trainer.context import ModelContext


def build_model(context: ModelContext):
    """Return a compiled tf_keras model from `image` float32 [batch, 8, 8, 1] to class probabilities [batch, 10].

    hparams: `dropout` share of the hidden units.
    """
    import tf_keras as keras

    shape, dtype = context.features["image"]
    image = keras.Input(shape, name="image", dtype=dtype)
    hidden = keras.layers.Conv2D(32, 3, padding="same", activation="relu")(image)
    hidden = keras.layers.Conv2D(64, 3, padding="same", activation="relu")(hidden)
    hidden = keras.layers.MaxPooling2D()(hidden)
    hidden = keras.layers.Dense(64, activation="relu")(keras.layers.Flatten()(hidden))
    hidden = keras.layers.Dropout(context.hparams["dropout"])(hidden)
    outputs = keras.layers.Dense(context.num_classes, activation="softmax", name="outputs")(hidden)
    model = keras.Model({"image": image}, outputs)
    schedule = keras.optimizers.schedules.CosineDecay(context.learning_rate, context.steps)
    model.compile(keras.optimizers.Adam(schedule), "sparse_categorical_crossentropy", metrics=["accuracy"])
    return model
