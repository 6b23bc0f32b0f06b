"""One container step: driver, launcher, and the attempts that Argo grants it."""

from __future__ import annotations

import asyncio
import shutil
import sys
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pipeline.kubeflow.gate.schema import messages
from pipeline.kubeflow.simulate import outputs
from pipeline.kubeflow.simulate.inputs import Finished
from pipeline.kubeflow.simulate.model import FAILED, SUCCEEDED, Artifact, Attempt, StepError, StepResult
from pipeline.kubeflow.simulate.placeholders import driver_arguments, fill_in, with_defaults
from pipeline.kubeflow.simulate.process import Command, Ended, run_process
from pipeline.kubeflow.simulate.retry import NEVER, Retry
from pipeline.kubeflow.simulate.run import Run
from pipeline.kubeflow.simulate.store import local_path

REFUSED = 1  # exit code of a launcher that does not accept what a step wrote
PYTHONS = ("python", "python3")
SYSTEM_WRITABLE = Path("/dev")  # /dev/null, /dev/shm


@dataclass(frozen=True)
class Step:
    """A task after its driver: the same for all attempts.

    Args:
        name: with the names of the DAGs around it.
        task: its PipelineTaskSpec.
        component: its ComponentSpec.
        executor_input: what `{{$}}` becomes.
        words: its command line.
        folder: its own, with a log for each attempt and the file system of the pod.
    """

    name: str
    task: Mapping
    component: Mapping
    executor_input: Mapping
    words: list[str]
    folder: Path

    @property
    def pod_root(self) -> Path:
        """What stands for `/` of the pod."""
        return self.folder / "pod"


async def run_step(run: Run, name: str, task: Mapping, component: Mapping, inputs: Mapping) -> Finished:
    """Run a step to its end, keep its result and return what later tasks see.

    Raises:
        StepError: the driver refuses it.
    """
    step = _drive(run, name, task, component, inputs)
    async with run.slots:
        return await _attempts(run, step)


def _drive(run: Run, name: str, task: Mapping, component: Mapping, inputs: Mapping) -> Step:
    from google.protobuf import json_format

    title = task.get("taskInfo", {}).get("name", name)
    container = run.plan.containers[component["executorLabel"]]
    folder = run.folder / "steps" / name
    pod_root = folder / "pod"
    task_uri = f"{run.uri}/{title}/{uuid.uuid4()}"
    given = {"inputs": inputs, "outputs": outputs.provide(component, task_uri, pod_root, run.profile)}
    arguments = container.get("args", [])
    if run.profile.driver_arguments:
        arguments = driver_arguments(arguments, inputs)
    schema, _ = messages()
    message = with_defaults(given, component)
    canonical = json_format.MessageToDict(json_format.ParseDict(message, schema.ExecutorInput()))
    filled = fill_in(container.get("command", []), arguments, canonical, pod_root)
    if filled[0] in PYTHONS:
        filled[0] = sys.executable
    return Step(name, task, component, _whole(canonical), filled, folder)


def _whole(message: Mapping) -> dict:
    """Return the message with the maps that JSON leaves out because they are empty."""
    return {
        "inputs": {"parameterValues": {}, "artifacts": {}, **message.get("inputs", {})},
        "outputs": {"parameters": {}, "artifacts": {}, **message.get("outputs", {})},
    }


