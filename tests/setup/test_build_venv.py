"""The set-up is redone when anything it depends on changed, and never trusts half a .venv."""

import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pipeline.errors import HeadraceError
from tools import build_venv
from tools.stack import COMPAT, Choice, Interpreter

REPOSITORY = Path(__file__).parents[2]
INPUTS = ("requirements/compat.lock", "requirements/build.lock", "requirements/uv.lock", "setup.py")
PYTHON = Interpreter("/usr/bin/python3", (3, 11, 2), "PATH")


@pytest.fixture
def built(tmp_path, monkeypatch):
    """A folder that was set up to the end, without the packages."""
    for name in INPUTS:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(REPOSITORY / name, tmp_path / name)
    for name in ("python", "headrace"):
        (tmp_path / ".venv/bin").mkdir(parents=True, exist_ok=True)
        (tmp_path / ".venv/bin" / name).touch()
    (tmp_path / ".tools").mkdir()
    monkeypatch.setattr(build_venv, "ROOT", tmp_path)
    monkeypatch.setattr(build_venv, "VENV", tmp_path / ".venv")
    monkeypatch.setattr(build_venv, "TOOLS", tmp_path / ".tools")
    monkeypatch.setattr(build_venv, "LOG", tmp_path / ".tools/setup.log")
    build_venv.write_stamp(Choice(COMPAT, PYTHON, ""))
    return tmp_path


def test_a_finished_setup_is_recognised_at_once(built, capsys):
    started = time.monotonic()
    assert build_venv.main() == 0
    assert time.monotonic() - started < 0.5
    assert capsys.readouterr().out == "  setup      stack compat, Python 3.11.2: .venv is up to date\n"


@pytest.mark.parametrize("name", INPUTS)
def test_a_changed_file_asks_for_a_new_setup(built, name):
    assert build_venv.finished_stamp(built / ".venv")
    with (built / name).open("a") as file:
        file.write("# changed\n")
    assert build_venv.finished_stamp(built / ".venv") is None


def test_the_lock_of_the_other_stack_does_not_matter(built):
    (built / "requirements/current.lock").write_text("changed")
    assert build_venv.finished_stamp(built / ".venv")


def test_a_moved_folder_asks_for_a_new_setup(built, monkeypatch):
    monkeypatch.setattr(build_venv, "ROOT", Path(shutil.copytree(built, built.parent / "moved")))
    assert build_venv.finished_stamp(build_venv.ROOT / ".venv") is None


def test_another_glibc_asks_for_a_new_setup(built, monkeypatch):
    monkeypatch.setattr(build_venv, "read_glibc", lambda: (2, 99))
    assert build_venv.finished_stamp(built / ".venv") is None


@pytest.mark.parametrize("lost", ["headrace-stack.json", "bin/python", "bin/headrace"])
def test_half_a_venv_is_never_taken_as_done(built, lost):
    (built / ".venv" / lost).unlink()
    assert build_venv.finished_stamp(built / ".venv") is None


def test_a_garbled_stamp_is_never_taken_as_done(built):
    (built / ".venv/headrace-stack.json").write_text('{"stack": "com')
    assert build_venv.finished_stamp(built / ".venv") is None


def test_the_old_stamp_is_gone_before_the_new_build_starts(built, monkeypatch):
    seen = []

    def interrupted(label, what, command, environ):
        seen.append((label, build_venv.finished_stamp(built / ".venv")))
        if command[1:3] == ["pip", "install"]:
            raise KeyboardInterrupt

    monkeypatch.setattr(build_venv, "run", interrupted)
    monkeypatch.setattr(build_venv, "install_uv", lambda python: built / "uv")
    monkeypatch.setattr(build_venv, "index_settings", lambda pip: {})
    with pytest.raises(KeyboardInterrupt):
        build_venv.build(Choice(COMPAT, PYTHON, ""))
    assert seen[-1] == ("packages", None)
    assert build_venv.finished_stamp(built / ".venv") is None


