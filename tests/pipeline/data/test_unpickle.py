"""Only arrays come out of a pickle, and nothing that it names is run."""

import os
import pickle

import numpy as np
import pytest

from pipeline.data.unpickle import load_arrays
from pipeline.errors import HeadraceError

# What Python 2 wrote for numpy.array([1.0, 0.5], "<f4"): byte strings instead of text, decoded as latin1.
PYTHON2_ARRAY = (
    b"\x80\x02cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\x00\x85U\x01b\x87R"
    b"(K\x01K\x02\x85cnumpy\ndtype\nU\x02f4K\x00K\x01\x87R(K\x03U\x01<NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb"
    b"\x89U\x08\x00\x00\x80?\x00\x00\x00?tb."
)


class _Runs:
    """Pickles as a call of `os.mkdir`."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (str(self.path),)


def test_a_python_2_array_is_read():
    found = load_arrays(PYTHON2_ARRAY, "x")
    assert found.dtype == np.float32
    assert found.tolist() == [1.0, 0.5]


@pytest.mark.parametrize("protocol", range(2, 5))
def test_arrays_of_python_3_are_read(protocol):
    wanted = (np.arange(6, dtype=np.float32).reshape(2, 3), [np.array([1, -2])])
    found = load_arrays(pickle.dumps(wanted, protocol=protocol), "x")
    np.testing.assert_array_equal(found[0], wanted[0])
    np.testing.assert_array_equal(found[1][0], wanted[1][0])


@pytest.mark.parametrize("protocol", range(5))
def test_a_pickle_that_calls_a_function_is_refused_before_it_runs(tmp_path, protocol):
    target = tmp_path / "made"
    data = pickle.dumps([np.zeros(2), _Runs(target)], protocol=protocol)
    with pytest.raises(HeadraceError, match="HR-DATA-106") as caught:
        load_arrays(data, "mnist.pkl")
    assert "mkdir" in caught.value.seen[0]
    assert not target.exists()


@pytest.mark.parametrize(
    "name", [b"builtins\neval", b"os\nsystem", b"numpy\nload", b"numpy.core.multiarray\nfromfile", b"__builtin__\nexec"]
)
def test_any_other_name_is_refused(name):
    with pytest.raises(HeadraceError, match="HR-DATA-106"):
        load_arrays(b"c" + name + b"\n(S'1'\ntR.", "x")


@pytest.mark.parametrize("data", [b"", b"\x80\x02", PYTHON2_ARRAY[:-20], b"not a pickle"])
def test_a_damaged_pickle_is_refused(data):
    with pytest.raises(HeadraceError, match="HR-DATA-106"):
        load_arrays(data, "x")


def test_an_array_of_objects_cannot_smuggle_a_call(tmp_path):
    target = tmp_path / "made"
    array = np.array([None, _Runs(target)], dtype=object)
    with pytest.raises(HeadraceError, match="HR-DATA-106"):
        load_arrays(pickle.dumps(array, protocol=2), "x")
    assert not target.exists()
