"""Run a task on this machine: each node in order, from its record where the content key still holds."""

from __future__ import annotations

import os
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from components.reporting import Listener, Outcome
from pipeline import keys
from pipeline.config.load import LoadedTask, relative
from pipeline.config.model import TaskConfig
from pipeline.config.paths import serving_dir
from pipeline.console.view import RunView
from pipeline.errors import HeadraceError, bounded
from pipeline.local.store import Store
from pipeline.machine import devices
from pipeline.nodes import BY_ID, NODES, Node
from pipeline.stack import stack


@dataclass(frozen=True)
class Request:
    """What the user asked for."""

    task: LoadedTask
    from_node: str | None = None
    to_node: str | None = None
    fresh: bool = False
    command: str = ""


@dataclass
class Run:
    """One run in progress. `nodes` holds the entries of run.json by node id."""

    request: Request
    store: Store
    view: RunView
    record: dict
    nodes: dict[str, dict] = field(default_factory=dict)
    session: Session | None = None

    @property
    def config(self) -> TaskConfig:
        """The task's configuration."""
        return self.request.task.config

    def save(self) -> None:
        """Write run.json."""
        self.record["nodes"] = list(self.nodes.values())
        self.store.save_run(self.record)


class Session:
    """The part of a run that needs TFX: opened when the first node has to run."""

    def __init__(self, run: Run):
        """Import TFX, compile the pipeline and make the nodes taken from records known to ML Metadata."""
        from pipeline import environment

        environment.prepare()
        from pipeline import run_node

        self._tfx = run_node
        ir = run_node.compile_ir(run.config, run.request.task.task_dir)
        self._ir = run_node.bind_run(ir, run.record["run_id"])
        self._metadata = run_node.local_metadata(run.config)
        for node_id, entry in run.nodes.items():
            if entry["status"] == "cached" and not self.publish_cached(node_id, entry):
                raise HeadraceError(
                    "HR-SYS-020",
                    "the ML Metadata store does not know artifacts that the records name",
                    seen=[f"{node_id} in {run.store.dir / 'metadata.sqlite'}"],
                    fix=[f"headrace run {run.request.task.argument} --fresh"],
                )

    def run(self, node_id: str, listener: Listener):
        """Run one node and return its outputs and outcome."""
        return self._tfx.run_node(self._ir, node_id, listener, self._metadata)

    def publish_cached(self, node_id: str, entry: dict) -> bool:
        """Make the outputs of an entry taken from a record known to this run; False when ML Metadata has lost them."""
        outcome = Outcome.from_dict({"summary": entry["summary"], "stop": entry["error"]})
        return self._tfx.publish_cached(self._ir, node_id, entry["outputs"], outcome, self._metadata)


def run(request: Request, view: RunView, on_wait: Callable[[str], None] = lambda pid: None) -> dict:
    """Run a task and return its run record, whose `error` says what stopped it.

    `on_wait` is told the process id of another run of the task that this one waits for.
    """
    store = Store(request.task.config.root, request.task.config.name)
    _check_nodes(request)
    with store.locked(on_wait):
        store.mark_interrupted()
        store.sweep()
        current = Run(request, store, view, _new_record(request, store.new_run()))
        current.nodes = {node.id: _pending(node) for node in NODES}
        current.save()
        view.header(current.record)
        try:
            with _sigterm_interrupts():
                for node in NODES:
                    _do(current, node)
            current.record["status"] = "succeeded"
        except HeadraceError as error:
            _stop(current, error, "failed")
        except KeyboardInterrupt:
            _stop(current, None, "interrupted")
        current.record["ended"] = _now()
        current.save()
    return current.record


def run_dir(config: TaskConfig, run_id: str) -> Path:
    """Return the folder of one run."""
    return Store(config.root, config.name).dir / run_id


