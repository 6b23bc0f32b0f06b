"""What is set before TensorFlow is imported, and what is held back meanwhile."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CODE = """
import os, sys
from pipeline.environment import _native_stderr_held_back
try:
    with _native_stderr_held_back():
        os.write(2, b"noise")
        if sys.argv[1] == "fail":
            raise ValueError("broken")
except ValueError:
    pass
os.write(2, b"after")
"""


def stderr_of(word: str) -> str:
    done = subprocess.run([sys.executable, "-c", CODE, word], cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stderr


def test_native_noise_is_held_back_from_an_import_that_succeeds():
    assert stderr_of("succeed") == "after"


def test_native_noise_is_shown_when_the_import_fails():
    assert stderr_of("fail") == "noiseafter"


def test_tf_keras_is_chosen():
    from pipeline import environment

    environment.prepare()
    assert os.environ["TF_USE_LEGACY_KERAS"] == "1"
