"""Encoded images to tensors, for the image tasks' `preprocessing_fn`."""

from __future__ import annotations


def decode(encoded, height: int, width: int):
    """Return grey images in 0..1, float32 [batch, height, width, 1], from PNG or JPEG bytes, [batch] or [batch, 1].

    An image of another size fails in the graph; ingestion has refused it long before.
    """
    import tensorflow as tf

    def decode_one(image):
        pixels = tf.io.decode_image(image, channels=1, expand_animations=False)
        return tf.ensure_shape(pixels, [height, width, 1])

    grey = tf.TensorSpec([height, width, 1], tf.uint8)
    pixels = tf.map_fn(decode_one, tf.reshape(encoded, [-1]), fn_output_signature=grey)
    return tf.cast(pixels, tf.float32) / 255.0


def digit(label):
    """Return the class number from a folder name `0` to `9`: [batch, 1] or [batch] string to [batch] int64.

    It is also the position of the name in the schema's label domain, which names the classes in every report.
    """
    import tensorflow as tf

    return tf.strings.to_number(tf.reshape(label, [-1]), tf.int64)
