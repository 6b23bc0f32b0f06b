"""Runs that a forkserver starts in a process with the libraries loaded, so that each killed run starts at once."""

import os
import signal
import threading

from pipeline import environment

environment.prepare()

import apache_beam  # noqa: E402, F401
import tensorflow as tf  # noqa: E402, F401
import tensorflow_transform.beam  # noqa: E402, F401
from tfx.orchestration.portable import launcher  # noqa: E402, F401


class Killer:
    """A view that kills its own process some time after a node has started."""

    def __init__(self, node_id: str, delay_s: float):
        self.node_id, self.delay_s = node_id, delay_s

    def node_started(self, node_id):
        if node_id == self.node_id:
            threading.Timer(self.delay_s, os.kill, (os.getpid(), signal.SIGKILL)).start()

    def __getattr__(self, name):
        return lambda *arguments: None


def run_and_die(folder: str, task: str, node_id: str, delay_s: float) -> None:
    os.chdir(folder)
    from pipeline.config.load import load_task
    from pipeline.local import runner

    runner.run(runner.Request(load_task(task)), Killer(node_id, delay_s))
    os.kill(os.getpid(), signal.SIGKILL)  # the node was quicker than the timer: die right after the run


def run_whole(folder: str, task: str) -> None:
    os.chdir(folder)
    from pipeline.config.load import load_task
    from pipeline.local import runner

    record = runner.run(runner.Request(load_task(task)), Killer("", 0))
    raise SystemExit(0 if record["status"] == "succeeded" else 1)
