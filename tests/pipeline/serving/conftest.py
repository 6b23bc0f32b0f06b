"""Two tiny SavedModels with the signatures of a pushed model, written once a session, and a running server."""

from __future__ import annotations

import http.client
import shutil
from dataclasses import dataclass

import numpy as np
import pytest

NAME = "tiny"
WEIGHTS = {b"AA": 0.5, b"UA": -0.25, b"OO": 0.125}
OTHER = 1.0  # any carrier that the vocabulary does not know


def expected(distance, month, carrier, bias=0.1):
    """Return P(label=1) in float64: the oracle."""
    logit = 0.001 * distance + 0.1 * month + WEIGHTS.get(carrier, OTHER) + bias
    return 1 / (1 + np.exp(-logit))


def write_tiny_model(path, bias=0.1):
    """Write a SavedModel with `serving_default`, `raw`, and one signature with two outputs."""
    from pipeline.environment import prepare

    prepare()
    import tensorflow as tf

    vocabulary = path.parent / f"carriers-{path.name}.txt"
    vocabulary.parent.mkdir(parents=True, exist_ok=True)
    vocabulary.write_text("AA\nUA\nOO\n")
    spec = tf.TensorSpec
    features = [
        spec([None, 1], tf.float32, "distance"),
        spec([None, 1], tf.int64, "month"),
        spec([None, 1], tf.string, "carrier"),
    ]
    parsing = {
        "distance": tf.io.FixedLenFeature([1], tf.float32, 0.0),
        "month": tf.io.FixedLenFeature([1], tf.int64),
        "carrier": tf.io.FixedLenFeature([1], tf.string),
    }

    class Tiny(tf.Module):
        def __init__(self):
            lines = tf.lookup.TextFileIndex
            source = tf.lookup.TextFileInitializer(
                str(vocabulary), tf.string, lines.WHOLE_LINE, tf.int64, lines.LINE_NUMBER
            )
            self.table = tf.lookup.StaticVocabularyTable(source, num_oov_buckets=1)
            self.weights = tf.Variable([*WEIGHTS.values(), OTHER])
            self.bias = tf.Variable(bias)

        def logit(self, distance, month, carrier):
            weight = tf.gather(self.weights, self.table.lookup(carrier))
            return 0.001 * distance + 0.1 * tf.cast(month, tf.float32) + weight + self.bias

        @tf.function(input_signature=[spec([None], tf.string, "examples")])
        def serve(self, examples):
            row = tf.io.parse_example(examples, parsing)
            return {"outputs": tf.sigmoid(self.logit(row["distance"], row["month"], row["carrier"]))}

        @tf.function(input_signature=features)
        def raw(self, distance, month, carrier):
            known = tf.where(tf.math.is_nan(distance), 0.0, distance)
            return {"outputs": tf.sigmoid(self.logit(known, month, carrier))}

        @tf.function(input_signature=features[:1])
        def two(self, distance):
            return {
                "whole": tf.cast(distance[:, 0], tf.int64),
                "text_bytes": tf.as_string(distance),
                "half": distance / 2,
            }

    model = Tiny()
    signatures = {"serving_default": model.serve, "raw": model.raw, "two": model.two}
    tf.saved_model.save(model, str(path), signatures=signatures)
    vocabulary.unlink()  # the export has to carry its own copy


def serialized(distance, month, carrier):
    """Return a serialized tf.Example; None leaves a feature out."""
    import tensorflow as tf

    example = tf.train.Example()
    if distance is not None:
        example.features.feature["distance"].float_list.value.append(distance)
    if month is not None:
        example.features.feature["month"].int64_list.value.append(month)
    example.features.feature["carrier"].bytes_list.value.append(carrier)
    return example.SerializeToString()


@pytest.fixture(scope="session")
def tiny_models(tmp_path_factory):
    """Return two model folders; the second has another bias."""
    folder = tmp_path_factory.mktemp("tiny")
    write_tiny_model(folder / "a", bias=0.1)
    write_tiny_model(folder / "b", bias=2.0)
    return folder / "a", folder / "b"


@pytest.fixture
def base_path(tiny_models, tmp_path):
    """Return a base path with version 1."""
    base = tmp_path / "serving"
    shutil.copytree(tiny_models[0], base / "1")
    return base


@dataclass
class Running:
    """A server, and requests to it."""

    server: object

    def call(self, method, path, body=None):
        """Return HTTP code, headers and body of one request."""
        connection = http.client.HTTPConnection("127.0.0.1", self.server.rest_port, timeout=20)
        try:
            connection.request(method, path, body)
            response = connection.getresponse()
            return response.status, dict(response.getheaders()), response.read().decode("utf-8", "surrogateescape")
        finally:
            connection.close()

    def stub(self, kind, channel):
        """Return a gRPC stub of `prediction` or `model`."""
        from tensorflow_serving.apis import model_service_pb2_grpc, prediction_service_pb2_grpc

        stubs = {
            "prediction": prediction_service_pb2_grpc.PredictionServiceStub,
            "model": model_service_pb2_grpc.ModelServiceStub,
        }
        return stubs[kind](channel)

    def channel(self):
        """Return a channel to the gRPC port; close it."""
        import grpc

        return grpc.insecure_channel(f"127.0.0.1:{self.server.grpc_port}")


@pytest.fixture(scope="module")
def running(tiny_models, tmp_path_factory):
    """Return a server of version 1, shared by the tests of a module that change nothing."""
    from pipeline.serving.server import start

    base = tmp_path_factory.mktemp("shared") / "serving"
    shutil.copytree(tiny_models[0], base / "1")
    server = start(NAME, str(base), rest_port=0, grpc_port=0)
    yield Running(server)
    server.stop(drain_s=5)


@pytest.fixture
def oracle():
    """Return the function that says what the tiny model answers."""
    return expected


@pytest.fixture
def make_example():
    """Return the function that serializes a row."""
    return serialized