def test_a_failing_installer_is_one_coded_error_with_its_last_words(built):
    script = "import sys; [print('line', n, flush=True) for n in range(9)]; sys.exit('error: hash mismatch')"
    with pytest.raises(HeadraceError) as caught:
        build_venv.run("packages", "3 pinned", [sys.executable, "-c", script], os.environ)
    assert caught.value.code == "HR-SETUP-004"
    assert len(caught.value.seen) == 5
    assert "error: hash mismatch" in caught.value.seen
    assert (built / ".tools/setup.log").read_text().count("line") == 9


def test_a_full_disk_is_told_before_anything_is_removed(built):
    shutil.rmtree(built / ".venv")
    with pytest.raises(HeadraceError, match="HR-SETUP-005"):
        build_venv.require_space(built, needed_bytes=2**62)


def test_a_mirror_set_for_pip_is_passed_to_uv(tmp_path, monkeypatch):
    monkeypatch.delenv("UV_DEFAULT_INDEX", raising=False)
    monkeypatch.setenv("SSL_CERT_FILE", "/kept")
    pip = tmp_path / "pip"
    pip.write_text("#!/bin/sh\necho \":env:.cert='/etc/ca.crt'\"\necho \"global.index-url='http://localhost:1/simple'\"\n")
    pip.chmod(0o755)
    assert build_venv.index_settings(pip) == {"UV_DEFAULT_INDEX": "http://localhost:1/simple"}


def start_setup(folder, seconds):
    """Start a process that holds the set-up's lock while its installer runs; return it once the installer does."""
    script = f"""
import os, pathlib
from tools import build_venv
build_venv.LOG = pathlib.Path({str(folder / "log")!r})
with open({str(folder / ".tools/lock")!r}, "w") as lock:
    build_venv.wait_for_turn(lock)
    build_venv.run("packages", "", ["sh", "-c", "touch {folder}/installing; exec sleep {seconds}"], os.environ)
"""
    process = subprocess.Popen([sys.executable, "-c", script], cwd=REPOSITORY)
    while not (folder / "installing").exists():
        assert process.poll() is None
        time.sleep(0.01)
    return process


def test_two_setups_at_once_take_turns(built, capsys):
    with start_setup(built, seconds=0.5):
        assert build_venv.main() == 0
    assert capsys.readouterr().out.splitlines()[0].endswith("waiting for another set-up of this folder to end")


def test_the_installer_of_a_killed_setup_is_waited_for(built):
    with start_setup(built, seconds=1) as first:
        started = time.monotonic()
        first.kill()
        assert build_venv.main() == 0
    assert time.monotonic() - started > 0.5


def test_a_machine_without_python_gets_one_coded_line(tmp_path):
    """`tools/setup` alone, where no Python exists: sh with an empty PATH but for dirname and cat."""
    script = (REPOSITORY / "tools/setup").read_text().replace("/usr/bin/python3", "/nowhere/python3")
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools/setup").write_text(script)
    (tmp_path / "bin").mkdir()
    for name in ("dirname", "cat"):
        (tmp_path / "bin" / name).symlink_to(shutil.which(name))
    environ = {"PATH": str(tmp_path / "bin"), "HOME": str(tmp_path)}
    answer = subprocess.run(
        ["/bin/sh", str(tmp_path / "tools/setup")], env=environ, capture_output=True, text=True, timeout=60, check=False
    )
    assert answer.returncode == 4
    assert answer.stderr.startswith("HR-SETUP-002  there is no Python 3.9 or newer")
    assert "apt-get install -y python3-venv python3-dev g++" in answer.stderr


@pytest.mark.parametrize("stack", ["compat", "current", "build", "uv"])
def test_locks_pin_every_package_with_a_hash_and_name_no_address(stack):
    text = (REPOSITORY / f"requirements/{stack}.lock").read_text()
    assert "://" not in text
    packages = re.split(r"(?m)^(?=\S)", text)[1:]
    assert packages
    for package in packages:
        assert re.match(r"[a-z0-9-]+==\S+", package)
        assert "--hash=sha256:" in package


def test_the_stamp_says_which_stack_was_built(built):
    stamp = json.loads((built / ".venv/headrace-stack.json").read_text())
    assert (stamp["stack"], stamp["python"]) == ("compat", "3.11.2")
