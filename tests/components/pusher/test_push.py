import errno
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import filelock
import pytest

from components.digest import tree_digest
from components.pusher import push as push_module
from components.pusher.push import LOCK, push, versions
from pipeline.errors import HeadraceError

ROOT = Path(__file__).parents[3]


@pytest.fixture
def model(tmp_path):
    """Return a folder laid out as a SavedModel."""
    folder = tmp_path / "model"
    (folder / "variables").mkdir(parents=True)
    (folder / "assets").mkdir()
    (folder / "saved_model.pb").write_bytes(b"graph")
    (folder / "variables" / "variables.data-00000-of-00001").write_bytes(os.urandom(5_000_000))
    return folder


@pytest.fixture
def base(tmp_path):
    return tmp_path / "serving"


def change(model, content=b"another graph"):
    (model / "saved_model.pb").write_bytes(content)


def test_the_first_push_is_version_1_with_the_same_bytes(model, base):
    pushed = push(str(model), str(base))
    assert (pushed.version, pushed.path, pushed.pushed) == (1, str(base / "1"), True)
    assert tree_digest(pushed.path) == tree_digest(str(model))
    assert sorted(os.listdir(base)) in (["1"], [LOCK, "1"])


def test_versions_count_up_from_the_highest_number(model, base):
    for name in ("2", "10", "v12", ".tmp-99", "11.partial"):
        (base / name).mkdir(parents=True)
    assert push(str(model), str(base)).version == 11
    assert not (base / ".tmp-99").exists()
    assert (base / "v12").exists()
    assert sorted(versions(str(base))) == [2, 10, 11]


def test_identical_bytes_are_not_pushed_twice(model, base, tmp_path):
    push(str(model), str(base))
    copy = shutil.copytree(model, tmp_path / "copy")
    again = push(str(copy), str(base))
    assert (again.version, again.path, again.pushed) == (1, str(base / "1"), False)
    assert again.reason == "version 1 has the same bytes"
    change(model)
    assert push(str(model), str(base)).version == 2


def test_a_model_that_was_replaced_and_comes_back_gets_a_new_number(model, base):
    push(str(model), str(base))
    change(model, b"better?")
    push(str(model), str(base))
    change(model, b"graph")
    assert (push(str(model), str(base)).version, push(str(model), str(base)).pushed) == (3, False)


def test_a_folder_without_a_saved_model_is_refused(tmp_path, base):
    (tmp_path / "empty").mkdir()
    with pytest.raises(HeadraceError, match="HR-PUSH-003"):
        push(str(tmp_path / "empty"), str(base))
    assert not base.exists()


KILLED = """
import sys
sys.path.insert(0, {root!r})
from components.pusher import push as module
plain = module.shutil.copyfileobj
def slow(reading, writing, size):
    while block := reading.read(100_000):
        writing.write(block)
        writing.flush()
        print("copying", flush=True)
        module.time_sleep(0.05)
import time
module.time_sleep = time.sleep
module.shutil.copyfileobj = slow
module.push({model!r}, {base!r})
"""


def test_kill_9_in_the_middle_of_a_push_leaves_no_half_version(model, base):
    change(model)
    code = KILLED.format(root=str(ROOT), model=str(model), base=str(base))
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as process:
        try:
            for _ in range(10):  # well inside the copy of the big file
                assert process.stdout.readline() == "copying\n"
            process.send_signal(signal.SIGKILL)
            assert process.wait(10) == -signal.SIGKILL
        finally:
            process.kill()
    assert versions(str(base)) == {}
    assert (base / ".tmp-1").exists()
    pushed = push(str(model), str(base), lock_timeout_s=1)  # the lock of a dead process is free
    assert (pushed.version, pushed.pushed) == (1, True)
    assert tree_digest(pushed.path) == tree_digest(str(model))
    assert not (base / ".tmp-1").exists()


@pytest.mark.parametrize("step", ["_verify", "_flush_folder"])
def test_a_push_that_fails_at_any_step_leaves_nothing_visible(model, base, monkeypatch, step):
    def fail(*_):
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(push_module, step, fail)
    with pytest.raises(HeadraceError, match="HR-SYS-005"):
        push(str(model), str(base))
    assert versions(str(base)) == {} and not list(base.glob(".tmp-*"))


def test_a_copy_that_differs_is_found_and_removed(model, base, monkeypatch):
    def tear(reading, writing, size):
        writing.write(reading.read()[:-1])

    monkeypatch.setattr(push_module.shutil, "copyfileobj", tear)
    with pytest.raises(HeadraceError, match="HR-PUSH-002"):
        push(str(model), str(base))
    assert versions(str(base)) == {} and not list(base.glob(".tmp-*"))


@pytest.mark.parametrize(
    ("number", "code"), [(errno.ENOSPC, "HR-SYS-001"), (errno.EACCES, "HR-SYS-002"), (errno.EROFS, "HR-SYS-003")]
)
def test_a_full_or_forbidden_disk_is_a_coded_error(model, base, monkeypatch, number, code):
    def fail(*_):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(push_module.shutil, "copyfileobj", fail)
    with pytest.raises(HeadraceError, match=code):
        push(str(model), str(base))
    assert versions(str(base)) == {} and not list(base.glob(".tmp-*"))


def test_a_full_disk_in_truth_leaves_the_version_before_it(model, base):
    push(str(model), str(base))
    change(model)
    code = (
        f"import sys, resource; sys.path.insert(0, {str(ROOT)!r})\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, 1_000_000))\n"
        "import signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "from components.pusher.push import push\n"
        f"push({str(model)!r}, {str(base)!r})"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=30)
    assert "HR-SYS-001" in done.stderr
    assert sorted(versions(str(base))) == [1] and not list(base.glob(".tmp-*"))


def test_a_second_push_waits_for_the_first_and_says_so_when_it_has_waited_enough(model, base):
    base.mkdir()
    with filelock.FileLock(base / LOCK), pytest.raises(HeadraceError) as error:
        push(str(model), str(base), lock_timeout_s=0.2)
    assert (error.value.code, error.value.family) == ("HR-PUSH-001", "transient")


def test_pushes_at_once_get_different_numbers(model, base, tmp_path):
    models = []
    for number in range(4):
        models.append(shutil.copytree(model, tmp_path / f"m{number}"))
        (models[-1] / "saved_model.pb").write_bytes(b"graph %d" % number)
    results = []
    threads = [threading.Thread(target=lambda m=m: results.append(push(str(m), str(base)))) for m in models]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sorted(result.version for result in results) == [1, 2, 3, 4]
    assert {tree_digest(result.path) for result in results} == {tree_digest(str(m)) for m in models}


def test_a_watcher_never_sees_a_version_that_is_not_whole(model, base):
    digest, stop, seen = tree_digest(str(model)), threading.Event(), []

    def watch():
        while not stop.is_set():
            for path in versions(str(base)).values() if base.exists() else ():
                seen.append(tree_digest(path))
            time.sleep(0.001)

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        push(str(model), str(base))
        time.sleep(0.05)
    finally:
        stop.set()
        watcher.join(10)
    assert seen and set(seen) == {digest}
