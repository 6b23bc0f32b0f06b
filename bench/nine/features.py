"""The features of bench/stock/flights_module.py."""

NUMERIC = ["sched_dep_time", "sched_arr_time", "distance", "month", "day"]
CATEGORICAL = ["carrier", "origin", "dest"]
LABEL = "late"


def preprocessing_fn(inputs):
    """Scale each number by itself and give each name an id, as the stock module does."""
    import tensorflow as tf
    import tensorflow_transform as tft

    dense = {name: tf.reshape(inputs[name], [-1]) for name in (*NUMERIC, *CATEGORICAL, LABEL)}
    outputs = {name: tft.scale_to_z_score(tf.cast(dense[name], tf.float32)) for name in NUMERIC}
    for name in CATEGORICAL:
        outputs[name] = tft.compute_and_apply_vocabulary(dense[name], vocab_filename=name, num_oov_buckets=1)
    outputs[LABEL] = tf.cast(dense[LABEL], tf.int64)
    return outputs
