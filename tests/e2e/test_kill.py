"""A run killed at any moment resumes: nothing half-written is taken as done, nothing is pushed twice."""

import multiprocessing
import os
import signal
import threading

import pytest

from pipeline.nodes import NODES

pytestmark = [pytest.mark.tf, pytest.mark.slow]
FORKSERVER = multiprocessing.get_context("forkserver")
FORKSERVER.set_forkserver_preload(["tests.e2e.preload"])


class Killer:
    """A view that kills its own process some time after a node has started."""

    def __init__(self, node_id: str, delay_s: float):
        self.node_id, self.delay_s = node_id, delay_s

    def node_started(self, node_id):
        if node_id == self.node_id:
            threading.Timer(self.delay_s, os.kill, (os.getpid(), signal.SIGKILL)).start()

    def __getattr__(self, name):
        return lambda *arguments: None


def run_and_die(folder: str, task: str, node_id: str, delay_s: float) -> None:
    os.chdir(folder)
    from pipeline.config.load import load_task
    from pipeline.local import runner

    runner.run(runner.Request(load_task(task)), Killer(node_id, delay_s))
    os.kill(os.getpid(), signal.SIGKILL)  # the node was quicker than the timer: die right after the run


def run_whole(folder: str, task: str) -> None:
    os.chdir(folder)
    from pipeline.config.load import load_task
    from pipeline.local import runner

    record = runner.run(runner.Request(load_task(task)), Killer("", 0))
    raise SystemExit(0 if record["status"] == "succeeded" else 1)


def process(target, *arguments) -> int:
    child = FORKSERVER.Process(target=target, args=arguments)
    child.start()
    child.join(240)
    assert child.exitcode is not None, "the run did not end"
    return child.exitcode


@pytest.mark.parametrize("node_id", [node.id for node in NODES])
def test_a_run_killed_in_a_node_resumes_and_pushes_once(workspace, finished, node_id):
    delay_s = {"Trainer": 1.0, "Transform": 1.0, "Evaluator": 0.5, "Quantizer": 1.0}.get(node_id, 0.05)
    assert process(run_and_die, str(workspace.dir), workspace.task, node_id, delay_s) == -signal.SIGKILL
    done = {name for name, node in workspace.last()["nodes"].items() if node["status"] == "ran"}
    assert workspace.headrace("status", workspace.task) == 0
    assert process(run_whole, str(workspace.dir), workspace.task) == 0
    record = workspace.last()
    assert {name for name, node in record["nodes"].items() if node["status"] == "cached"} >= done
    assert sorted(path.name for path in (workspace.runs / "serving").iterdir() if path.is_dir()) == ["1"]
    rows = finished.last()["nodes"]["ExampleGen"]["summary"]["rows"]
    assert record["nodes"]["ExampleGen"]["summary"]["rows"] == rows


def test_two_runs_at_once_push_one_version_and_both_succeed(workspace):
    children = [FORKSERVER.Process(target=run_whole, args=(str(workspace.dir), workspace.task)) for _ in range(2)]
    for child in children:
        child.start()
    for child in children:
        child.join(240)
    assert [child.exitcode for child in children] == [0, 0]
    assert sorted(path.name for path in (workspace.runs / "serving").iterdir() if path.is_dir()) == ["1"]
    assert set(workspace.statuses().values()) == {"cached"}
