"""Small SavedModels with `serving_default`, good and bad, and an Examples artifact."""

from __future__ import annotations

import pytest


@pytest.fixture(scope="session")
def make_model():
    """Return a function that writes `Format-Serving` of a model whose answer is `answer(tf, x)` of float `x` [n, 1]."""
    from pipeline.environment import prepare

    prepare()
    import tensorflow as tf

    def make(folder, answer, outputs="outputs", signature="serving_default"):
        @tf.function(input_signature=[tf.TensorSpec([None], tf.string, "examples")])
        def serve(examples):
            parsed = tf.io.parse_example(examples, {"x": tf.io.FixedLenFeature([1], tf.float32)})
            return {outputs: answer(tf, parsed["x"])}

        module = tf.Module()
        module.serve = serve
        tf.saved_model.save(module, str(folder / "Format-Serving"), signatures={signature: serve})
        return str(folder)

    return make


@pytest.fixture(scope="session")
def examples_uri(tmp_path_factory):
    """Return an Examples artifact with 30 rows of eval: x = 0, 0.1, 0.2, ..."""
    import tensorflow as tf

    uri = tmp_path_factory.mktemp("examples")
    (uri / "Split-eval").mkdir()
    with tf.io.TFRecordWriter(str(uri / "Split-eval" / "data_tfrecord-00000-of-00001")) as writer:
        for value in range(30):
            example = tf.train.Example()
            example.features.feature["x"].float_list.value.append(value / 10)
            writer.write(example.SerializeToString())
    return str(uri)
