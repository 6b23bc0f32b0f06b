"""Raw features to model inputs. Everything here is known before departure.

The numbers travel as one packed input and the names as one id each, because every input of the edge model costs time.
`tailnum` is left out: an id of its own raised neither AUC and doubled the parameters. The day of the month is used
only to place the date within its season: alone it is noise that a model learns by heart (0.694 instead of 0.705 AUC
on November and December).
"""

from __future__ import annotations

import math

LABEL = "late"
# `date` as a name gives each day an effect of its own. A new day is out of the vocabulary: model.py says what then.
NAMES = ("carrier", "origin", "dest", "date")
SCALED = ("distance", "temp", "dewp", "humid", "wind_speed", "wind_gust", "pressure", "visib")
CLOCK = ("month", "day", "weekday", "dep_hour", "dep_minute", "arr_hour", "arr_minute")
MAY_MISS = ("temp", "wind_gust", "pressure")  # whose absence says something: no report, no gusts, unstable pressure
CAP = 4.0  # standard deviations; one int8 scale covers the packed input, so outliers would cost all others resolution


def preprocessing_fn(inputs: dict) -> dict:
    """Return `numeric` float32 [batch, n], an int64 id [batch] for each of NAMES, and the label int64 [batch]."""
    import tensorflow as tf
    import tensorflow_transform as tft

    outputs = {"numeric": _numeric(inputs), LABEL: tf.cast(tf.reshape(inputs[LABEL], [-1]), tf.int64)}
    for name in NAMES:
        text = tf.reshape(inputs[name], [-1])
        outputs[name] = tft.compute_and_apply_vocabulary(text, vocab_filename=name, num_oov_buckets=1)
    return outputs


def _numeric(inputs: dict):
    """Return all numbers side by side: float32 [batch, n], missing ones as 0, which is the mean."""
    import tensorflow as tf
    import tensorflow_transform as tft

    raw = {name: _number(inputs[name]) for name in (*SCALED, *CLOCK, "precip", "wind_dir")}
    # one analysis for all of them; it leaves NaN out
    scaled = tft.scale_to_z_score(tf.stack([raw[name] for name in SCALED], axis=1), elementwise=True)
    wind = raw["wind_dir"] * (math.pi / 180)
    columns = [
        *_periodic(raw["dep_hour"] * 60 + raw["dep_minute"], 1440, harmonics=2),
        *_periodic(raw["arr_hour"] * 60 + raw["arr_minute"], 1440, harmonics=2),
        *_periodic(raw["month"] - 1 + (raw["day"] - 1) / 31, 12, harmonics=1),
        _known(tf.sin(wind) * raw["wind_speed"] / 10),
        _known(tf.cos(wind) * raw["wind_speed"] / 10),
        _known(tf.math.log1p(100 * raw["precip"])),  # hundredths of an inch, the unit of the gauge
        _flag(raw["precip"] > 0),
        *(_flag(tf.math.is_nan(raw[name])) for name in MAY_MISS),
    ]
    hour = tf.one_hot(tf.cast(raw["dep_hour"], tf.int32), 24)
    weekday = tf.one_hot(tf.cast(raw["weekday"], tf.int32), 7)
    return tf.concat([_known(tf.clip_by_value(scaled, -CAP, CAP)), tf.stack(columns, axis=1), hour, weekday], axis=1)


def _periodic(value, period: float, harmonics: int) -> list:
    """Return sines and cosines of `value`: the end of a period lies beside its beginning, November near January."""
    import tensorflow as tf

    angles = [value * (2 * math.pi * k / period) for k in range(1, harmonics + 1)]
    return [wave(angle) for angle in angles for wave in (tf.sin, tf.cos)]


def _number(value):
    """Return a column as float32 [batch], missing values as NaN."""
    import tensorflow as tf

    if isinstance(value, tf.SparseTensor):
        floats = tf.SparseTensor(value.indices, tf.cast(value.values, tf.float32), [value.dense_shape[0], 1])
        value = tf.sparse.to_dense(floats, default_value=math.nan)
    return tf.cast(tf.reshape(value, [-1]), tf.float32)


def _known(value):
    """Return `value` with 0 in place of NaN."""
    import tensorflow as tf

    return tf.where(tf.math.is_nan(value), tf.zeros_like(value), value)


def _flag(condition):
    import tensorflow as tf

    return tf.cast(condition, tf.float32)
