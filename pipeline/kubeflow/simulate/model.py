"""What a simulation is given, what it tells while it runs, and what it found."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

SUCCEEDED, FAILED, SKIPPED, OMITTED = "SUCCEEDED", "FAILED", "SKIPPED", "OMITTED"

Kill = Callable[[str, int], "tuple[float, int] | None"]


@dataclass(frozen=True)
class Profile:
    """In what the releases of Kubeflow Pipelines differ.

    Args:
        task_root: the output file and the artifacts of a step share a folder, and output artifacts have a name.
        driver_arguments: the driver, before the launcher, fills in the parameters and `IfPresent` of arguments.
        retry_index: a step that may be retried gets KFP_RETRY_INDEX.
    """

    task_root: bool = True
    driver_arguments: bool = False
    retry_index: bool = False


PROFILES = {
    "2.14": Profile(task_root=False),
    "2.15": Profile(),
    "2.16": Profile(),
    "2.17": Profile(driver_arguments=True, retry_index=True),
}


@dataclass(frozen=True)
class Options:
    """How to play a package.

    Args:
        parameters: values of the pipeline's parameters, in their own types.
        work_dir: folder for everything that the simulation writes.
        profile: release of Kubeflow Pipelines, a key of `PROFILES`.
        secrets: secret name -> key -> value.
        config_maps: ConfigMap name -> key -> value.
        code_dirs: folders that hold the steps' code: importable, never writable.
        writable: folders that steps may write to beside their own, such as a pipeline root.
        env: variables for all steps, over PATH, LANG and PYTHONUNBUFFERED.
        run_id: the run's id; a new one by default.
        max_parallel: how many steps run at once.
        kill: asked before each attempt (step, attempt): None, or after how many seconds to send which signal.
        backoff_scale: factor on the waits between attempts.
        grace_s: how long a step may live after SIGTERM.
    """

    work_dir: Path
    parameters: Mapping[str, object] = field(default_factory=dict)
    profile: str = "2.17"
    secrets: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    config_maps: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    code_dirs: Sequence[Path] = ()
    writable: Sequence[Path] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    run_id: str | None = None
    max_parallel: int = 1
    kill: Kill = lambda step, attempt: None
    backoff_scale: float = 1.0
    grace_s: float = 30.0


@dataclass(frozen=True)
class Event:
    """Something that happened to a step.

    Args:
        kind: `started`, `line`, `retried` or `finished`.
        step: name of the step; that of a step in a sub-DAG has the task's before it: `pipeline.trainer`.
        attempt: which attempt, from 0.
        text: the line of output, or why a step failed or is tried again.
        state: how a finished step ended.
        exit_code: of a finished step's last attempt; None when none was started.
        seconds: how long a finished step took, all attempts together.
    """

    kind: str
    step: str
    attempt: int = 0
    text: str = ""
    state: str = ""
    exit_code: int | None = None
    seconds: float = 0.0


@dataclass(frozen=True)
class Attempt:
    """One pod of a step: 128 + N is the exit code of a process that signal N ended."""

    exit_code: int
    seconds: float
    log: Path
    message: str = ""


@dataclass(frozen=True)
class Artifact:
    """An output artifact: `path` is where the object store has it, None when the step wrote none."""

    name: str
    uri: str
    path: Path | None
    metadata: Mapping[str, object]


@dataclass(frozen=True)
class StepResult:
    """How a step ended: SUCCEEDED, FAILED, SKIPPED (condition) or OMITTED (what it depends on did not succeed)."""

    name: str
    state: str
    attempts: tuple[Attempt, ...] = ()
    parameters: Mapping[str, object] = field(default_factory=dict)
    artifacts: tuple[Artifact, ...] = ()
    message: str = ""

    @property
    def exit_code(self) -> int:
        """Exit code of the step: that of its last attempt; 1 when the driver refused it before any."""
        if self.attempts:
            return self.attempts[-1].exit_code
        return 1 if self.state == FAILED else 0

    @property
    def seconds(self) -> float:
        """Time in attempts."""
        return sum(attempt.seconds for attempt in self.attempts)


@dataclass(frozen=True)
class Result:
    """How a run ended, and its steps in the order in which they ended."""

    run_id: str
    state: str
    steps: Mapping[str, StepResult]
    notes: tuple[str, ...] = ()

    @property
    def exit_code(self) -> int:
        """0, or the exit code of the first step that failed."""
        return next((step.exit_code for step in self.steps.values() if step.state == FAILED), 0)

    def to_dict(self) -> dict:
        """Return the result as plain JSON values."""
        return {
            "run_id": self.run_id,
            "state": self.state,
            "notes": list(self.notes),
            "steps": [_plain(dataclasses.asdict(step)) for step in self.steps.values()],
        }


def _plain(value):
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return str(value) if isinstance(value, Path) else value


class StepError(Exception):
    """What Kubeflow's driver or launcher would write in its log; the step fails."""
