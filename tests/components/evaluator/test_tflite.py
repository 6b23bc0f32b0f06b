"""Quantization by the formula, and batches that equal single rows."""

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from components.evaluator import tflite
from components.evaluator.tflite import TFLiteModel, dequantize, latencies_us, predict, quantize
from pipeline.errors import HeadraceError

pytestmark = pytest.mark.tf


def features_of(world, split="eval"):
    """Return the world's transformed examples."""
    from components import examples

    return examples.read_dense(world.transformed, split)


def test_values_are_rounded_and_clipped_where_a_cast_would_wrap_around():
    values = np.array([-0.1, 0.0, 0.3, 0.503, 1.0, 1.01, 1.2], np.float32)
    found = quantize(values, 1 / 255, -128, np.dtype(np.int8))
    assert found.tolist() == [-128, -128, -52, 0, 127, 127, 127]
    assert found.dtype == np.int8


def test_quantizing_and_back_is_off_by_half_a_step_at_most():
    values = np.random.default_rng(0).uniform(-3, 5, 1000).astype(np.float32)
    back = dequantize(quantize(values, 8 / 255, -32, np.dtype(np.int8)), 8 / 255, -32)
    assert np.abs(back - values).max() <= 8 / 255 / 2 + 1e-6


def test_a_tensor_without_a_scale_is_cast():
    assert quantize(np.array([3, 4]), 0.0, 0, np.dtype(np.int32)).dtype == np.int32
    assert dequantize(np.array([3, 4], np.int8), 0.0, 0).tolist() == [3.0, 4.0]


def test_all_rows_come_out_in_order_and_close_to_the_known_probabilities(world):
    features = features_of(world)
    assert predict(f"{world.quantized}/float32.tflite", features) == pytest.approx(world.probabilities, abs=1e-5)
    found = predict(f"{world.quantized}/int8.tflite", features)
    assert found.shape == world.probabilities.shape
    # 256 steps in the logit's range: a few hundredths of probability where the sigmoid is steepest
    assert np.abs(found - world.probabilities).max() < 0.06


def test_batches_and_single_rows_give_the_same_bits(world):
    features = features_of(world)
    for scheme in ("float32", "int8"):
        path = f"{world.quantized}/{scheme}.tflite"
        single, batched = TFLiteModel(path), TFLiteModel(path, tflite.BATCH_ROWS)
        expected = single.run(single.prepare(features))
        assert np.array_equal(batched.run(batched.prepare(features)), expected)
        assert np.array_equal(predict(path, features), expected)


def test_a_graph_with_the_batch_baked_in_runs_one_by_one(tmp_path):
    import tensorflow as tf

    module = tf.Module()

    @tf.function(input_signature=[tf.TensorSpec([1, 2, 2], tf.float32, name="image")])
    def edge(image):
        return {"outputs": tf.reshape(image * 2.0, [1, 4])}

    tf.saved_model.save(module, str(tmp_path / "m"), signatures={"edge": edge})
    path = tmp_path / "m.tflite"
    path.write_bytes(tf.lite.TFLiteConverter.from_saved_model(str(tmp_path / "m"), signature_keys=["edge"]).convert())
    images = np.arange(40, dtype=np.float32).reshape(10, 4)
    assert predict(str(path), {"image": images}).tolist() == (images * 2).tolist()


def test_latency_is_a_median_per_model_in_turns(world, monkeypatch):
    turns = []
    monkeypatch.setattr(TFLiteModel, "time_calls", lambda self, tensors, calls: turns.append(calls) or [1.0, 2.0, 9.0])
    paths = {scheme: f"{world.quantized}/{scheme}.tflite" for scheme in ("float32", "int8")}
    assert latencies_us(paths, features_of(world)) == {"float32": 2.0, "int8": 2.0}
    assert turns == [tflite.WARM_UP] * 2 + [tflite.CALLS] * 2 * tflite.ROUNDS
    assert tflite.CALLS * tflite.ROUNDS >= 200


def test_loading_side_by_side_leaves_stderr_as_it_was(world):
    before = os.fstat(2).st_ino
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: TFLiteModel(f"{world.quantized}/int8.tflite"), range(40)))
    assert os.fstat(2).st_ino == before


def test_a_feature_that_the_examples_lack_is_named(world):
    features = features_of(world)
    del features["x1"]
    with pytest.raises(HeadraceError) as caught:
        predict(f"{world.quantized}/int8.tflite", features)
    assert caught.value.code == "HR-EDGE-005" and caught.value.seen == ["x1"]


def test_a_truncated_file_is_refused(world, tmp_path):
    path = tmp_path / "cut.tflite"
    path.write_bytes(Path(world.quantized, "int8.tflite").read_bytes()[:100])
    with pytest.raises(HeadraceError) as caught:
        predict(str(path), features_of(world))
    assert caught.value.code == "HR-EDGE-005"
