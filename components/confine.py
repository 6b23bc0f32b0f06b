"""A process that gives up reading any file but those it names: Landlock, which needs no privilege.

Source: Linux Documentation/userspace-api/landlock.rst; the numbers are those of include/uapi/linux/landlock.h and of
the system call table, which x86_64 and arm64 share here.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Sequence

CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
CREATE_RULESET_VERSION = 1
RULE_PATH_BENEATH = 1
PR_SET_NO_NEW_PRIVS = 38
EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1, 2, 4, 8
FILE_RIGHTS = EXECUTE | WRITE_FILE | READ_FILE
ALL_RIGHTS = (1 << 13) - 1  # what version 1 knows; later versions keep these bits


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
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.syscall(CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint32(CREATE_RULESET_VERSION)) < 1:
        return False
    attributes = _Ruleset(ALL_RIGHTS)
    size = ctypes.c_size_t(ctypes.sizeof(attributes))
    ruleset = libc.syscall(CREATE_RULESET, ctypes.byref(attributes), size, ctypes.c_uint32(0))
    if ruleset < 0:
        return False
    try:
        for path in readable:
            _allow(libc, ruleset, path, EXECUTE | READ_FILE | READ_DIR)
        for path in writable:
            _allow(libc, ruleset, path, ALL_RIGHTS)
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
