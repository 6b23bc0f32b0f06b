"""Tries a model where it will have to live: in a fresh process that sees the export and nothing of training."""

from __future__ import annotations

import base64
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from components.examples import read_serialized
from components.infra_validator.probe import MODEL, REQUEST, RESULT
from components.reporting import progress
from pipeline.config.model import InfraValidateConfig
from pipeline.errors import HeadraceError

SPLITS = ("eval", "train")  # eval first: what the model has not seen
ROOT = Path(__file__).resolve().parents[2]
CHATTER = re.compile(r"[IW]\d{4} |WARNING: All log messages before")  # TensorFlow's, before it reads its log level
# A library path may be how Python finds CUDA or itself; nothing else of the caller's environment is passed on.
PASSED_ON = ("PATH", "LANG", "LC_ALL", "LD_LIBRARY_PATH")


@dataclass(frozen=True)
class InfraResult:
    """How the model did.

    Args:
        requests: requests sent one by one; the same were sent as one batch.
        p50_ms: median time of a single request in the probe's process.
        load_s: time to load the model.
        confined: whether the kernel kept the probe from reading any other file.
        error: why the model is not blessed, or None.
    """

    requests: int
    p50_ms: float | None = None
    load_s: float | None = None
    confined: bool = False
    error: HeadraceError | None = None

    @property
    def blessed(self) -> bool:
        """Whether the model may be pushed."""
        return self.error is None

    def summary(self) -> dict:
        """Return the node's summary."""
        return {
            "requests": self.requests,
            "p50_ms": self.p50_ms,
            "load_s": self.load_s,
            "confined": self.confined,
            "blessed": self.blessed,
        }


def validate(model_uri: str, examples_uri: str, config: InfraValidateConfig, workdir: str) -> InfraResult:
    """Load a copy of the model in a fresh process and send it real examples, one by one and as a batch.

    Args:
        model_uri: Model artifact with `Format-Serving`.
        examples_uri: Examples artifact (raw) of the same features.
        config: how many requests and how long.
        workdir: folder for the copy; a sub-folder is made there and removed.

    Raises: HR-INFRA-004 if there are no examples. Faults of the model are in the result: HR-INFRA-001 to 003.
    """
    examples = first_examples(examples_uri, config.requests)
    os.makedirs(workdir, exist_ok=True)
    folder = tempfile.mkdtemp(prefix="infra-", dir=workdir)
    try:
        try:
            shutil.copytree(os.path.join(model_uri, "Format-Serving"), os.path.join(folder, MODEL))
        except (OSError, shutil.Error) as error:
            return InfraResult(len(examples), error=_failed("the model cannot be copied", str(error)))
        Path(folder, REQUEST).write_text(
            json.dumps({"examples": [base64.b64encode(example).decode("ascii") for example in examples]})
        )
        progress(0.2, "a fresh process loads the model")
        return _judge(len(examples), *_run(folder, config.timeout_s), folder, config)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def first_examples(examples_uri: str, count: int) -> list[bytes]:
    """Return up to `count` serialized examples of the eval split, or of train if that has none.

    Raises: HR-INFRA-004.
    """
    from pipeline.environment import prepare

    prepare()
    for split in SPLITS:
        if not os.path.isdir(os.path.join(examples_uri, f"Split-{split}")):
            continue
        for batch in read_serialized(examples_uri, split, batch_rows=count):
            return list(batch)
    raise HeadraceError(
        "HR-INFRA-004",
        f"no examples in {examples_uri}",
        seen=[f"splits {', '.join(SPLITS)} are missing or empty"],
        expected="at least one example to send to the model",
        fix=["headrace run TASK --from ExampleGen"],
    )


def _run(folder: str, timeout_s: float) -> tuple[int | None, str]:
    """Run the probe and return its exit code, None if its time was up, and what it wrote to stderr."""
    environment = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
    environment |= {
        "PYTHONPATH": str(ROOT),
        "PYTHONDONTWRITEBYTECODE": "1",
        "HOME": folder,
        "TMPDIR": folder,
        "CUDA_VISIBLE_DEVICES": "-1",  # the trainer's accelerator is not for a trial
    }
    log = Path(folder, "probe.log")
    with open(log, "wb") as stderr:
        process = subprocess.Popen(
            [sys.executable, "-m", "components.infra_validator.probe"],
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=stderr,
        )
        try:
            code = process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            code = None
        finally:
            process.kill()  # by pid; nothing if it has ended
            process.wait()
    return code, log.read_text(errors="replace")


def _judge(requests: int, code: int | None, log: str, folder: str, config: InfraValidateConfig) -> InfraResult:
    if code is None:
        error = HeadraceError(
            "HR-INFRA-002",
            f"the model did not answer {requests} requests within {config.timeout_s:g} s",
            seen=[_last_line(log) or "the process said nothing"],
            expected=f"loaded and answered within infra_validate.timeout_s={config.timeout_s:g}",
            fix=[f"--set infra_validate.timeout_s={config.timeout_s * 4:g}, if the machine is slow or busy"],
        )
        return InfraResult(requests, error=error)
    try:
        result = json.loads(Path(folder, RESULT).read_text())
    except (OSError, ValueError):
        how = f"signal {-code}" if code < 0 else f"exit code {code}"
        return InfraResult(requests, error=_failed(f"its process died by {how}", _last_line(log) or "it said nothing"))
    if result["passed"]:
        p50_ms = statistics.median(result["latencies_ms"])
        return InfraResult(requests, round(p50_ms, 3), round(result["load_s"], 3), result["confined"])
    if result["kind"] == "load":
        return InfraResult(requests, error=_failed("it cannot be loaded or called", result["reason"]))
    error = HeadraceError(
        "HR-INFRA-003",
        "the model's answers are wrong",
        seen=[result["reason"]],
        expected="finite probabilities, one row a request, the same alone as in a batch",
        fix=["look for layers that mix the rows of a batch, and for NaN in the training history: headrace report TASK"],
    )
    return InfraResult(requests, error=error)


def _failed(how: str, seen: str) -> HeadraceError:
    return HeadraceError(
        "HR-INFRA-001",
        f"the model fails in a fresh process: {how}",
        seen=[seen],
        expected="an export that works without any file of the training run",
        fix=["keep every file that the model reads as an asset of the SavedModel", "headrace run TASK --from Trainer"],
    )


def _last_line(log: str) -> str:
    lines = [line for line in log.splitlines() if line.strip() and not CHATTER.match(line)]
    return lines[-1] if lines else ""
