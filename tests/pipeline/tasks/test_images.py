"""The image tasks: decoding against pixels that were encoded here, and the models' inputs and outputs."""

from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

from components.trainer.context import ModelContext
from pipeline.tasks import images

SCHEMAS = Path(__file__).parents[3] / "schemas"
TASKS = [("digits", 8), ("mnist", 28)]


def drawn(side: int, count: int = 3, channels: int = 1) -> np.ndarray:
    """Return random pixels, uint8 [count, side, side, channels]."""
    return np.random.default_rng(5).integers(0, 256, (count, side, side, channels), np.uint8)


def png(pixels: np.ndarray) -> list[bytes]:
    """Encode each image as `headrace data` does: one program encodes, another (TensorFlow) decodes."""
    from pipeline.data.class_folders import encode_png

    return [encode_png(image[:, :, 0]) for image in pixels]


@pytest.mark.parametrize(("task", "side"), TASKS)
def test_pixels_arrive_in_the_unit_range_and_labels_as_numbers(task, side):
    import tensorflow as tf

    features = import_module(f"pipeline.tasks.{task}.features")
    pixels = drawn(side)
    raw = {"image": tf.constant([[image] for image in png(pixels)]), "label": tf.constant([[b"3"], [b"0"], [b"9"]])}
    outputs = features.preprocessing_fn(raw)
    assert sorted(outputs) == ["image", "label"]
    np.testing.assert_allclose(outputs["image"], pixels / 255, atol=1e-7)
    assert outputs["image"].dtype == tf.float32
    assert outputs["label"].numpy().tolist() == [3, 0, 9] and outputs["label"].dtype == tf.int64


def test_a_jpeg_is_decoded_too():
    import tensorflow as tf

    flat = np.full((8, 8, 1), 200, np.uint8)
    decoded = images.decode(tf.constant([tf.io.encode_jpeg(flat, quality=100).numpy()]), 8, 8)
    np.testing.assert_allclose(decoded, flat[None] / 255, atol=0.01)


def test_an_image_of_another_size_fails_rather_than_being_bent():
    import tensorflow as tf

    with pytest.raises(tf.errors.InvalidArgumentError):
        images.decode(tf.constant(png(drawn(9, 1))), 8, 8)


@pytest.mark.parametrize(("task", "side"), TASKS)
def test_the_preprocessing_can_be_traced_by_tft(task, side):
    from components.schemas import read_schema
    from components.transform.analyze import check_trace

    features = import_module(f"pipeline.tasks.{task}.features")
    check_trace(features.preprocessing_fn, features.__file__, read_schema(str(SCHEMAS / task)))


@pytest.mark.parametrize(("task", "side"), TASKS)
def test_the_model_maps_an_image_to_ten_probabilities(task, side):
    build_model = import_module(f"pipeline.tasks.{task}.model").build_model
    model = build_model(ModelContext({"image": ((side, side, 1), "float32")}, {}, 10, {"dropout": 0.3}, 1e-3, 10))
    assert model.input_names == ["image"] and model.inputs[0].shape == (None, side, side, 1)
    probabilities = model({"image": drawn(side).astype(np.float32) / 255}).numpy()
    assert probabilities.shape == (3, 10)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1, atol=1e-5)
    assert 50_000 < model.count_params() < 110_000, "small, yet its weights outweigh the graph in the int8 file"
