"""A small convolutional network for 8x8 digits.

Convolutions, pooling, dense layers and ReLU only: each has an int8 kernel, so that nothing falls back to float on the
edge. Batch normalisation stands directly after a convolution, into whose weights the converter folds it.
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
    hidden = _convolve(_convolve(image))
    hidden = keras.layers.Flatten()(keras.layers.MaxPooling2D()(hidden))
    hidden = keras.layers.Dense(128, activation="relu")(hidden)
    hidden = keras.layers.Dropout(context.hparams["dropout"])(hidden)
    outputs = keras.layers.Dense(context.num_classes, activation="softmax", name="outputs")(hidden)
    model = keras.Model({"image": image}, outputs)
    schedule = keras.optimizers.schedules.CosineDecay(context.learning_rate, context.steps)
    model.compile(keras.optimizers.Adam(schedule), "sparse_categorical_crossentropy", metrics=["accuracy"])
    return model


def _convolve(image):
    import tf_keras as keras

    image = keras.layers.Conv2D(32, 3, padding="same", use_bias=False)(image)
    # momentum 0.9: an epoch has 22 steps, too few for the default's average over a hundred
    return keras.layers.ReLU()(keras.layers.BatchNormalization(momentum=0.9)(image))
