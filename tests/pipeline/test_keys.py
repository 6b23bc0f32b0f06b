"""Content keys change with content and code, and with nothing else."""

import json
import os
import shutil

import pytest

from pipeline import keys
from pipeline.config.load import Layers, load_task
from pipeline.nodes import BY_ID, NODES

STACK = {"name": "compat", "python": "3.11.2", "tfx": "1.16.0", "tensorflow": "2.16.2", "glibc": "2.36"}


@pytest.fixture
def task(tmp_path):
    folder = tmp_path / "demo"
    folder.mkdir()
    (folder / "task.yaml").write_text("name: demo\nproblem: binary\nlabel: late\ndata: {path: demo.csv}\n")
    (folder / "features.py").write_text("import helper\n\ndef preprocessing_fn(inputs):\n    return inputs\n")
    (folder / "helper.py").write_text("SCALE = 1\n")
    (folder / "model.py").write_text("def build_model(context):\n    return None\n")
    return folder


def key_of(node_id, task, *overrides, inputs=None, stack=STACK):
    keys.closure.cache_clear()
    keys.imported_files.cache_clear()
    loaded = load_task(str(task), Layers(tuple(overrides)))
    inputs = inputs or dict.fromkeys(BY_ID[node_id].inputs, "0" * 64)
    return keys.key(keys.parts(BY_ID[node_id], loaded.config.model_dump(mode="json"), loaded.task_dir, inputs, stack))


def changed_by(task, *overrides) -> set[str]:
    return {node.id for node in NODES if key_of(node.id, task) != key_of(node.id, task, *overrides)}


def test_a_training_option_changes_the_trainer_alone(task):
    assert changed_by(task, "train.epochs=9") == {"Trainer"}


def test_a_threshold_changes_what_judges_by_it(task):
    assert changed_by(task, "evaluate.thresholds={accuracy: {min: 0.5}}") == {"Evaluator", "EdgeEvaluator"}


def test_the_split_changes_the_examples_alone_and_the_rest_by_their_digests(task):
    assert changed_by(task, "split.eval_fraction=0.5") == {"ExampleGen"}
    assert key_of("Transform", task, inputs={"examples": "a" * 64, "schema": "b" * 64}) != key_of(
        "Transform", task, inputs={"examples": "c" * 64, "schema": "b" * 64}
    )


@pytest.mark.parametrize("override", ["beam.options=[--x=1]", "root=elsewhere", "data.path=/other/place.csv"])
def test_paths_and_beam_flags_are_in_no_key(task, override):
    assert changed_by(task, override) == set()


def test_where_the_task_lies_is_in_no_key(task, tmp_path):
    moved = tmp_path / "elsewhere" / "demo"
    shutil.copytree(task, moved)
    assert all(key_of(node.id, task) == key_of(node.id, moved) for node in NODES)


def test_the_task_code_changes_the_nodes_that_run_it(task):
    before = {node.id: key_of(node.id, task) for node in NODES}
    (task / "model.py").write_text("def build_model(context):\n    return 1\n")
    assert {node.id for node in NODES if key_of(node.id, task) != before[node.id]} == {"Trainer"}


def test_a_module_that_the_task_imports_counts_as_its_code(task):
    before = {node.id: key_of(node.id, task) for node in NODES}
    (task / "helper.py").write_text("SCALE = 2\n")
    assert {node.id for node in NODES if key_of(node.id, task) != before[node.id]} == {"Transform"}


def test_another_tensorflow_changes_every_key_and_another_python_none(task):
    newer = {**STACK, "tensorflow": "2.21.0"}
    python = {**STACK, "python": "3.12.0", "glibc": "2.41"}
    assert all(key_of(node.id, task) != key_of(node.id, task, stack=newer) for node in NODES)
    assert all(key_of(node.id, task) == key_of(node.id, task, stack=python) for node in NODES)


def test_the_code_of_a_node_reaches_what_it_imports_and_what_it_starts_as_a_module():
    trainer = {
        str(path.relative_to(keys.ROOT)) for path in keys.closure(keys._module_path("components.trainer.component"))
    }
    assert {"components/trainer/component.py", "components/trainer/fit.py", "components/user_code.py"} <= trainer
    assert not any(name.startswith("components/evaluator") for name in trainer)
    quantizer = {
        str(path.relative_to(keys.ROOT)) for path in keys.closure(keys._module_path("components.quantizer.component"))
    }
    assert "components/quantizer/convert.py" in quantizer


def test_source_digests_are_over_names_and_bytes(tmp_path):
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "x.csv").write_text("1,2\n")
    assert keys.source_digest(str(tmp_path / "a"), {}) == keys.source_digest(str(tmp_path / "b"), {})
    os.rename(tmp_path / "b" / "x.csv", tmp_path / "b" / "y.csv")
    assert keys.source_digest(str(tmp_path / "a"), {}) != keys.source_digest(str(tmp_path / "b"), {})


def test_a_file_of_unchanged_size_and_time_is_not_read_again(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("1,2\n")
    known: dict = {}
    digest = keys.source_digest(str(path), known)
    stat = path.stat()
    path.write_text("3,4\n")
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert keys.source_digest(str(path), known) == digest
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns + 1))
    assert keys.source_digest(str(path), known) != digest


def test_the_key_of_given_parts_is_pinned():
    """A silent change of the key would run everything of everybody again: change this literal on purpose."""
    parts = {"code": "c", "task": "", "config": {"label": "late"}, "inputs": {"data": "d"}, "stack": {"tfx": "1"}}
    assert keys.key(parts) == keys.key(json.loads(json.dumps(parts)))
    assert keys.key(parts) == "f47b0b69de0916fd6b336e5e"
