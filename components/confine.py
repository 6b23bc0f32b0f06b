"""A process that gives up reading or writing any file but those it names: Landlock, which needs no privilege.

`python components/confine.py --writable DIR ... -- COMMAND` starts a command that writes nowhere else and that does not
outlive the process that started it.

Source: Linux Documentation/userspace-api/landlock.rst; the numbers are those of include/uapi/linux/landlock.h,
include/uapi/linux/prctl.h and of the system call table, which x86_64 and arm64 share here.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from collections.abc import Sequence

CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
CREATE_RULESET_VERSION = 1
RULE_PATH_BENEATH = 1
PR_SET_PDEATHSIG, PR_SET_NO_NEW_PRIVS = 1, 38
EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1, 2, 4, 8
REFER, TRUNCATE = 1 << 13, 1 << 14  # known since version 2 and version 3
READ_RIGHTS = EXECUTE | READ_FILE | READ_DIR
ALL_RIGHTS = (1 << 13) - 1  # what version 1 knows; later versions keep these bits
FILE_RIGHTS = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE
CANNOT_START = 127  # the shell's code for a command that is not there


class _Ruleset(ctypes.Structure):
    _fields_ = [("handled_access_fs", ctypes.c_uint64)]


class _PathBeneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = [("allowed_access", ctypes.c_uint64), ("parent_fd", ctypes.c_int32)]


def confine(readable: Sequence[str], writable: Sequence[str]) -> bool:
    """Forbid this thread and all that it starts, for good, all other files; say whether the kernel offers that.

    Call it before any library starts threads.

    Args:
        readable: files and folders that may be read and executed.
        writable: files and folders with which anything may be done.
    """
    if version() < 1:
        return False
    return _restrict(ALL_RIGHTS, [(path, READ_RIGHTS) for path in readable] + [(path, ALL_RIGHTS) for path in writable])


def confine_writing(writable: Sequence[str]) -> bool:
    """Forbid this thread and all that it starts, for good, to write outside of `writable`; reading stays free.

    Returns: whether the kernel offers that. Version 1 does not: it forbids every rename between two folders.
    """
    known = version()
    if known < 2:
        return False
    rights = (ALL_RIGHTS & ~READ_RIGHTS) | REFER | (TRUNCATE if known >= 3 else 0)
    return _restrict(rights, [(path, rights) for path in writable])


def version() -> int:
    """Return the version of Landlock that the kernel offers; 0 or less for none."""
    libc = ctypes.CDLL(None, use_errno=True)
    return libc.syscall(CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint32(CREATE_RULESET_VERSION))


def _restrict(handled: int, allowed: Sequence[tuple[str, int]]) -> bool:
    libc = ctypes.CDLL(None, use_errno=True)
    attributes = _Ruleset(handled)
    size = ctypes.c_size_t(ctypes.sizeof(attributes))
    ruleset = libc.syscall(CREATE_RULESET, ctypes.byref(attributes), size, ctypes.c_uint32(0))
    if ruleset < 0:
        return False
    try:
        for path, rights in allowed:
            _allow(libc, ruleset, path, rights)
        if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0):
            return False
        return libc.syscall(RESTRICT_SELF, ruleset, ctypes.c_uint32(0)) == 0
    finally:
        os.close(ruleset)


def _allow(libc: ctypes.CDLL, ruleset: int, path: str, rights: int) -> None:
    try:
        parent = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return  # not there, so there is nothing to allow
    try:
        if not os.path.isdir(path):
            rights &= FILE_RIGHTS
        rule = _PathBeneath(rights, parent)
        libc.syscall(ADD_RULE, ruleset, RULE_PATH_BENEATH, ctypes.byref(rule), ctypes.c_uint32(0))
    finally:
        os.close(parent)


def main(arguments: Sequence[str]) -> int:
    """Become the command after `--`, which may write only in the folders that `--writable` names."""
    split = arguments.index("--")
    writable, command = [path for path in arguments[:split] if path != "--writable"], arguments[split + 1 :]
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if writable and not confine_writing(writable):
        print("the kernel does not confine writing", file=sys.stderr)
        return CANNOT_START
    try:
        os.execvp(command[0], command)
    except OSError as error:
        print(f"cannot start {command[0]}: {error.strerror}", file=sys.stderr)
        return CANNOT_START


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
