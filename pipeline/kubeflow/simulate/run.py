"""What all steps of a run share."""

from __future__ import annotations

import asyncio
import itertools
import os
import secrets
import string
import sys
import uuid
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path

from components import confine
from pipeline.errors import HeadraceError
from pipeline.kubeflow.simulate.inputs import RunValues
from pipeline.kubeflow.simulate.model import PROFILES, Event, Options, StepResult
from pipeline.kubeflow.simulate.plan import Plan, unplayed
from pipeline.kubeflow.simulate.pod import Pod
from pipeline.kubeflow.simulate.store import ROOT_URI, Store

NO_LANDLOCK = "this kernel does not confine writing: steps could have written outside of their folders"
NO_IMAGES = f"images are not pulled: `python` is {sys.executable}"


class Run:
    """One run of a plan.

    Args:
        plan: the package.
        options: how to play it.
        pods: by executor label.
        on_event: told what happens.
    """

    def __init__(
        self, plan: Plan, options: Options, pods: Mapping[str, Pod], on_event: Callable[[Event], None]
    ) -> None:
        self.plan, self.options, self.pods, self.on_event = plan, options, pods, on_event
        if options.profile not in PROFILES:
            raise unplayed(f"profile {options.profile}, which is none of {', '.join(PROFILES)}")
        self.profile = PROFILES[options.profile]
        self.folder = Path(options.work_dir).absolute()
        suffix = "".join(secrets.choice(string.ascii_lowercase + string.digits) for _ in range(5))
        self.values = RunValues(
            options.run_id or str(uuid.uuid4()),
            f"{plan.name} simulated",
            f"{plan.name}-{suffix}",
            datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        )
        self.uri = f"{ROOT_URI}/{plan.name}/{self.values.uuid}"
        self.store = Store(self.folder / "store", self.uri)
        self.confined = confine.version() >= 2
        self.notes = [NO_IMAGES] if self.confined else [NO_IMAGES, NO_LANDLOCK]
        self.steps: dict[str, StepResult] = {}
        self.execution_ids = itertools.count(1)
        self.slots = asyncio.Semaphore(options.max_parallel)
        self._check_folders()

    def _check_folders(self) -> None:
        """Raise HR-KFP-094 for a work folder that is in use, and for code that steps could change."""
        if self.folder.exists() and (not self.folder.is_dir() or any(self.folder.iterdir())):
            raise HeadraceError(
                "HR-KFP-094",
                f"{self.folder} is not an empty folder",
                seen=["a simulation writes to a folder of its own, so that no run reads what another left"],
                expected="a new or empty folder",
                fix=["--work DIR"],
            )
        volumes = [path for pod in self.pods.values() for path in pod.volumes]
        for folder in [self.folder, *self.options.writable, *volumes]:
            for code in self.options.code_dirs:
                if Path(code).resolve().is_relative_to(Path(folder).resolve()):
                    raise HeadraceError(
                        "HR-KFP-094",
                        f"{folder} holds the code of the steps",
                        seen=[f"code in {code}"],
                        expected="folders to write to that hold no code: in a pod, code is read-only",
                        fix=["--writable DIR, --work DIR and mount paths that are no folder above the code"],
                    )

    def tell(self, kind: str, step: str, **found) -> None:
        """Hand on an event."""
        self.on_event(Event(kind, step, **found))

    def ended(self, result: StepResult) -> None:
        """Keep a step's result and tell of it."""
        self.steps[result.name] = result
        self.tell(
            "finished",
            result.name,
            attempt=max(0, len(result.attempts) - 1),
            text=result.message,
            state=result.state,
            exit_code=result.exit_code if result.attempts else None,
            seconds=result.seconds,
        )

    def base_env(self) -> dict[str, str]:
        """Return the variables that an image would set, and those of the options."""
        code = os.pathsep.join(str(Path(folder).absolute()) for folder in self.options.code_dirs)
        return {
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.defpath.lstrip(os.pathsep)}",
            "LANG": "C.UTF-8",
            "PYTHONUNBUFFERED": "1",
            **({"PYTHONPATH": code} if code else {}),
            **self.options.env,
        }
