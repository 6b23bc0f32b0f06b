"""Two SavedModels of one trained model: for serving, with the preprocessing inside; for the edge, raw tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import tensorflow as tf
    import tf_keras as keras


def export_serving(model: keras.Model, graph_uri: str, label: str, out_dir: str) -> None:
    """Write the SavedModel that TensorFlow Serving loads.

    Signatures:
        serving_default: `examples` [None] string, serialized tf.Example -> `outputs` float32 [None, k].
        transform_features: `examples` -> every transformed feature but the label.
        raw: one tensor [None, 1] a raw feature -> `outputs`; for clients that send JSON rows. A missing value is the
            empty string, or NaN: a column of integers that may be missing is taken as float64.
    """
    import tensorflow as tf
    import tensorflow_transform as tft

    output = tft.TFTransformOutput(graph_uri)
    specs = {name: spec for name, spec in output.raw_feature_spec().items() if name != label}
    module = tf.Module()
    module.model = model
    module.transform = output.transform_features_layer()
    names = list(model.input_names) if hasattr(model, "input_names") else list(model.input)

    def predict(raw: dict) -> dict:
        transformed = module.transform(raw)
        return {"outputs": model({name: transformed[name] for name in names}, training=False)}

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="examples")])
    def serving_default(examples: tf.Tensor) -> dict:
        return predict(tf.io.parse_example(examples, specs))

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="examples")])
    def transform_features(examples: tf.Tensor) -> dict:
        return dict(module.transform(tf.io.parse_example(examples, specs)))

    @tf.function(input_signature=[{name: _raw_spec(name, spec) for name, spec in specs.items()}])
    def raw(features: dict) -> dict:
        return predict({name: _as_parsed(features[name], spec) for name, spec in specs.items()})

    signatures = {"serving_default": serving_default, "transform_features": transform_features, "raw": raw}
    tf.saved_model.save(module, out_dir, signatures=signatures)


def export_edge(model: keras.Model, out_dir: str) -> None:
    """Write the SavedModel that is converted to TFLite.

    Signature `edge`: each model input by name, static batch of 1, no lookup tables -> `outputs` float32 [1, k].
    A second signature beside a lookup table would not convert: its initializers are imported with any signature.
    """
    import tensorflow as tf

    module = tf.Module()
    module.model = model
    inputs = dict(zip(model.input_names, model.inputs, strict=True))

    @tf.function(
        input_signature=[
            {name: tf.TensorSpec([1, *tensor.shape[1:]], tensor.dtype, name=name) for name, tensor in inputs.items()}
        ]
    )
    def edge(features: dict) -> dict:
        return {"outputs": model(features, training=False)}

    tf.saved_model.save(module, out_dir, signatures={"edge": edge})


def _raw_spec(name: str, spec) -> tf.TensorSpec:
    import tensorflow as tf

    optional_integer = isinstance(spec, tf.io.VarLenFeature) and spec.dtype == tf.int64
    return tf.TensorSpec([None, 1], tf.float64 if optional_integer else spec.dtype, name=name)


def _as_parsed(values: tf.Tensor, spec) -> tf.Tensor | tf.SparseTensor:
    """Return a raw [None, 1] tensor in the form in which `tf.io.parse_example` gives the feature."""
    import tensorflow as tf

    if not isinstance(spec, tf.io.VarLenFeature):
        return tf.reshape(values, [-1, *spec.shape])
    present = tf.not_equal(values, "") if spec.dtype == tf.string else tf.logical_not(tf.math.is_nan(values))
    where = tf.where(present)
    return tf.SparseTensor(where, tf.cast(tf.gather_nd(values, where), spec.dtype), tf.shape(values, tf.int64))
