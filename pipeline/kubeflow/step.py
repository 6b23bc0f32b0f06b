"""What each pod runs: one node, from its part of the IR to its outputs in ML Metadata and its pages in Kubeflow.

    python -m pipeline.kubeflow.step --node Trainer --ir-sha256 ... --ir ... --executor-input '{{$}}'

Exit codes are those of the error families. A step that is tried again takes what an earlier attempt has finished, and
repeats an error that waiting does not mend at once.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import tempfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import click

from components.reporting import Listener, Outcome
from pipeline import environment, keys
from pipeline.config.paths import is_url
from pipeline.errors import HeadraceError
from pipeline.kubeflow.executor_input import ExecutorInput
from pipeline.kubeflow.ir import EncodedNode, decode
from pipeline.kubeflow.parameters import parameter_named
from pipeline.nodes import BY_ID, Node

EXECUTED, CACHED, SKIPPED = "EXECUTED", "CACHED", "SKIPPED"
LASTING = ("user", "data")  # families of errors that another attempt meets again


@dataclass
class Step:
    """One attempt at one node."""

    node: Node
    executor_input: ExecutorInput
    ir: object
    given: dict = field(default_factory=dict)
    task_dir: str = ""
    status: str = SKIPPED
    outputs: dict = field(default_factory=dict)
    outcome: Outcome = field(default_factory=Outcome)


@click.command()
@click.option("--node", required=True)
@click.option("--ir-sha256", required=True)
@click.option("--ir", "inline", default="")
@click.option("--ir-uri", "uri", default="")
@click.option("--executor-input", required=True)
@click.option("--parameter", "parameters", multiple=True, help="Configuration key that the run may set.")
@click.option("--page", "pages", multiple=True, metavar="NAME=PATH")
@click.option("--job", default="", help="The child job that trains.")
def main(node, ir_sha256, inline, uri, executor_input, parameters, pages, job) -> None:
    """Run one node in a pod."""
    exit_with(
        lambda: run(
            node,
            EncodedNode(ir_sha256, inline, uri),
            ExecutorInput.parse(executor_input),
            parameters,
            dict(page.split("=", 1) for page in pages),
            os.environ,
            job,
        )
    )


def exit_with(work: Callable[[], None]) -> None:
    """Run the work of a pod and end the process by the error's family, at once.

    TensorFlow's and Beam's threads can crash a process that takes itself down in order ("pure virtual method called"),
    after everything is written; so it ends here.
    """
    environment.prepare()
    signal.signal(signal.SIGTERM, _terminated)
    code = 0
    try:
        work()
    except HeadraceError as error:
        print(f"\n{error}", file=sys.stderr)
        code = error.exit_code
    except BaseException:
        import traceback

        traceback.print_exc()
        code = 4  # family system: what nobody foresaw
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def run(
    node_id: str,
    encoded: EncodedNode,
    executor_input: ExecutorInput,
    parameters: tuple[str, ...],
    pages: Mapping[str, str],
    environ: Mapping[str, str],
    job: str = "",
) -> None:
    """Run one node, or take what it made before.

    Raises:
        HeadraceError: HR-KFP-020 to HR-KFP-031, the node's own errors, and the error of a gate that did not pass.
    """
    from pipeline.kubeflow import metadata as stores
    from pipeline.kubeflow import pages as showing
    from pipeline.kubeflow.files import read_bytes
    from pipeline.run_node import bind_run, finished_before

    environment.import_launcher()
    step = Step(BY_ID[node_id], executor_input, _parsed(decode(encoded, read_bytes)))
    bind_run(step.ir, executor_input.run_id)
    store = stores.connect(environ)
    earlier = finished_before(step.ir, node_id, store)
    if isinstance(earlier, HeadraceError):
        if executor_input.attempt(environ) and earlier.family in LASTING:
            print("an earlier attempt has failed for good", file=sys.stderr)
            raise earlier
    elif earlier:
        step.status, (step.outputs, step.outcome) = EXECUTED, earlier
    if step.status == SKIPPED:
        with tempfile.TemporaryDirectory(prefix="headrace-") as scratch:
            _run(step, parameters, store, Path(scratch), job)
    try:
        showing.write(
            step.ir.pipeline_info.id, step.node, executor_input, step.status, step.outputs, step.outcome, pages
        )
    except OSError as error:  # what people see is no reason to fail what is done
        print(f"the step's pages could not be written: {error}", file=sys.stderr)
    if step.outcome.stop:
        raise step.outcome.stop


def _run(step: Step, parameters: tuple[str, ...], store, scratch: Path, job: str) -> None:
    from components.trainer.placement import placed
    from pipeline.kubeflow.content_cache import cached, input_digests, remember_by
    from pipeline.kubeflow.filesystem import register
    from pipeline.kubeflow.staging import Staged
    from pipeline.kubeflow.training import in_child_job
    from pipeline.run_node import find, publish_cached, run_node
    from pipeline.stack import stack

    register()
    local: dict[str, str] = {}
    node = find(step.ir, step.node.id)
    if "config" in node.parameters.parameters:
        _apply(step, node, parameters)
        local = _local(step, scratch)
        inputs = input_digests(step.ir, step.node, store)
        if inputs is None:
            raise _nothing_to_read(step.node)
        digests = inputs | keys.outside_digests(step.node, json.loads(local["config"]), {})
        key = keys.key(keys.parts(step.node, step.given, local.get("task_dir", ""), digests, stack()))
        found = cached(step.node, key, store)
        if found and publish_cached(step.ir, step.node.id, *found, store):
            step.status, (step.outputs, step.outcome) = CACHED, found
            print(f"{step.node.id}: unchanged, taken from an earlier run")
            return
        remember_by(node, step.node, key)
    listener = Listener(on_progress=Progress(step.node.id))
    stage = Staged(scratch, local)
    run_id, task = step.executor_input.run_id, step.ir.pipeline_info.id
    place = in_child_job(job, task, run_id, os.environ, stage.addressed, scratch) if job else None
    with placed(place):
        step.outputs, step.outcome = run_node(step.ir, step.node.id, listener, store, stage)
    step.status = EXECUTED


def _apply(step: Step, node, parameters: tuple[str, ...]) -> None:
    """Put the run's parameters into the node's part of the configuration."""
    given = json.loads(node.parameters.parameters["config"].field_value.string_value)
    for key in parameters:
        parameter = parameter_named(key)
        if parameter.name in step.executor_input.parameters:
            *sections, last = key.split(".")
            target = given
            for section in sections:
                target = target[section]
            target[last] = parameter.parse(step.executor_input.parameters[parameter.name])
    node.parameters.parameters["config"].field_value.string_value = json.dumps(given, sort_keys=True)
    if "task_dir" in node.parameters.parameters:
        step.task_dir = node.parameters.parameters["task_dir"].field_value.string_value
    step.given = given


def _local(step: Step, scratch: Path) -> dict[str, str]:
    """Return the node's own parameters with paths of this pod, for what lies outside of the pipeline.

    ML Metadata keeps what was compiled: a scratch folder says nothing to who reads it later.
    """
    given = json.loads(json.dumps(step.given))
    if step.node.id == "ImportSchemaGen":
        given["schema_path"] = in_image(given["schema_path"])
    if step.node.id == "ExampleGen":
        given["data"]["path"] = _local_data(given["data"], scratch)
    local = {"config": json.dumps(given, sort_keys=True)}
    return {**local, "task_dir": in_image(step.task_dir)} if step.task_dir else local


def in_image(path: str) -> str:
    """Return the place of a file that comes with headrace: relative paths are below its own folder."""
    return str(keys.ROOT / path)


def _local_data(data: dict, scratch: Path) -> str:
    """Return the path of the data on this machine: object stores are copied."""
    from components.ingest.span import spanned_path
    from pipeline.kubeflow.files import download

    path = spanned_path(data["path"], data["span"])
    if not is_url(path):
        return path
    print(f"ExampleGen: copying {path}", flush=True)
    folder = scratch / "data"
    download(path, str(folder))
    copied = folder / os.path.basename(path)
    return str(copied if copied.is_file() else folder)


class Progress:
    """Prints progress as lines, each tenth once: pods have logs, no terminals."""

    def __init__(self, node_id: str):
        self._node_id, self._shown = node_id, -1

    def __call__(self, fraction: float, note: str) -> None:
        """Print the share done and a note."""
        tenth = int(fraction * 10)
        if tenth > self._shown:
            self._shown = tenth
            print(f"{self._node_id}: {fraction:.0%}  {note}", flush=True)


def _parsed(data: bytes):
    from tfx.proto.orchestration import pipeline_pb2

    return pipeline_pb2.Pipeline.FromString(data)


def _nothing_to_read(node: Node) -> HeadraceError:
    return HeadraceError(
        "HR-KFP-029",
        f"the inputs of {node.id} are not in ML Metadata",
        seen=[f"it needs {name} of {upstream}" for name, (upstream, _) in node.inputs.items()],
        expected="outputs of the steps before it in the same run and the same database",
        fix=["look whether all steps use one kubernetes.metadata", "run the pipeline again from the start"],
    )


def _terminated(number, frame) -> None:
    """Kubernetes asks the pod to go: fail the execution in ML Metadata, so that the next attempt starts clean."""
    with suppress(ValueError):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise HeadraceError(
        "HR-KFP-030",
        "the pod was asked to end before the step was done",
        seen=["SIGTERM"],
        expected="a pod that may run until its step has ended",
        fix=["the step is tried again by itself", "look at evictions, node drains and timeout_s of the step"],
    )


if __name__ == "__main__":
    main()
