"""Read numpy arrays from a pickle without running anything that the pickle names.

Source: the Python library reference, pickle, "Restricting Globals".
"""

from __future__ import annotations

import codecs
import io
import pickle

from pipeline.errors import HeadraceError


def load_arrays(data: bytes, name: str) -> object:
    """Return the tuples, lists and numpy arrays of a pickle, also of one that Python 2 wrote.

    Args:
        data: the pickle.
        name: where it comes from, for the message.

    Raises: HR-DATA-106 when the pickle names anything but numpy's array constructors, or is damaged.
    """
    try:
        return _ArraysOnly(io.BytesIO(data), encoding="latin1").load()
    except HeadraceError:
        raise
    except Exception as exc:  # a damaged pickle raises whatever its last opcode led to
        raise _refused(name, f"{type(exc).__name__}: {exc}") from exc


class _ArraysOnly(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> object:
        """Return one of numpy's array constructors, or refuse."""
        allowed = _constructors()
        if (module, name) not in allowed:
            raise pickle.UnpicklingError(f"the pickle names {module}.{name}, which is not numpy's")
        return allowed[module, name]


def _constructors() -> dict[tuple[str, str], object]:
    import numpy as np

    try:
        from numpy._core.multiarray import _reconstruct  # numpy 2 renamed its core
    except ImportError:
        from numpy.core.multiarray import _reconstruct
    return {
        ("numpy.core.multiarray", "_reconstruct"): _reconstruct,
        ("numpy._core.multiarray", "_reconstruct"): _reconstruct,
        ("numpy", "ndarray"): np.ndarray,
        ("numpy", "dtype"): np.dtype,
        ("_codecs", "encode"): codecs.encode,  # how Python 3 writes bytes in the protocols of Python 2
    }


def _refused(name: str, seen: str) -> HeadraceError:
    return HeadraceError(
        "HR-DATA-106",
        f"{name} is refused: it holds more than arrays, or is damaged",
        [seen],
        "numpy arrays only",
        ["delete the data folder's .archives and repeat the command"],
    )