def _do(run: Run, node: Node) -> None:
    """Take one node from its record, or run it."""
    entry = run.nodes[node.id]
    if run.request.to_node and node.id not in _ancestors(node_named(run.request.to_node).id):
        entry["status"] = "skipped"
        return
    entry["parts"] = keys.parts(
        node, run.record["config"], run.request.task.task_dir, _input_digests(run, node), run.record["stack"]
    )
    entry["key"] = keys.key(entry["parts"])
    record = None if _forced(run.request, node.id) else _recorded(run, node, entry["key"])
    if record:
        entry.update(status="cached", outputs=record["outputs"], summary=record["summary"], error=record["stop"])
        entry["elapsed_s"] = 0.0
        if run.session and not run.session.publish_cached(node.id, entry):
            record = None
    if not record:
        _execute(run, node, entry)
    run.save()
    run.view.node_finished(entry)
    if entry["error"]:
        entry["status"] = "stopped"
        raise HeadraceError.from_dict(entry["error"])


def _execute(run: Run, node: Node, entry: dict) -> None:
    entry.update(status="running", started=_now())
    run.view.node_started(node.id)
    run.save()
    begun = time.monotonic()
    listener = Listener(on_progress=lambda fraction, note: run.view.node_progress(node.id, fraction, note))
    try:
        if run.session is None:
            run.view.node_progress(node.id, 0.0, "loading TensorFlow and TFX")
            run.session = Session(run)
            run.view.node_progress(node.id, 0.0, "")
            entry["loading_s"] = round(time.monotonic() - begun, 2)
            begun = time.monotonic()
        outputs, outcome = run.session.run(node.id, listener)
    except HeadraceError as error:
        _failed(run, entry, error, begun)
    except Exception as error:
        _failed(run, entry, _unexpected(run, node, error), begun)
    entry.update(
        status="ran",
        elapsed_s=round(time.monotonic() - begun, 3),
        outputs=outputs,
        summary=outcome.summary,
        error=outcome.stop.to_dict() if outcome.stop else None,
    )
    run.store.save_record(
        node.id,
        {
            "key": entry["key"],
            "run_id": run.record["run_id"],
            "parts": entry["parts"],
            "outputs": outputs,
            "summary": entry["summary"],
            "stop": entry["error"],
            "elapsed_s": entry["elapsed_s"],
        },
    )


def _failed(run: Run, entry: dict, error: HeadraceError, begun: float) -> None:
    entry.update(status="failed", elapsed_s=round(time.monotonic() - begun, 3), error=error.to_dict())
    run.save()
    run.view.node_finished(entry)
    raise error


def _unexpected(run: Run, node: Node, error: Exception) -> HeadraceError:
    """Return an error that nobody foresaw, with the place and the file that holds the whole traceback."""
    from pipeline.system_errors import CODE_OF_ERRNO, errno_of, translate_os_error

    path = run.store.dir / run.record["run_id"] / "traceback.txt"
    path.write_text("".join(traceback.format_exception(error)), encoding="utf-8")
    if errno_of(error) in CODE_OF_ERRNO:
        return translate_os_error(error, str(run.store.dir))
    frames = traceback.extract_tb(error.__traceback__)
    own = [
        f for f in frames if f"{os.sep}components{os.sep}" in f.filename or f"{os.sep}pipeline{os.sep}" in f.filename
    ]
    last = (own or frames)[-1]
    return HeadraceError(
        "HR-SYS-900",
        f"{node.id} failed: {type(error).__name__}: {bounded(error, 200)}",
        seen=[f"{last.filename}:{last.lineno}   {last.line}"],
        fix=[f"the whole traceback is in {relative(str(path))}"],
    )


def _recorded(run: Run, node: Node, key: str) -> dict | None:
    """Return the record to take: by key, or the latest one for nodes that `--from` passes over."""
    record = run.store.record(node.id, key)
    if record or not run.request.from_node:
        return record
    earlier = run.store.records(node.id)
    if earlier:
        return earlier[-1]
    raise HeadraceError(
        "HR-CLI-004",
        f"--from {run.request.from_node} needs the outputs of {node.id}, which has never finished",
        fix=[f"headrace run {run.request.task.argument}"],
    )


