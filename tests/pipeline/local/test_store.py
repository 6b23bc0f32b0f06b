"""What runs leave on disk: whole records only, one run at a time, nothing left by the killed."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from pipeline.errors import HeadraceError
from pipeline.local.store import Store, read_json, write_json

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def store(tmp_path):
    found = Store(str(tmp_path), "demo")
    found.dir.mkdir()
    (found.dir / "metadata.sqlite").touch()
    return found


def a_record(store, key="k1", content="x") -> dict:
    uri = store.dir / "artifacts" / "ExampleGen" / "examples" / "1"
    uri.mkdir(parents=True, exist_ok=True)
    (uri / "data").write_text(content)
    return {
        "key": key,
        "run_id": "r",
        "parts": {},
        "summary": {},
        "stop": None,
        "elapsed_s": 1.0,
        "outputs": {"examples": {"type": "Examples", "uri": str(uri), "digest": "d", "mlmd_id": 1}},
    }


def a_run(store, status="running", pid=None) -> dict:
    run = {"run_id": store.new_run(), "status": status, "pid": pid or os.getpid(), "nodes": [{"status": status}]}
    store.save_run(run)
    return run


def test_a_record_is_found_by_its_key_while_its_outputs_are_there(store):
    store.save_record("ExampleGen", a_record(store))
    assert store.record("ExampleGen", "k1")["outputs"]["examples"]["digest"] == "d"
    assert store.record("ExampleGen", "k2") is None


def test_a_record_whose_output_was_cut_short_no_longer_counts(store):
    record = a_record(store, content="whole")
    store.save_record("ExampleGen", record)
    with open(os.path.join(record["outputs"]["examples"]["uri"], "data"), "w") as file:
        file.write("who")
    assert store.record("ExampleGen", "k1") is None


def test_a_record_whose_output_is_gone_no_longer_counts(store):
    record = a_record(store)
    store.save_record("ExampleGen", record)
    os.remove(os.path.join(record["outputs"]["examples"]["uri"], "data"))
    assert store.record("ExampleGen", "k1") is None


def test_a_push_counts_only_while_the_pushed_version_is_there(store, tmp_path):
    version = tmp_path / "serving" / "1"
    version.mkdir(parents=True)
    store.save_record("Pusher", {**a_record(store), "outputs": {}, "summary": {"path": str(version)}})
    assert store.record("Pusher", "k1") is not None
    version.rmdir()
    assert store.record("Pusher", "k1") is None


def test_a_record_that_was_not_written_whole_reads_as_none(store):
    store.save_record("ExampleGen", a_record(store))
    path = store.dir / "records" / "ExampleGen" / "k1.json"
    path.write_text(path.read_text()[:40])
    assert store.record("ExampleGen", "k1") is None


def test_sweeping_deletes_artifacts_that_no_record_names(store):
    record = a_record(store)
    store.save_record("ExampleGen", record)
    orphan = store.dir / "artifacts" / "Trainer" / "model" / "7"
    orphan.mkdir(parents=True)
    store.sweep()
    assert not orphan.exists()
    assert os.path.isdir(record["outputs"]["examples"]["uri"])


def test_without_the_metadata_store_no_record_counts(store):
    store.save_record("ExampleGen", a_record(store))
    (store.dir / "metadata.sqlite").unlink()
    store.sweep()
    assert store.record("ExampleGen", "k1") is None


def test_run_ids_of_one_second_differ(store):
    assert len({store.new_run() for _ in range(5)}) == 5


def test_a_run_whose_process_is_gone_reads_as_interrupted(store):
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait(60)
    a_run(store, pid=process.pid)
    assert store.run()["status"] == "interrupted"
    store.mark_interrupted()
    assert read_json(next(store.dir.glob("*/run.json")))["nodes"][0]["status"] == "interrupted"


def test_an_unknown_run_is_refused_with_those_that_exist(store):
    run = a_run(store, "succeeded")
    with pytest.raises(HeadraceError, match="HR-CLI-003") as caught:
        store.run("1999")
    assert run["run_id"] in caught.value.seen[0]


def test_a_run_may_be_named_by_the_start_of_its_id(store):
    run = a_run(store, "succeeded")
    assert store.run(run["run_id"][:10])["run_id"] == run["run_id"]


HOLD = """
import sys, time
from pipeline.local.store import Store

with Store(sys.argv[1], "demo").locked(on_wait=lambda pid: None):
    with open(sys.argv[2], "a") as file:
        print("in", file=file)
    time.sleep(0.3)
    with open(sys.argv[2], "a") as file:
        print("out", file=file)
"""


def test_two_runs_of_one_task_follow_each_other(tmp_path):
    log = tmp_path / "log"
    runs = [subprocess.Popen([sys.executable, "-c", HOLD, str(tmp_path), str(log)], cwd=ROOT) for _ in range(3)]
    assert [process.wait(60) for process in runs] == [0, 0, 0]
    assert log.read_text().split() == ["in", "out"] * 3


def test_json_is_written_whole_or_not_at_all(tmp_path):
    path = tmp_path / "x.json"
    write_json(path, {"a": 1})
    with pytest.raises(TypeError):
        write_json(path, {"a": object()})
    assert json.loads(path.read_text()) == {"a": 1}
