"""What every process sets before TensorFlow is imported: one function, called first."""

from __future__ import annotations

import contextlib
import importlib
import logging
import os
import sys
import tempfile
import warnings
from collections.abc import Iterator

LIBRARIES = ("tf_keras", "tensorflow_transform", "tfx_bsl")

QUIET = {
    "TF_CPP_MIN_LOG_LEVEL": "3",  # CUDA factories registered twice, oneDNN and AVX are not the user's business
    "GRPC_VERBOSITY": "ERROR",
}


def prepare() -> None:
    """Choose tf_keras and quiet the libraries' logs.

    Keras 3's `fit` fails under the multi-worker strategies, and TFT's layer and TFMA need tf_keras anyway.
    """
    os.environ["TF_USE_LEGACY_KERAS"] = "1"
    for name, value in QUIET.items():
        os.environ.setdefault(name, value)
    from absl import logging as absl_logging  # absl sets its own level when it is imported

    absl_logging.set_verbosity(absl_logging.ERROR)
    for name in ("tensorflow", "apache_beam", None):
        logging.getLogger(name).setLevel(logging.ERROR)
    warnings.filterwarnings("ignore", category=DeprecationWarning)
    warnings.filterwarnings("ignore", category=FutureWarning, module=r"google\..*")


def skip_library_autograph() -> None:
    """Keep autograph from rewriting the libraries' own code, which is most of the time of a small run.

    TensorFlow leaves keras alone but, before 2.17, not tf_keras, and never TFT: tracing one TFT layer rewrote some 800
    functions. The user's own functions are still rewritten. Source: tensorflow/python/autograph/core/config.py.
    """
    from tensorflow.python.autograph.core import config

    known = {rule._prefix for rule in config.CONVERSION_RULES}
    rules = tuple(config.DoNotConvert(name) for name in LIBRARIES if name not in known)
    config.CONVERSION_RULES = rules + tuple(config.CONVERSION_RULES)


def import_launcher() -> None:
    """Import TFX's portable launcher without all of TFX's own components, which are half of its import time.

    It imports LatestBlessedModelStrategy, which asks `tfx.components` for two constants and has its own for where that
    package is missing. Source: tfx/dsl/input_resolution/strategies/latest_blessed_model_strategy.py.
    """
    hidden = "tfx.components" not in sys.modules
    if hidden:
        sys.modules["tfx.components"] = None
    try:
        with _native_stderr_held_back():
            importlib.import_module("tfx.orchestration.portable.launcher")
    finally:
        if hidden:
            del sys.modules["tfx.components"]


@contextlib.contextmanager
def _native_stderr_held_back() -> Iterator[None]:
    """Hold back what C++ code writes to the process's stderr, and write it out only if the block fails.

    TensorFlow 2.21 looks for CUDA before it has read its log level, straight into the middle of a live view.
    """
    sys.stderr.flush()
    kept = os.dup(2)
    with tempfile.TemporaryFile() as held:
        os.dup2(held.fileno(), 2)
        try:
            yield
        except BaseException:
            held.seek(0)
            os.write(kept, held.read())
            raise
        finally:
            os.dup2(kept, 2)
            os.close(kept)