async def _attempts(run: Run, step: Step) -> Finished:
    retry = Retry.of(step.task)
    attempts: list[Attempt] = []
    elapsed_s = 0.0  # as in Argo: attempts and waits, whatever the scale of the waits
    while True:
        index = len(attempts)
        run.tell("started", step.name, attempt=index)
        deadline = run.pods[step.component["executorLabel"]].deadline_s
        if index and deadline is None:
            deadline = retry.max_duration_s - elapsed_s
        ended = await _pod(run, step, index, deadline, retry.limit != NEVER)
        elapsed_s += ended.seconds
        message, finished = _publish(run, step, index, ended)
        exit_code = ended.exit_code or (REFUSED if message else 0)
        attempts.append(Attempt(exit_code, round(ended.seconds, 3), _log(step, index), message))
        if not message:
            run.ended(
                StepResult(step.name, SUCCEEDED, tuple(attempts), finished.parameters, tuple(_artifacts(run, finished)))
            )
            return finished
        wait_s, why = retry.wait(len(attempts), elapsed_s)
        if wait_s is None:
            run.ended(StepResult(step.name, FAILED, tuple(attempts), message=f"{message}; {why}" if why else message))
            return Finished(FAILED, "RUNNING" if ended.killed else FAILED)
        run.tell("retried", step.name, attempt=index + 1, text=message)
        elapsed_s += wait_s
        await asyncio.sleep(wait_s * run.options.backoff_scale)


async def _pod(run: Run, step: Step, index: int, deadline_s: float | None, retried: bool) -> Ended:
    """Start one pod: an empty file system, the input artifacts, a clean environment."""
    root = step.pod_root
    shutil.rmtree(root, ignore_errors=True)
    for folder in ("work", "home", "tmp"):
        (root / folder).mkdir(parents=True)
    for listed in step.executor_input["inputs"]["artifacts"].values():
        for artifact in listed["artifacts"]:
            run.store.download(artifact["uri"], root)
    outputs.make_folders(step.executor_input["outputs"], root)
    label = step.component["executorLabel"]
    pod = run.pods[label]
    declared = {entry["name"]: entry.get("value", "") for entry in run.plan.containers[label].get("env", [])}
    env = {
        **run.base_env(),
        "HOME": str(root / "home"),
        "TMPDIR": str(root / "tmp"),
        **declared,
        **pod.env(f"{run.values.resource_name}-{step.name.replace('.', '-')}-{index}"),
        **({"KFP_RETRY_INDEX": str(index)} if retried and run.profile.retry_index else {}),
    }
    writable = [root, *run.options.writable, *pod.volumes, SYSTEM_WRITABLE] if run.confined else []
    return await run_process(
        Command(
            step.words,
            root / "work",
            env,
            _log(step, index),
            writable,
            deadline_s,
            run.options.grace_s,
            run.options.kill(step.name, index),
        ),
        lambda line: run.tell("line", step.name, attempt=index, text=line),
    )


def _publish(run: Run, step: Step, index: int, ended: Ended) -> tuple[str, Finished]:
    """Return why an attempt failed, empty when it did not, and what it gives to later tasks."""
    if ended.exit_code or ended.killed:
        reason = f"exit code {ended.exit_code}"
        return f"{ended.killed}, {reason}" if ended.killed else reason, Finished(FAILED, FAILED)
    given = step.executor_input["outputs"]
    try:
        executor_output = outputs.read_executor_output(Path(given["outputFile"]))
        parameters = outputs.collect_parameters(given, step.component, executor_output)
        recorded = {}
        for key, listed in given["artifacts"].items():
            artifact = outputs.merged(key, listed["artifacts"][0], executor_output)
            if key == outputs.LOGS:
                _keep_log(step, index, artifact["uri"])
            warning = run.store.upload(key, artifact["uri"], step.pod_root)
            if warning:
                run.notes.append(f"{step.name}: {warning}")
            recorded[key] = run.store.record(key, artifact)
    except StepError as error:
        return str(error), Finished(FAILED, FAILED)
    return "", Finished(SUCCEEDED, "COMPLETE", parameters, recorded)


def _artifacts(run: Run, finished: Finished) -> list[Artifact]:
    return [
        Artifact(key, found["uri"], run.store.path(found["uri"]), found["metadata"])
        for key, found in finished.artifacts.items()
    ]


def _log(step: Step, index: int) -> Path:
    return step.folder / f"attempt-{index}.log"


def _keep_log(step: Step, index: int, uri: str) -> None:
    """Put the log where the launcher writes it."""
    target = local_path(uri, step.pod_root)
    if target is not None:
        shutil.copyfile(_log(step, index), target)