def _input_digests(run: Run, node: Node) -> dict[str, str]:
    digests = {
        name: run.nodes[upstream]["outputs"].get(output, {}).get("digest", keys.ABSENT)
        for name, (upstream, output) in node.inputs.items()
    }
    known = run.store.remembered_digests()
    before = len(known)
    digests |= keys.outside_digests(node, run.record["config"], known)
    if len(known) != before:
        run.store.remember_digests(known)
    if node.id == "LatestBlessedModel":
        digests["baseline"] = _baseline(run, digests["candidate"])
    return digests


def _baseline(run: Run, candidate: str) -> str:
    """Return the digest of the latest blessed model that is not the candidate, as the resolver will find it."""
    if run.config.evaluate.baseline == "none":
        return keys.ABSENT
    blessed = [r["parts"]["inputs"]["model"] for r in run.store.records("Evaluator") if r["summary"].get("blessed")]
    return next((digest for digest in reversed(blessed) if digest != candidate), keys.ABSENT)


def _forced(request: Request, node_id: str) -> bool:
    return request.fresh or (request.from_node is not None and node_named(request.from_node).id in _ancestors(node_id))


def _ancestors(node_id: str) -> set[str]:
    """Return a node and everything that it depends on."""
    found = {node_id}
    for upstream in BY_ID[node_id].upstream:
        found |= _ancestors(upstream)
    return found


def _check_nodes(request: Request) -> None:
    for name in (request.from_node, request.to_node):
        if name is not None:
            node_named(name)


def node_named(name: str) -> Node:
    """Return a node by its id, whatever its case.

    Raises:
        HeadraceError: HR-CLI-002.
    """
    import difflib

    found = next((node for node in NODES if node.id.lower() == name.lower()), None)
    if found:
        return found
    close = difflib.get_close_matches(name, [node.id for node in NODES], 1, 0.4)
    raise HeadraceError(
        "HR-CLI-002",
        f"there is no node {name!r}" + (f"; did you mean {close[0]}?" if close else ""),
        expected="one of " + ", ".join(node.id for node in NODES),
    )


def _stop(run: Run, error: HeadraceError | None, status: str) -> None:
    run.record.update(status=status, error=error.to_dict() if error else None)
    for entry in run.nodes.values():
        if entry["status"] == "running":
            entry["status"] = "interrupted"


def _pending(node: Node) -> dict:
    return {
        "id": node.id,
        "status": "pending",
        "elapsed_s": 0.0,
        "started": None,
        "key": "",
        "upstream": list(node.upstream),
        "summary": {},
        "outputs": {},
        "parts": {},
        "error": None,
    }


def _new_record(request: Request, run_id: str) -> dict:
    config = request.task.config
    return {
        "task": config.name,
        "run_id": run_id,
        "started": _now(),
        "ended": None,
        "status": "running",
        "command": request.command or " ".join(["headrace", *sys.argv[1:]]),
        "resume": f"headrace run {request.task.argument}",
        "pid": os.getpid(),
        "stack": stack(),
        "devices": devices(),
        "serving_version": latest_version(serving_dir(config)),
        "split": config.split.model_dump(mode="json"),
        "config": config.model_dump(mode="json"),
        "config_sources": dict(request.task.sources),
        "error": None,
        "nodes": [],
    }


def latest_version(folder: str) -> int | None:
    """Return the highest version in a folder of numbered versions."""
    names = os.listdir(folder) if os.path.isdir(folder) else []
    return max((int(name) for name in names if name.isdigit()), default=None)


def _now() -> str:
    return datetime.now().astimezone().isoformat(timespec="milliseconds")


@contextmanager
def _sigterm_interrupts() -> Iterator[None]:
    """Treat SIGTERM as Ctrl-C, so that the run is recorded as interrupted."""

    def interrupt(signum, frame):
        raise KeyboardInterrupt

    try:
        before = signal.signal(signal.SIGTERM, interrupt)
    except ValueError:  # not the main thread
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
