"""A small world with known answers: raw and transformed examples, a served model, its TFLite files."""

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

ROWS = 600
CARRIERS = np.array(["AA", "B6", "OO"])
WEIGHTS = np.array([[1.5], [-1.0], [0.5]], np.float32)
BY_CARRIER = np.array([[0.6], [-0.2], [-0.8]], np.float32)


@dataclass
class World:
    """Where things lie, and what is true of them.

    Args:
        labels: int64 [n]; `probabilities` float [n, 1] of label 1; `carrier` str [n]; all of the eval rows.
    """

    examples: str
    transformed: str
    model: str
    quantized: str
    labels: np.ndarray
    probabilities: np.ndarray
    carrier: np.ndarray


@pytest.fixture(scope="session")
def world(tmp_path_factory) -> World:
    """Three numbers and a carrier decide the label through a logistic model that the SavedModel holds exactly."""
    import pyarrow as pa

    from components import examples

    root = tmp_path_factory.mktemp("world")
    rng = np.random.default_rng(7)
    numbers = rng.normal(size=(ROWS, 3)).astype(np.float32)
    codes = rng.integers(0, 3, ROWS)
    probabilities = 1 / (1 + np.exp(-(numbers.astype(np.float64) @ WEIGHTS + BY_CARRIER[codes])))
    labels = (rng.random(ROWS) < probabilities[:, 0]).astype(np.int64)
    columns = {f"x{i}": pa.array(numbers[:, i]) for i in range(3)}
    raw = columns | {"carrier": pa.array([c.encode() for c in CARRIERS[codes]]), "month": pa.array(codes + 10)}
    transformed = columns | {"carrier": pa.array(codes)}
    for name, table in (("examples", raw), ("transformed", transformed)):
        batch = pa.RecordBatch.from_pydict(table | {"late": pa.array(labels)})
        for split in ("train", "eval"):
            examples.write_split([batch], str(root / name), split)
    save_served(root / "model", WEIGHTS)
    save_tflite(root / "model" / "Format-Edge", root / "quantized", numbers, codes)
    folders = (str(root / name) for name in ("examples", "transformed", "model", "quantized"))
    return World(*folders, labels, probabilities, CARRIERS[codes])


def save_served(
    model: Path, weights: np.ndarray, names=("x0", "x1", "x2"), by_carrier: np.ndarray = BY_CARRIER
) -> None:
    """Write `Format-Serving` (serialized examples, a vocabulary table) and `Format-Edge` (one row of tensors)."""
    import tensorflow as tf

    module = tf.Module()
    module.weights, module.by_carrier = tf.Variable(weights), tf.Variable(by_carrier)
    keys = tf.lookup.KeyValueTensorInitializer(CARRIERS.tolist(), tf.range(3))
    module.table = tf.lookup.StaticHashTable(keys, -1)

    def outputs(numbers, codes):
        logits = tf.matmul(tf.concat(numbers, axis=1), module.weights) + tf.gather(module.by_carrier, codes[:, 0])
        return {"outputs": tf.sigmoid(logits)}

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="examples")])
    def serve(records):
        specs = {name: tf.io.FixedLenFeature([1], tf.float32) for name in names}
        parsed = tf.io.parse_example(records, specs | {"carrier": tf.io.FixedLenFeature([1], tf.string)})
        return outputs([parsed[name] for name in names], module.table.lookup(parsed["carrier"]))

    tf.saved_model.save(module, str(model / "Format-Serving"), signatures={"serving_default": serve})
    edge = tf.Module()
    edge.weights, edge.by_carrier = module.weights, module.by_carrier
    row = {name: tf.TensorSpec([1, 1], tf.float32, name=name) for name in names}

    @tf.function(input_signature=[row | {"carrier": tf.TensorSpec([1, 1], tf.int32, name="carrier")}])
    def one(features):
        return outputs([features[name] for name in names], features["carrier"])

    tf.saved_model.save(edge, str(model / "Format-Edge"), signatures={"edge": one})


def save_tflite(edge_dir: Path, folder: Path, numbers: np.ndarray, codes: np.ndarray) -> None:
    """Write the TFLite files and their manifest without the converter's own process."""
    from components.quantizer.convert import convert

    folder.mkdir()
    calibration = {f"x{i}": numbers[:200, i] for i in range(3)} | {"carrier": codes[:200]}
    models = []
    for scheme in ("float32", "int8"):
        content = convert(str(edge_dir), calibration, scheme)
        (folder / f"{scheme}.tflite").write_bytes(content)
        models.append({"scheme": scheme, "path": f"{scheme}.tflite", "size_bytes": len(content), "size_ratio": 1.0})
    (folder / "manifest.json").write_text(json.dumps({"models": models}))
