"""A run killed at any moment resumes: nothing half-written is taken as done, nothing is pushed twice."""

import multiprocessing
import signal
from pathlib import Path

import pytest

from pipeline.nodes import NODES

pytestmark = [pytest.mark.tf, pytest.mark.slow, pytest.mark.timeout(1500)]
MIDWAY_S = {"Trainer": 1.0, "Transform": 1.0, "Evaluator": 0.5, "Quantizer": 1.0, "InfraValidator": 1.0}
FORKSERVER = multiprocessing.get_context("forkserver")
FORKSERVER.set_forkserver_preload(["forked_runs"])
FOLDER = Path(__file__).resolve().parent


@pytest.fixture(scope="module")
def forked_runs():
    """The module that the forkserver has imported; it finds it by PYTHONPATH, its own sys.path is a bare one."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", f"{FOLDER}:{FOLDER.parents[1]}")
        patch.syspath_prepend(FOLDER)
        import forked_runs

        yield forked_runs


def process(target, *arguments) -> int:
    child = FORKSERVER.Process(target=target, args=arguments)
    child.start()
    child.join(600)
    assert child.exitcode is not None, "the run did not end"
    return child.exitcode


def test_a_run_killed_in_every_node_in_turn_resumes_and_pushes_once(workspace, forked_runs):
    """One workspace: each attempt takes what the ones before finished, and dies in the next node."""
    done: set[str] = set()
    for node in NODES:
        delay_s = MIDWAY_S.get(node.id, 0.05)
        code = process(forked_runs.run_and_die, str(workspace.dir), workspace.task, node.id, delay_s)
        assert code == -signal.SIGKILL, node.id
        statuses = workspace.statuses()
        assert {name for name, status in statuses.items() if status == "cached"} >= done, node.id
        done |= {name for name, status in statuses.items() if status in ("ran", "cached")}
        assert workspace.headrace("status", workspace.task) == 0
    assert process(forked_runs.run_whole, str(workspace.dir), workspace.task) == 0
    assert {name for name, status in workspace.statuses().items() if status == "cached"} >= done
    assert sorted(path.name for path in (workspace.runs / "serving").iterdir() if path.is_dir()) == ["1"]
    rows = workspace.last()["nodes"]["ExampleGen"]["summary"]["rows"]
    assert sum(rows.values()) == 569
    assert set(workspace.last()["nodes"]) == {node.id for node in NODES}


def test_two_runs_at_once_push_one_version_and_both_succeed(workspace, forked_runs):
    children = [
        FORKSERVER.Process(target=forked_runs.run_whole, args=(str(workspace.dir), workspace.task)) for _ in range(2)
    ]
    for child in children:
        child.start()
    for child in children:
        child.join(600)
    assert [child.exitcode for child in children] == [0, 0]
    assert sorted(path.name for path in (workspace.runs / "serving").iterdir() if path.is_dir()) == ["1"]
    assert set(workspace.statuses().values()) == {"cached"}
