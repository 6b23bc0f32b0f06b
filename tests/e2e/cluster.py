"""The pipeline as on a cluster: compiled, then played step by step against a real database."""

from __future__ import annotations

import json
import os
import random
import signal
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pipeline import keys
from pipeline.config.load import Layers, load_task
from pipeline.kubeflow.compile import compile_task
from pipeline.kubeflow.package import Package
from pipeline.kubeflow.simulate import Options, Result, simulate
from tests.pipeline.kubeflow.databases import Database

IMAGE = f"registry.invalid/headrace@sha256:{'0' * 64}"


@dataclass(frozen=True)
class Cluster:
    """A database and a pipeline root."""

    database: Database
    root: str
    work: Path

    def compile(self, task: str, *overrides: str, env: Mapping[str, str] | None = None) -> Package:
        """Return the compiled task."""
        step = {"image": IMAGE, "env": dict(env or {})}
        place = {} if "://" in self.root else {"volumes": [{"claim": "headrace-pipeline", "mount_path": self.root}]}
        layers = Layers(
            (
                f"kubernetes.pipeline_root={self.root}",
                f"kubernetes.step={json.dumps({**step, **place})}",
                *self.database.overrides(),
                *overrides,
            )
        )
        return compile_task(load_task(task, layers))[0]

    def play(self, package: Package, **options) -> Result:
        """Play a compiled task; waits between attempts are left out."""
        number = len(list(self.work.glob("run-*")))
        secrets = self.database.secrets()
        return simulate(
            package,
            Options(
                work_dir=self.work / f"run-{number}",
                code_dirs=[keys.ROOT],
                secrets=secrets,
                backoff_scale=0.0,
                **options,
            ),
        )

    def store(self):
        """Return the ML Metadata store."""
        from pipeline.kubeflow.metadata import connect

        with connect({**os.environ, **self.database.environ()}) as handle:
            return handle.store


def statuses(result: Result) -> dict[str, str]:
    """Return the status that each step gave."""
    return {name: step.parameters.get("status", "") for name, step in result.steps.items()}


def explained(result: Result) -> str:
    """Return the end of the logs of steps that failed."""
    failed = [step for step in result.steps.values() if step.state == "FAILED"]
    return "\n".join(Path(step.attempts[-1].log).read_text()[-3000:] for step in failed if step.attempts)


def random_kills(seed: int, share: float = 0.4):
    """Return a hook that kills first attempts at random, gently or not."""
    dice = random.Random(seed)
    killed = []

    def kill(step: str, attempt: int):
        if attempt == 0 and dice.random() < share:
            killed.append(step)
            return dice.uniform(0.5, 9.0), dice.choice([signal.SIGKILL, signal.SIGTERM])
        return None

    return kill, killed
