"""Packages whose steps are a few lines of Python, and a way to play them."""

import sys
from dataclasses import dataclass, field

import pytest

from pipeline.kubeflow.package import Package
from pipeline.kubeflow.simulate import Event, Options, simulate

DIGEST = "a" * 64


def step(code, *args, inputs=None, outputs=None, artifacts=None, task=None, definition=None, **container):
    """Return a task and its component: `code` runs with `args`; `inputs` is name -> (type, source)."""
    inputs = inputs or {}
    component = {
        "inputDefinitions": {
            "parameters": {name: {"parameterType": kind, **(definition or {})} for name, (kind, _) in inputs.items()}
        },
        "outputDefinitions": {
            "parameters": {name: {"parameterType": kind} for name, kind in (outputs or {}).items()},
            "artifacts": {
                name: {"artifactType": {"schemaTitle": title, "schemaVersion": "0.0.1"}}
                for name, title in (artifacts or {}).items()
            },
        },
    }
    given = {name: source for name, (_, source) in inputs.items() if source is not None}
    return {
        "task": {"inputs": {"parameters": given}, **(task or {})},
        "component": component,
        "container": {
            "image": f"registry.example/image@sha256:{DIGEST}",
            "command": ["python", "-c", code],
            "args": list(args),
            **container,
        },
    }


def dag(tasks, task=None, **component):
    """Return a task that runs other tasks."""
    return {"task": task or {}, "tasks": tasks, "component": component}


def package(tasks, parameters=None, platform=None):
    """Return the package of tasks by name; `platform` is the executor configuration by task name."""
    components, executors = {}, {}

    def add(tasks, prefix):
        found = {}
        for name, built in tasks.items():
            full = f"{prefix}{name}"
            found[name] = {
                "taskInfo": {"name": name},
                "componentRef": {"name": f"comp-{full}"},
                "cachingOptions": {},
                **built["task"],
            }
            if "tasks" in built:
                extra = dict(built["component"])
                outputs = {"outputs": extra.pop("outputs")} if "outputs" in extra else {}
                components[f"comp-{full}"] = {"dag": {"tasks": add(built["tasks"], f"{full}-"), **outputs}, **extra}
            else:
                components[f"comp-{full}"] = {"executorLabel": f"exec-{full}", **built["component"]}
                executors[f"exec-{full}"] = {"container": built["container"]}
        return found

    root = {"dag": {"tasks": add(tasks, "")}, "inputDefinitions": {"parameters": parameters or {}}}
    configured = {f"exec-{name}": config for name, config in (platform or {}).items()}
    return Package(
        {
            "pipelineInfo": {"name": "example"},
            "schemaVersion": "2.1.0",
            "root": root,
            "components": components,
            "deploymentSpec": {"executors": executors},
        },
        {"platforms": {"kubernetes": {"deploymentSpec": {"executors": configured}}}} if configured else {},
    )


@dataclass
class Player:
    """Plays packages in a folder of the test and keeps the events."""

    folder: object
    events: list[Event] = field(default_factory=list)
    played: int = 0

    def __call__(self, tasks, declared=None, platform=None, **options):
        """Play tasks and return the result."""
        self.played += 1
        self.events.clear()
        options = {"backoff_scale": 0.0, "grace_s": 5.0, **options}
        work = Options(self.folder / f"work-{self.played}", **options)
        return simulate(package(tasks, declared, platform), work, self.events.append)

    def lines(self, name):
        """Return what a step wrote."""
        return [event.text for event in self.events if event.kind == "line" and event.step == name]


@pytest.fixture
def play(tmp_path):
    """A player."""
    return Player(tmp_path)


@pytest.fixture
def build():
    """The builders `step`, `dag` and `package`."""
    return Builders


class Builders:
    """What tests build packages of."""

    step = staticmethod(step)
    dag = staticmethod(dag)
    package = staticmethod(package)
    python = sys.executable
