"""Conversion in its own process: what comes out, and what a failure says."""

import hashlib
import json
import sys

import numpy as np
import pytest

from components.quantizer import flatbuffer, quantize
from components.quantizer.component import Quantizer
from components.quantizer.flatbuffer import Graph, Tensor
from components.quantizer.quantize import check_graph
from components.reporting import Listener, listening
from pipeline.errors import HeadraceError

pytestmark = pytest.mark.tf


def accuracy(path, trained):
    """Return a TFLite file's accuracy on every digit, by TensorFlow's own signature runner."""
    import tensorflow as tf

    runner = tf.lite.Interpreter(str(path)).get_signature_runner()
    inputs, outputs = runner.get_input_details(), runner.get_output_details()
    scale, zero = inputs["image"]["quantization"]
    image = trained.features["image"]
    if scale:
        image = np.clip(np.rint(image / scale) + zero, -128, 127).astype(np.int8)
    hours = trained.features["hour"].astype(np.int32)
    assert set(outputs) == {"outputs"}
    hits = [
        runner(image=image[i : i + 1], hour=hours[i : i + 1, None])["outputs"].argmax() == trained.labels[i]
        for i in range(0, len(hours), 3)
    ]
    return float(np.mean(hits))


def test_float32_comes_first_and_every_scheme_is_made(quantized):
    models, folder = quantized
    assert [model.scheme for model in models] == ["float32", "dynamic_range", "float16", "int8"]
    assert sorted(path.name for path in folder.iterdir()) == [
        "dynamic_range.tflite",
        "float16.tflite",
        "float32.tflite",
        "int8.tflite",
        "manifest.json",
    ]


def test_sizes_and_digests_are_those_of_the_files(quantized):
    models, folder = quantized
    size = (folder / "float32.tflite").stat().st_size
    for model in models:
        content = (folder / model.path).read_bytes()
        assert model.size_bytes == len(content) and model.size_ratio == len(content) / size
        assert model.sha256 == hashlib.sha256(content).hexdigest()
    ratios = {model.scheme: model.size_ratio for model in models}
    assert (
        ratios["float32"] == 1 and ratios["int8"] < 0.35 and ratios["dynamic_range"] < 0.35 and ratios["float16"] < 0.6
    )


def test_int8_has_integers_only_and_keeps_ids_as_they_are(quantized):
    models, folder = quantized
    int8 = models[-1]
    assert int8.inputs["image"]["dtype"] == "INT8" and int8.inputs["image"]["shape"] == [1, 8, 8, 1]
    assert int8.inputs["image"]["scale"] == pytest.approx([1 / 255], rel=1e-3)
    assert int8.inputs["image"]["zero_point"] == [-128]
    assert int8.inputs["hour"] == {"dtype": "INT32", "shape": [1, 1], "scale": [], "zero_point": []}
    assert int8.outputs["outputs"]["scale"] == [1 / 256] and int8.outputs["outputs"]["zero_point"] == [-128]
    graph = flatbuffer.read((folder / "int8.tflite").read_bytes())
    assert graph.float_tensors == [] and graph.subgraphs == 1 and graph.dynamic_tensors == []
    assert {tensor.dtype for tensor in graph.tensors} <= {"INT8", "INT32"}


def test_dense_weights_have_one_scale_as_the_edge_tpu_wants_them(quantized):
    graph = flatbuffer.read((quantized[1] / "int8.tflite").read_bytes())
    assert graph.dense_scales == [1, 1]
    assert graph.operators["FULLY_CONNECTED"] == 2


def test_quantization_costs_little_accuracy(quantized, trained):
    _, folder = quantized
    exact = accuracy(folder / "float32.tflite", trained)
    assert exact > 0.9
    for scheme in ("dynamic_range", "float16", "int8"):
        assert accuracy(folder / f"{scheme}.tflite", trained) == pytest.approx(exact, abs=0.01)


def test_the_manifest_says_what_was_made_from_what(quantized, trained):
    models, folder = quantized
    manifest = json.loads((folder / "manifest.json").read_text())
    assert [model["scheme"] for model in manifest["models"]] == [model.scheme for model in models]
    assert manifest["calibration"]["examples"] == 200 and len(manifest["calibration"]["sha256"]) == 64
    import tensorflow as tf

    assert manifest["converter"] == {"tensorflow": tf.__version__}


