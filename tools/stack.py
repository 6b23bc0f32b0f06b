"""Which locked stack fits a machine: pure decisions on facts that `tools/build_venv.py` gathers. Standard library only.

Runs under any Python from 3.9, because it runs before there is a virtual environment.
"""

from __future__ import annotations

from dataclasses import dataclass

from pipeline.errors import HeadraceError

Version = tuple


@dataclass(frozen=True)
class Stack:
    """One full set of locked versions: requirements/<name>.lock."""

    name: str
    pythons: tuple
    tfx: str
    tensorflow: str


CURRENT = Stack("current", ((3, 13), (3, 12), (3, 11)), "1.21", "2.21")
COMPAT = Stack("compat", ((3, 11),), "1.16", "2.16")
CURRENT_GLIBC = (2, 39)  # ml-metadata 1.21 and TFDV 1.21 wheels are manylinux_2_39
DISTRIBUTION_PYTHON = {"debian-12": (3, 11), "debian-13": (3, 13), "ubuntu-24.04": (3, 12)}


@dataclass(frozen=True)
class Interpreter:
    """One Python found on the machine; `source` is `PATH` or `pyenv`."""

    path: str
    version: Version
    source: str
    has_venv: bool = True
    has_headers: bool = True


@dataclass(frozen=True)
class Machine:
    """What decides the stack. `glibc` is None where the C library is another one."""

    system: str
    processor: str
    glibc: Version | None
    pythons: tuple
    compiler: str | None
    distribution: str = ""
    has_apt: bool = True
    is_root: bool = True


@dataclass(frozen=True)
class Choice:
    """The stack, the Python to build it with, and the reason in one line."""

    stack: Stack
    python: Interpreter
    why: str


def pick(machine: Machine) -> Choice:
    """Return the stack for `machine` and the Python to build it with.

    Pythons are tried in the order found: the person's PATH first, then pyenv's. A complete one goes before one that
    lacks its venv module or headers.

    Raises:
        HeadraceError: HR-SETUP-001 no stack runs here, HR-SETUP-002 no fitting Python, HR-SETUP-003 parts missing.
    """
    stack = _stack_for(machine)
    fitting = [python for python in machine.pythons if python.version[:2] in stack.pythons]
    if not fitting:
        raise _no_python(machine, stack)
    python = next((python for python in fitting if python.has_venv and python.has_headers), fitting[0])
    if missing := _missing_parts(machine, python):
        raise HeadraceError(
            "HR-SETUP-003",
            f"stack {stack.name} cannot be built yet: {', '.join(missing)} missing",
            seen=[_named(python)],
            expected="a C++ compiler, and Python's venv module and headers: one package is built from source",
            fix=_fix_parts(machine, python),
        )
    return Choice(stack, python, f"{_glibc_reason(machine, stack)}; {_named(python)}")


def dotted(version: Version) -> str:
    """Return (3, 13, 5) as `3.13.5`."""
    return ".".join(map(str, version))


def _named(python: Interpreter) -> str:
    return f"Python {dotted(python.version)} at {python.path}"


def _stack_for(machine: Machine) -> Stack:
    if (machine.system, machine.processor) != ("Linux", "x86_64") or machine.glibc is None:
        libc = f"glibc {dotted(machine.glibc)}" if machine.glibc else "no glibc"
        raise HeadraceError(
            "HR-SETUP-001",
            "no stack runs on this machine",
            seen=[f"{machine.system} {machine.processor}, {libc}"],
            expected="Linux on x86_64 with glibc: TFX's native packages exist for nothing else",
            fix=["use Debian 12, Debian 13, Ubuntu 22.04 or 24.04, or build the image: docker build -t headrace ."],
        )
    return CURRENT if machine.glibc >= CURRENT_GLIBC else COMPAT


def _glibc_reason(machine: Machine, stack: Stack) -> str:
    relation = "is new enough for" if stack is CURRENT else f"is older than {dotted(CURRENT_GLIBC)}, so"
    return f"glibc {dotted(machine.glibc)} {relation} TFX {stack.tfx} and TF {stack.tensorflow}"


def _no_python(machine: Machine, stack: Stack) -> HeadraceError:
    wanted = " or ".join(dotted(version) for version in reversed(stack.pythons))
    fix = []
    if DISTRIBUTION_PYTHON.get(machine.distribution) in stack.pythons:
        fix.append(_apt(machine, ["python3-venv", "python3-dev", "g++"]))
    fix.append(f"pyenv install {dotted(stack.pythons[0])}   (no further settings needed)")
    return HeadraceError(
        "HR-SETUP-002",
        f"stack {stack.name} needs Python {wanted}, and none was found",
        seen=[_named(python) for python in machine.pythons] or ["no Python at all"],
        expected=f"Python {wanted}: {_glibc_reason(machine, stack)}",
        fix=fix,
    )


def _missing_parts(machine: Machine, python: Interpreter) -> list[str]:
    parts = [
        ("the venv module", python.has_venv),
        ("Python's headers", python.has_headers),
        ("a C++ compiler", machine.compiler),
    ]
    return [name for name, present in parts if not present]


def _fix_parts(machine: Machine, python: Interpreter) -> list[str]:
    own = python.version[:2] == DISTRIBUTION_PYTHON.get(machine.distribution)
    prefix = "python3" if own else f"python{dotted(python.version[:2])}"
    fix, packages = [], []
    if python.source == "pyenv" and not (python.has_venv and python.has_headers):
        fix.append(f"pyenv install --force {dotted(python.version)}")
    elif python.source != "pyenv":
        packages += [f"{prefix}-venv"] * (not python.has_venv) + [f"{prefix}-dev"] * (not python.has_headers)
    packages += ["g++"] * (not machine.compiler)
    return fix + ([_apt(machine, packages)] if packages else [])


def _apt(machine: Machine, packages: list[str]) -> str:
    if not machine.has_apt:
        return f"install what Debian calls {' '.join(packages)} with this system's package manager"
    sudo = "" if machine.is_root else "sudo "
    return f"{sudo}apt-get update && {sudo}apt-get install -y {' '.join(packages)}"
