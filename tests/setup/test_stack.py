"""Which stack and which Python a machine gets, or the one line that says why none."""

import dataclasses

import pytest

from pipeline.errors import HeadraceError
from tools.stack import COMPAT, CURRENT, Interpreter, Machine, pick

SYSTEM_311 = Interpreter("/usr/bin/python3", (3, 11, 2), "PATH")
SYSTEM_313 = Interpreter("/usr/bin/python3", (3, 13, 5), "PATH")
PYENV_311 = Interpreter("/home/ada/.pyenv/versions/3.11.7/bin/python3", (3, 11, 7), "pyenv")
PYENV_313 = Interpreter("/home/ada/.pyenv/versions/3.13.0/bin/python3", (3, 13, 0), "pyenv")


def debian_12(*pythons, **changes):
    machine = Machine("Linux", "x86_64", (2, 36), pythons, "/usr/bin/g++", "debian-12")
    return dataclasses.replace(machine, **changes)


def debian_13(*pythons, **changes):
    return debian_12(*pythons, **{"glibc": (2, 41), "distribution": "debian-13", **changes})


def refused(machine):
    with pytest.raises(HeadraceError) as caught:
        pick(machine)
    return caught.value


def test_debian_12_with_its_own_python_311_gets_compat():
    choice = pick(debian_12(SYSTEM_311))
    assert (choice.stack, choice.python) == (COMPAT, SYSTEM_311)
    assert choice.why == (
        "glibc 2.36 is older than 2.39, so TFX 1.16 and TF 2.16; Python 3.11.2 at /usr/bin/python3"
    )


def test_debian_13_with_its_own_python_313_gets_current():
    choice = pick(debian_13(SYSTEM_313))
    assert (choice.stack, choice.python) == (CURRENT, SYSTEM_313)
    assert choice.why == (
        "glibc 2.41 is new enough for TFX 1.21 and TF 2.21; Python 3.13.5 at /usr/bin/python3"
    )


@pytest.mark.parametrize(
    ("glibc", "stack"), [((2, 38), COMPAT), ((2, 39), CURRENT), ((2, 100), CURRENT)], ids=lambda value: str(value)
)
def test_the_line_between_the_stacks_is_glibc_2_39(glibc, stack):
    assert pick(debian_12(SYSTEM_311, glibc=glibc)).stack is stack


def test_debian_12_with_only_python_313_is_told_to_install_311():
    error = refused(debian_12(PYENV_313))
    assert error.code == "HR-SETUP-002"
    assert error.what == "stack compat needs Python 3.11, and none was found"
    assert error.seen == ["Python 3.13.0 at /home/ada/.pyenv/versions/3.13.0/bin/python3"]
    assert error.fix[0] == "apt-get update && apt-get install -y python3-venv python3-dev g++"
    assert error.fix[1].startswith("pyenv install 3.11 ")


def test_ubuntu_22_04_whose_own_python_is_310_is_not_sent_to_apt_for_it():
    error = refused(debian_12(Interpreter("/usr/bin/python3", (3, 10, 12), "PATH"), distribution="ubuntu-22.04"))
    assert [line.split()[0] for line in error.fix] == ["pyenv"]


@pytest.mark.parametrize("machine", [debian_12(), debian_13()], ids=["debian 12", "debian 13"])
def test_a_machine_without_any_python_is_told_so(machine):
    error = refused(machine)
    assert (error.code, error.seen) == ("HR-SETUP-002", ["no Python at all"])


def test_pyenvs_python_is_enough():
    assert pick(debian_12(PYENV_313, PYENV_311)).python is PYENV_311


def test_the_first_python_found_that_fits_is_taken():
    assert pick(debian_13(SYSTEM_313, PYENV_311)).python is SYSTEM_313
    assert pick(debian_13(PYENV_311, SYSTEM_313)).python is PYENV_311


def test_a_python_without_headers_yields_to_a_whole_one():
    bare = dataclasses.replace(SYSTEM_311, has_headers=False)
    assert pick(debian_12(bare, PYENV_311)).python is PYENV_311


@pytest.mark.parametrize(
    "changes",
    [{"glibc": None}, {"processor": "aarch64"}, {"system": "Darwin", "glibc": None}],
    ids=["musl", "arm", "mac"],
)
def test_no_stack_runs_without_glibc_on_x86_64_linux(changes):
    error = refused(debian_12(SYSTEM_311, **changes))
    assert (error.code, error.exit_code) == ("HR-SETUP-001", 4)


@pytest.mark.parametrize(
    ("part", "lack", "package"),
    [
        ("a C++ compiler", {}, "g++"),
        ("Python's headers", {"has_headers": False}, "python3-dev"),
        ("the venv module", {"has_venv": False}, "python3-venv"),
    ],
    ids=["compiler", "headers", "venv"],
)
@pytest.mark.parametrize(("debian", "python"), [(debian_12, SYSTEM_311), (debian_13, SYSTEM_313)], ids=["12", "13"])
def test_a_missing_part_is_named_with_the_apt_line_that_brings_it(debian, python, part, lack, package):
    machine = debian(dataclasses.replace(python, **lack), compiler="/usr/bin/g++" if lack else None)
    error = refused(machine)
    assert error.code == "HR-SETUP-003"
    assert f": {part} missing" in error.what
    assert error.fix == [f"apt-get update && apt-get install -y {package}"]


def test_all_missing_parts_come_in_one_line_with_sudo_for_a_person_who_is_not_root():
    bare = dataclasses.replace(SYSTEM_311, has_headers=False, has_venv=False)
    error = refused(debian_12(bare, compiler=None, is_root=False))
    assert error.fix == ["sudo apt-get update && sudo apt-get install -y python3-venv python3-dev g++"]


def test_a_second_python_of_the_distribution_gets_its_own_packages():
    bare = Interpreter("/usr/bin/python3.12", (3, 12, 3), "PATH", has_headers=False)
    assert refused(debian_13(bare)).fix == ["apt-get update && apt-get install -y python3.12-dev"]


def test_without_apt_the_packages_are_named_all_the_same():
    error = refused(debian_12(SYSTEM_311, compiler=None, distribution="fedora-41", has_apt=False))
    assert error.fix == ["install what Debian calls g++ with this system's package manager"]


def test_a_pyenv_python_without_headers_is_reinstalled_by_pyenv():
    bare = dataclasses.replace(PYENV_311, has_headers=False)
    assert refused(debian_12(bare)).fix == ["pyenv install --force 3.11.7"]
