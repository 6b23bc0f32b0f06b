"""Each task.yaml is valid and fits the rest of its folder."""

from pathlib import Path

import pytest
import yaml

import pipeline.tasks
from components.schemas import read_schema
from pipeline.config.model import TaskConfig

FOLDER = Path(pipeline.tasks.__file__).parent
TASKS = sorted(path.parent.name for path in FOLDER.glob("*/task.yaml"))


def test_three_tasks_come_with_headrace():
    assert TASKS == ["digits", "flights", "mnist"]


@pytest.mark.parametrize("task", TASKS)
def test_the_file_is_valid_and_names_its_folder(task):
    config = TaskConfig(**yaml.safe_load((FOLDER / task / "task.yaml").read_text()))
    columns = {feature.name for feature in read_schema(str(FOLDER.parents[1] / "schemas" / task)).feature}
    assert config.name == task
    assert config.label in columns
    assert {name for group in config.evaluate.slices for name in group} <= columns
    assert config.edge_evaluate.metric in config.evaluate.metrics


def test_flights_is_split_by_time_unless_asked_otherwise():
    config = TaskConfig(**yaml.safe_load((FOLDER / "flights" / "task.yaml").read_text()))
    assert (config.split.by, config.split.column, config.split.eval_from) == ("time", "date", "2013-11-01")
