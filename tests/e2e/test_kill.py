"""A run killed at any moment resumes: nothing half-written is taken as done, nothing is pushed twice."""

import multiprocessing
import signal
import sys
from pathlib import Path

import pytest

from pipeline.nodes import NODES

pytestmark = [pytest.mark.tf, pytest.mark.slow]
FORKSERVER = multiprocessing.get_context("forkserver")
FORKSERVER.set_forkserver_preload(["forked_runs"])
sys.path.insert(0, str(Path(__file__).parent))  # the forked processes import forked_runs by this name


@pytest.fixture(scope="module")
def forked_runs():
    import forked_runs

    return forked_runs


def process(target, *arguments) -> int:
    child = FORKSERVER.Process(target=target, args=arguments)
    child.start()
    child.join(240)
    assert child.exitcode is not None, "the run did not end"
    return child.exitcode


@pytest.mark.parametrize("node_id", [node.id for node in NODES])
def test_a_run_killed_in_a_node_resumes_and_pushes_once(workspace, finished, forked_runs, node_id):
    delay_s = {"Trainer": 1.0, "Transform": 1.0, "Evaluator": 0.5, "Quantizer": 1.0}.get(node_id, 0.05)
    assert process(forked_runs.run_and_die, str(workspace.dir), workspace.task, node_id, delay_s) == -signal.SIGKILL
    done = {name for name, node in workspace.last()["nodes"].items() if node["status"] == "ran"}
    assert workspace.headrace("status", workspace.task) == 0
    assert process(forked_runs.run_whole, str(workspace.dir), workspace.task) == 0
    record = workspace.last()
    assert {name for name, node in record["nodes"].items() if node["status"] == "cached"} >= done
    assert sorted(path.name for path in (workspace.runs / "serving").iterdir() if path.is_dir()) == ["1"]
    rows = finished.last()["nodes"]["ExampleGen"]["summary"]["rows"]
    assert record["nodes"]["ExampleGen"]["summary"]["rows"] == rows


def test_two_runs_at_once_push_one_version_and_both_succeed(workspace, forked_runs):
    children = [
        FORKSERVER.Process(target=forked_runs.run_whole, args=(str(workspace.dir), workspace.task)) for _ in range(2)
    ]
    for child in children:
        child.start()
    for child in children:
        child.join(240)
    assert [child.exitcode for child in children] == [0, 0]
    assert sorted(path.name for path in (workspace.runs / "serving").iterdir() if path.is_dir()) == ["1"]
    assert set(workspace.statuses().values()) == {"cached"}
