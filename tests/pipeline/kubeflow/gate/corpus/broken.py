"""A good package that cases break, and the list that they enter."""

from pipeline.kubeflow.package import Package

EXECUTORS = "deploymentSpec.executors"
TASKS = "components.comp-pipeline.dag.tasks"
PLATFORM = "platforms.kubernetes.deploymentSpec.executors"


class Broken:
    """A good package with short names for the places that the cases change."""

    def __init__(self, package: Package):
        self.package = package
        self.pipeline = package.pipeline
        self.root = package.pipeline["root"]
        self.components = package.pipeline["components"]
        self.tasks = self.components["comp-pipeline"]["dag"]["tasks"]
        self.executors = package.pipeline["deploymentSpec"]["executors"]
        self.platform = package.platform["platforms"]["kubernetes"]["deploymentSpec"]["executors"]

    def container(self, step: str) -> dict:
        return self.executors[f"exec-{step}"]["container"]

    def add_task(self, name: str, **task) -> None:
        """Add a task in the manner of the others, with a container of its own."""
        self.tasks[name] = {"componentRef": {"name": f"comp-{name}"}, **task}
        self.components.setdefault(f"comp-{name}", {"executorLabel": f"exec-{name}"})
        container = {**self.container("trainer"), "args": [name]}
        self.executors.setdefault(f"exec-{name}", {"container": container})


class Cases(list):
    """The cases of one module; `@cases(rule, where)` adds a change, the rule that must find it, and the place."""

    def __call__(self, rule: str, where: str):
        def register(change):
            self.append((rule, where, change))
            return change

        return register