def stub(monkeypatch, tmp_path, body):
    """Put a converter of a few lines in the place of TensorFlow's."""
    (tmp_path / "stub_converter.py").write_text(f"import os, sys\n{body}\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr(quantize, "CONVERTER", "stub_converter")


def refused(tmp_path):
    """Run the stub and return its error."""
    with pytest.raises(HeadraceError) as caught:
        quantize.quantize("model", {"x": np.arange(3.0)}, ["int8"], str(tmp_path / "out"))
    return caught.value


def test_an_abort_of_the_converter_is_an_error_with_its_last_words(monkeypatch, tmp_path):
    lines = [
        "2026-11-30 10:00:00.1: I tensorflow/core/x.cc:42] hello",
        "error: 'tfl.conv_2d' op failed",
        "LLVM ERROR: Failed to infer result type(s).",
        "Fatal Python error: Aborted",
        "  File 'lite.py', line 7 in convert",
    ]
    printed = "\\n".join(lines).replace("'", "\\'")
    stub(monkeypatch, tmp_path, f"print('converting int8', flush=True)\nos.write(2, b'{printed}')\nos.abort()")
    error = refused(tmp_path)
    assert error.code == "HR-EDGE-002" and error.what.endswith("scheme int8")
    assert error.seen == ["LLVM ERROR: Failed to infer result type(s)."]


def test_a_converter_that_dies_without_a_word_is_told_by_its_exit_code(monkeypatch, tmp_path):
    stub(monkeypatch, tmp_path, "os.kill(os.getpid(), 9)")
    error = refused(tmp_path)
    assert error.what.endswith("scheme float32") and error.seen == ["the converter's process ended with code -9"]


def test_a_converter_that_hangs_is_stopped(monkeypatch, tmp_path):
    stub(monkeypatch, tmp_path, "import time; time.sleep(60)")
    monkeypatch.setattr(quantize, "TIMEOUT_S", 0.5)
    assert refused(tmp_path).seen == ["error: not done after 0 s"]


def test_an_error_that_the_converter_explains_is_raised_as_it_is(monkeypatch, tmp_path):
    stub(
        monkeypatch,
        tmp_path,
        "import json\n"
        "error = dict(code='HR-EDGE-004', what='no feature', seen=['a'], expected='b', fix=['c'])\n"
        "json.dump({'error': error}, open(json.load(open(sys.argv[1]))['result'], 'w'))",
    )
    error = refused(tmp_path)
    assert (error.code, error.what, list(error.seen)) == ("HR-EDGE-004", "no feature", ["a"])


def test_calibration_without_variety_is_refused_before_anything_runs(monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "executable", "/nowhere")
    with pytest.raises(HeadraceError) as caught:
        quantize.quantize("model", {"x": np.ones(9)}, ["int8"], str(tmp_path))
    assert caught.value.code == "HR-EDGE-004" and "all equal" in caught.value.what


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"tensors": [Tensor("x", "FLOAT32", (1,))]}, "float tensors"),
        ({"tensors": [Tensor("x", "INT8", (1,), dynamic=True)]}, "shapes not known"),
        ({"operators": {"custom:FlexAddV2": 1}}, "not TFLite's own"),
        ({"subgraphs": 2}, "more than one subgraph"),
    ],
)
def test_a_file_that_breaks_a_rule_is_refused(changes, what):
    graph = {"inputs": {}, "outputs": {}, "tensors": [], "operators": {}, "subgraphs": 1} | changes
    with pytest.raises(HeadraceError) as caught:
        check_graph("int8", Graph(**graph))
    assert caught.value.code == "HR-EDGE-003" and what in caught.value.what


def test_floats_are_allowed_where_they_are_the_point():
    check_graph("float16", Graph({}, {}, [Tensor("x", "FLOAT16", (1,))], {"ADD": 1}, 1))


def test_the_component_reports_scheme_path_and_size(trained, tmp_path, monkeypatch):
    import pyarrow as pa
    from tfx.types import standard_artifacts

    from components import examples
    from components.artifacts import QuantizedModels
    from components.quantizer import component

    def artifact(kind, uri):
        found = kind()
        found.uri = str(uri)
        return found

    seen = {}

    def fake(edge_dir, calibration, schemes, out_dir):
        seen.update(edge_dir=edge_dir, rows=len(calibration["hour"]), names=sorted(calibration), schemes=schemes)
        return [quantize.QuantizedModel("float32", "float32.tflite", 100, 1.0, "", {}, {}, {})]

    monkeypatch.setattr(component, "quantize", fake)
    batch = pa.RecordBatch.from_pydict({"hour": trained.features["hour"], "label": trained.labels})
    examples.write_split([batch], str(tmp_path / "t"), "train")
    with listening(Listener()) as listener:
        Quantizer.test_call(
            model=artifact(standard_artifacts.Model, "model"),
            transformed_examples=artifact(standard_artifacts.Examples, tmp_path / "t"),
            quantized=artifact(QuantizedModels, tmp_path / "q"),
            config=json.dumps({"quantize": {"schemes": ["int8"], "calibration_examples": 50}, "label": "label"}),
        )
    assert seen == {"edge_dir": "model/Format-Edge", "rows": 50, "names": ["hour"], "schemes": ["int8"]}
    [row] = listener.outcome.summary["models"]
    assert row == {
        "scheme": "float32",
        "path": str(tmp_path / "q" / "float32.tflite"),
        "size_bytes": 100,
        "size_ratio": 1.0,
    }
