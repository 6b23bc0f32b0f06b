"""What the set-up sees of a machine."""

import os
import platform
import sys
from pathlib import Path

import pytest

from tools import machine


def fake_python(path, answer, status=0):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\necho '{answer}'\nexit {status}\n")
    path.chmod(0o755)
    return path


def facts(path, version):
    return f'{{"path": "{path}", "version": [{version}], "has_venv": true, "has_headers": false}}'


def test_this_python_is_found_as_what_it_is():
    python = machine.probe(Path(sys.executable), Path("/nowhere"))
    assert python.version == sys.version_info[:3]
    assert os.path.samefile(python.path, sys._base_executable)
    assert python.source == "PATH"


def test_glibc_agrees_with_platform():
    name, version = platform.libc_ver()
    assert name == "glibc"
    assert ".".join(map(str, machine.read_glibc())) == version


@pytest.mark.parametrize("answer", ["", "musl 1.2.5"], ids=["none", "musl"])
def test_another_c_library_is_no_glibc(monkeypatch, answer):
    monkeypatch.setattr(os, "confstr", lambda name: answer)
    assert machine.read_glibc() is None


def test_every_folder_of_path_is_searched_past_a_hollow_shim(tmp_path):
    fake_python(tmp_path / "shims/python3", "pyenv: python3: command not found", status=127)
    real = fake_python(tmp_path / "usr/bin/python3", facts(tmp_path / "usr/bin/python3", "3, 11, 2"))
    environ = {"PATH": f"{tmp_path}/shims:{tmp_path}/usr/bin", "HOME": str(tmp_path)}
    assert [(python.path, python.version) for python in machine.find_pythons(environ)] == [(str(real), (3, 11, 2))]


def test_pyenvs_versions_are_found_newest_first_without_pyenv_on_path(tmp_path):
    for version in ("3.9.18", "3.11.7", "3.13.0", "3.12-dev"):
        path = tmp_path / ".pyenv/versions" / version / "bin/python3"
        fake_python(path, facts(path, version.replace(".", ", ")))
    found = list(machine.find_pythons({"PATH": "", "HOME": str(tmp_path)}))
    assert [python.version for python in found] == [(3, 13, 0), (3, 11, 7)]
    assert {python.source for python in found} == {"pyenv"}


def test_a_python_with_two_names_counts_once(tmp_path):
    path = fake_python(tmp_path / "python3.11", facts(tmp_path / "python3.11", "3, 11, 2"))
    (tmp_path / "python3").symlink_to(path)
    assert len(list(machine.find_pythons({"PATH": str(tmp_path), "HOME": str(tmp_path)}))) == 1


def test_the_distribution_is_read_with_and_without_quotes(tmp_path):
    release = tmp_path / "os-release"
    release.write_text('NAME="Debian GNU/Linux"\nVERSION_ID="13"\nID=debian\n\n# a comment\n')
    assert machine.read_distribution(release) == "debian-13"
    assert machine.read_distribution(tmp_path / "none") == ""
