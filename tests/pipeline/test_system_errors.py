"""Faults of the operating system, real ones where the system can be made to fail."""

import errno
import os

import pytest

from pipeline.errors import HeadraceError
from pipeline.system_errors import coded_os_errors, translate_os_error


@pytest.mark.parametrize(
    ("number", "code"),
    [
        (errno.ENOSPC, "HR-SYS-001"),
        (errno.EDQUOT, "HR-SYS-001"),
        (errno.EFBIG, "HR-SYS-001"),
        (errno.EACCES, "HR-SYS-002"),
        (errno.EPERM, "HR-SYS-002"),
        (errno.EROFS, "HR-SYS-003"),
        (errno.EMFILE, "HR-SYS-004"),
        (errno.ENFILE, "HR-SYS-004"),
        (errno.EIO, "HR-SYS-005"),
        (errno.ENOENT, "HR-SYS-005"),
    ],
)
def test_each_errno_has_its_code_with_the_path_and_a_fix(number, code, tmp_path):
    path = tmp_path / "none" / "x"
    error = translate_os_error(OSError(number, os.strerror(number)), path)
    assert error.code == code
    assert str(path) in error.what
    assert error.fix
    assert error.exit_code == 4


def test_a_real_full_disk_is_named():
    full = pytest.raises(HeadraceError, match="HR-SYS-001")
    with full as caught, coded_os_errors("/dev/full"), open("/dev/full", "w") as file:
        file.write("x")
    assert caught.value.what == "disk full while writing /dev/full"


def test_the_path_of_the_exception_is_preferred():
    error = translate_os_error(PermissionError(errno.EACCES, "Permission denied", "/a/b"), "/a")
    assert error.what == "no permission for /a/b"


def test_other_errors_pass_unchanged(tmp_path):
    with pytest.raises(ZeroDivisionError), coded_os_errors(tmp_path):
        1 / 0  # noqa: B018
    with pytest.raises(HeadraceError, match="HR-DATA-001"), coded_os_errors(tmp_path):
        raise HeadraceError("HR-DATA-001", "permission denied is part of this text")


@pytest.mark.tf
def test_tensorflows_full_disk_and_missing_permission_are_recognised():
    import tensorflow as tf

    full = pytest.raises(HeadraceError, match="HR-SYS-001")
    with full, coded_os_errors("/dev/full"), tf.io.TFRecordWriter("/dev/full") as writer:
        writer.write(b"x" * 1_000_000)
    with pytest.raises(HeadraceError, match="HR-SYS-002"), coded_os_errors("/x"):
        raise tf.errors.PermissionDeniedError(None, None, "/x; Permission denied")
