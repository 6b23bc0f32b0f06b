"""Configuration is layered, strict, and says where each value came from."""

import pytest

from pipeline.config.load import Layers, find_task, load_task, task_names
from pipeline.errors import HeadraceError

TASK = """
name: demo
problem: binary
label: late
data: {path: demo.csv}
train: {epochs: 7}
"""


@pytest.fixture
def task(tmp_path):
    folder = tmp_path / "demo"
    folder.mkdir()
    (folder / "task.yaml").write_text(TASK)
    return folder


def refused(task, *overrides) -> HeadraceError:
    with pytest.raises(HeadraceError) as caught:
        load_task(str(task), Layers(tuple(overrides)))
    return caught.value


def test_defaults_task_file_and_overrides_are_layered_in_that_order(task):
    loaded = load_task(str(task), Layers(("train.batch_size=64",)))
    assert (loaded.config.train.epochs, loaded.config.train.batch_size, loaded.config.train.seed) == (7, 64, 17)
    assert loaded.sources["train.epochs"] == "task.yaml"
    assert loaded.sources["train.batch_size"] == "--set"
    assert loaded.sources["train.seed"] == "default"


def test_an_override_wins_over_the_task_file(task):
    loaded = load_task(str(task), Layers(("train.epochs=2", "train.epochs=3",)))
    assert loaded.config.train.epochs == 3
    assert loaded.sources["train.epochs"] == "--set"


def test_a_whole_section_may_be_overridden(task):
    loaded = load_task(str(task), Layers(("evaluate.thresholds={accuracy: {min: 0.9}}",)))
    assert loaded.config.evaluate.thresholds["accuracy"].min == 0.9
    assert loaded.sources["evaluate.thresholds.accuracy.min"] == "--set"


def test_a_misspelt_key_is_refused_with_the_nearest_one(task):
    error = refused(task, "train.epoch=3")
    assert error.code == "HR-CONFIG-001"
    assert "did you mean 'train.epochs'" in error.what
    assert error.exit_code == 2


def test_a_key_of_another_section_is_suggested_by_its_last_part(task):
    assert "did you mean 'train.epochs'" in refused(task, "epochs=3").what


def test_a_misspelt_key_in_the_task_file_names_the_file(task):
    (task / "task.yaml").write_text(TASK + "trian: {epochs: 3}\n")
    error = refused(task)
    assert error.code == "HR-CONFIG-001"
    assert "task.yaml" in error.seen[0]


@pytest.mark.parametrize(
    "override",
    ["train.epochs=many", "train.epochs=0", "train.epochs=1.5", "data.format=xml", "edge_evaluate.max_drop=-1"],
)
def test_a_wrong_value_is_refused_with_its_key(task, override):
    error = refused(task, override)
    assert error.code == "HR-CONFIG-002"
    assert override.partition("=")[0] in error.what


def test_a_threshold_without_a_side_is_refused(task):
    assert "min, max or both" in refused(task, "evaluate.thresholds={auc: {}}").what


def test_a_split_by_time_needs_its_column(task):
    assert "split.column" in refused(task, "split.by=time").what


def test_an_override_that_is_no_pair_is_refused(task):
    assert "key=value" in refused(task, "train.epochs").what


def test_yaml_that_cannot_be_parsed_is_refused_with_the_file(task):
    (task / "task.yaml").write_text("name: [")
    error = refused(task)
    assert error.code == "HR-CONFIG-003"
    assert str(task / "task.yaml") in error.what


def test_an_unknown_task_is_refused_with_the_nearest_one():
    with pytest.raises(HeadraceError) as caught:
        find_task("flihgts")
    assert caught.value.code == "HR-CLI-001"
    assert "did you mean 'flights'" in caught.value.what


@pytest.mark.parametrize("name", ["digits", "flights", "mnist"])
def test_the_shipped_tasks_load_and_their_schemas_exist(name):
    import os

    assert name in task_names()
    assert os.path.isfile(load_task(name).config.schema_path)
