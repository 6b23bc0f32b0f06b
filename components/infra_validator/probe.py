"""Loads a model in a process that has nothing else, sends requests and checks the answers.

`python -m components.infra_validator.probe` in a folder of `model/` and `request.json`; it leaves `result.json`.
The process is started by `components.infra_validator.validate` and imports nothing of training.
"""

from __future__ import annotations

import base64
import json
import os
import sys
import time
from typing import TYPE_CHECKING

from components.confine import confine
from pipeline.environment import prepare

if TYPE_CHECKING:
    import numpy as np

MODEL, REQUEST, RESULT = "model", "request.json", "result.json"
SIGNATURE = "serving_default"
TOLERANCE = 1e-4  # float32 kernels may order sums differently for one row and for many
SYSTEM_PATHS = ("/usr", "/lib", "/lib32", "/lib64", "/bin", "/etc", "/opt", "/proc", "/sys")


class WrongAnswer(Exception):
    """An answer that no server should give."""


def probe() -> dict:
    """Load `model/`, answer the examples of `request.json` alone and together, and return what was measured.

    Returns: `load_s`, `latencies_ms` of the single requests, `outputs` (number of values a row), `confined`.
    Raises: WrongAnswer, or whatever TensorFlow raises.
    """
    with open(REQUEST) as file:
        examples = [base64.b64decode(text) for text in json.load(file)["examples"]]
    confined = confine(_needed(), [os.getcwd(), "/dev"])  # before TensorFlow starts threads, which would stay free
    prepare()
    import tensorflow as tf

    started = time.monotonic()
    call = _load(tf)
    load_s = time.monotonic() - started
    together = call(examples)
    check(together, len(examples))
    latencies_ms, alone = [], []
    for example in examples:
        began = time.perf_counter()
        alone.append(call([example]))
        latencies_ms.append((time.perf_counter() - began) * 1000)
    compare(together, alone)
    return {"load_s": load_s, "latencies_ms": latencies_ms, "outputs": together.shape[1], "confined": confined}


def _needed() -> list[str]:
    """Return what Python and TensorFlow read after start: themselves, and the system."""
    here = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    code = [os.path.join(here, name) for name in ("components", "pipeline")]
    paths = [path for path in sys.path if path and os.path.realpath(path) != os.path.realpath(here)]
    return [*SYSTEM_PATHS, *code, *paths, sys.prefix, sys.base_prefix, sys.exec_prefix]


def _load(tf):
    """Load the model as TensorFlow Serving does, through a session, and return the function of its signature."""
    session = tf.compat.v1.Session(graph=tf.Graph())
    with session.graph.as_default():
        meta_graph = tf.compat.v1.saved_model.load(session, [tf.saved_model.SERVING], MODEL)
    if SIGNATURE not in meta_graph.signature_def:
        raise WrongAnswer(f"no signature {SIGNATURE}, only {', '.join(sorted(meta_graph.signature_def))}")
    signature = meta_graph.signature_def[SIGNATURE]
    (source,) = signature.inputs.values()
    if "outputs" not in signature.outputs:
        raise WrongAnswer(f"no output named outputs, only {', '.join(sorted(signature.outputs))}")
    target = signature.outputs["outputs"].name
    return lambda examples: session.run(target, {source.name: examples})


def check(outputs: np.ndarray, rows: int) -> None:
    """Check answers, [rows, k].

    Raises: WrongAnswer for another shape, for NaN or infinity, and for what is no probability.
    """
    import numpy as np

    if outputs.ndim != 2 or len(outputs) != rows or outputs.shape[1] == 0:
        raise WrongAnswer(f"{rows} requests were answered by a tensor of shape {list(outputs.shape)}")
    bad = np.flatnonzero(~np.isfinite(outputs).all(axis=1))
    if len(bad):
        raise WrongAnswer(f"{len(bad)} of {rows} answers are not finite, such as {outputs[bad[0]].tolist()[:5]}")
    bad = np.flatnonzero(((outputs < 0) | (outputs > 1)).any(axis=1))
    if len(bad):
        raise WrongAnswer(f"{len(bad)} of {rows} answers are no probabilities, such as {outputs[bad[0]].tolist()[:5]}")
    if outputs.shape[1] > 1 and np.abs(outputs.sum(axis=1) - 1).max() > 1e-3:
        raise WrongAnswer(f"the probabilities of a row sum to {outputs.sum(axis=1)[0]:.4f}, not to 1")


def compare(together: np.ndarray, alone: list[np.ndarray]) -> None:
    """Check that each request is answered the same alone, [1, k], as in a batch, [rows, k].

    Raises: WrongAnswer.
    """
    import numpy as np

    for row, answer in enumerate(alone):
        if answer.shape != (1, together.shape[1]):
            raise WrongAnswer(f"one request was answered by a tensor of shape {list(answer.shape)}")
        difference = float(np.abs(answer[0] - together[row]).max())
        if not difference <= TOLERANCE:
            raise WrongAnswer(
                f"request {row + 1} is answered {answer[0].tolist()[:3]} alone"
                f" and {together[row].tolist()[:3]} in a batch of {len(together)}"
            )


def main() -> int:
    """Leave the result, or the reason, in `result.json`; 0 whenever it could be written."""
    try:
        result = {"passed": True, **probe()}
    except WrongAnswer as error:
        result = {"passed": False, "kind": "answer", "reason": str(error)}
    except Exception as error:
        result = {"passed": False, "kind": "load", "reason": f"{type(error).__name__}: {error}"}
    with open(RESULT, "w") as file:
        json.dump(result, file)
    return 0


if __name__ == "__main__":
    sys.exit(main())
