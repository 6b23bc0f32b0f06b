"""For the tests of ingestion: act as a user without rights, write small images."""

import contextlib
import os

import pytest

NOBODY = 65534


@pytest.fixture
def another_user():
    """Return a context manager inside which root's rights do not hold; other users keep their own."""

    @contextlib.contextmanager
    def become():
        if os.geteuid() != 0:
            yield
            return
        os.seteuid(NOBODY)
        try:
            yield
        finally:
            os.seteuid(0)

    return become
