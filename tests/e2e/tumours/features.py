"""Features of the tumours task."""

import tensorflow as tf
import tensorflow_transform as tft

NUMERIC = ["mean_radius", "mean_texture", "mean_concavity", "worst_area"]


def preprocessing_fn(inputs):
    """Scale the numbers, give sizes an id."""
    columns = [tft.scale_to_z_score(tf.reshape(inputs[name], [-1])) for name in NUMERIC]
    size = tft.compute_and_apply_vocabulary(tf.reshape(inputs["size"], [-1]), vocab_filename="size", num_oov_buckets=1)
    return {"numeric": tf.stack(columns, axis=1), "size": size, "malignant": tf.reshape(inputs["malignant"], [-1])}
