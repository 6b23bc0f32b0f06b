"""A small convolutional network for 28x28 digits.

Convolutions, pooling, dense layers and ReLU only: each has an int8 kernel, so that nothing falls back to float on the
edge. Batch normalisation stands directly after a convolution, into whose weights the converter folds it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from components.trainer.context import ModelContext

MAX_SHIFT = 2  # pixels


def build_model(context: ModelContext):
    """Return a compiled tf_keras model from `image` float32 [batch, 28, 28, 1] to class probabilities [batch, 10].

    hparams: `dropout` share of the hidden units.
    """
    import tf_keras as keras

    shape, dtype = context.features["image"]
    image = keras.Input(shape, name="image", dtype=dtype)
    # 5x5 by steps of two: a quarter of the positions, and so of the time, of a first layer at full resolution
    hidden = _convolve(_shift_in_training(image), 16, 5, strides=2)
    hidden = keras.layers.MaxPooling2D()(_convolve(hidden, 24, 3))
    hidden = keras.layers.MaxPooling2D()(_convolve(hidden, 48, 3))
    hidden = keras.layers.Dense(128, activation="relu")(keras.layers.Flatten()(hidden))
    hidden = keras.layers.Dropout(context.hparams["dropout"])(hidden)
    outputs = keras.layers.Dense(context.num_classes, activation="softmax", name="outputs")(hidden)
    model = keras.Model({"image": image}, outputs)
    schedule = keras.optimizers.schedules.CosineDecay(context.learning_rate, context.steps)
    model.compile(keras.optimizers.Adam(schedule), "sparse_categorical_crossentropy", metrics=["accuracy"])
    return model


def _convolve(image, filters: int, size: int, strides: int = 1):
    import tf_keras as keras

    image = keras.layers.Conv2D(filters, size, strides, padding="same", use_bias=False)(image)
    return keras.layers.ReLU()(keras.layers.BatchNormalization(momentum=0.9)(image))


def _shift_in_training(image):
    """Return the images, each training batch moved by up to MAX_SHIFT pixels."""
    import tensorflow as tf
    import tf_keras as keras

    class Shift(keras.layers.Layer):
        """Random crop of the padded batch; the identity outside of training, so the exported graphs do not have it."""

        def call(self, images, training=False):
            """Return float32 [batch, height, width, 1]."""
            if not training:
                return images
            around = [[0, 0], [MAX_SHIFT, MAX_SHIFT], [MAX_SHIFT, MAX_SHIFT], [0, 0]]
            return tf.ensure_shape(tf.image.random_crop(tf.pad(images, around), tf.shape(images)), images.shape)

    return Shift(name="shift")(image)
