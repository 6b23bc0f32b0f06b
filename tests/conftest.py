"""Shared by all tests: the environment of TensorFlow, one small real table, one finished run."""

import json
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

from pipeline import environment

TASK = Path(__file__).parent / "e2e" / "tumours"


def pytest_configure(config):
    """TensorFlow reads its environment when it is imported: before any test is."""
    environment.prepare()


def write_tumours(path: Path, rows: int | None = None) -> None:
    """Write scikit-learn's breast cancer table as CSV with one column of words."""
    from sklearn.datasets import load_breast_cancer

    data = load_breast_cancer()
    names = ["mean radius", "mean texture", "mean concavity", "worst area"]
    columns = [data.data[:, list(data.feature_names).index(name)] for name in names]
    lines = ["mean_radius,mean_texture,mean_concavity,worst_area,size,malignant"]
    for *numbers, target in list(zip(*columns, data.target, strict=True))[:rows]:
        size = "small" if numbers[0] < 12 else "medium" if numbers[0] < 15 else "large"
        lines.append(",".join([*(f"{number:.5f}" for number in numbers), size, str(1 - target)]))
    path.write_text("\n".join(lines) + "\n")


@dataclass
class Workspace:
    """A folder with the table and the task, and a command line in it."""

    dir: Path

    @property
    def task(self) -> str:
        """The task's folder, as an argument."""
        return str(self.dir / "tumours")

    @property
    def runs(self) -> Path:
        """Where runs of the task go."""
        return self.dir / "runs" / "tumours"

    def headrace(self, *arguments: str) -> int:
        """Run the command line in this process and return its exit code."""
        import os

        from pipeline import keys
        from pipeline.cli import main

        keys.closure.cache_clear()  # one process stands for many here
        keys.imported_files.cache_clear()
        keys.code_digest.cache_clear()
        before = os.getcwd()
        os.chdir(self.dir)
        try:
            main(list(arguments), standalone_mode=False)
            return 0
        except SystemExit as stop:
            return stop.code
        finally:
            os.chdir(before)

    def run(self, *options: str) -> int:
        """Run the pipeline."""
        return self.headrace("run", self.task, *options)

    def last(self) -> dict:
        """Return the latest run record, nodes by id."""
        record = json.loads(sorted(self.runs.glob("*/run.json"), key=lambda path: path.stat().st_mtime)[-1].read_text())
        return {**record, "nodes": {node["id"]: node for node in record["nodes"]}}

    def statuses(self) -> dict[str, str]:
        """Return the status of each node of the latest run."""
        return {name: node["status"] for name, node in self.last()["nodes"].items()}


def make_workspace(folder: Path) -> Workspace:
    """Write table and task into a folder."""
    shutil.copytree(TASK, folder / "tumours", ignore=shutil.ignore_patterns("__pycache__"))
    write_tumours(folder / "tumours.csv")
    return Workspace(folder)


@pytest.fixture(scope="session")
def finished(tmp_path_factory) -> Workspace:
    """A workspace in which the pipeline has run once. Tests leave it as it is."""
    workspace = make_workspace(tmp_path_factory.mktemp("finished"))
    assert workspace.run() == 0
    return workspace


@pytest.fixture
def copy_of_finished(finished, tmp_path) -> Workspace:
    """A finished workspace of one's own; its records name the copied files."""
    import sqlite3

    shutil.copytree(finished.dir, tmp_path / "w")
    before, after = str(finished.dir), str(tmp_path / "w")
    runs = tmp_path / "w" / "runs" / "tumours"
    for path in [*runs.glob("records/*/*.json"), *runs.glob("*/run.json")]:
        path.write_text(path.read_text().replace(before, after))
    with sqlite3.connect(runs / "metadata.sqlite") as store:
        store.execute("UPDATE Artifact SET uri = replace(uri, ?, ?)", (before, after))
    store.close()
    return Workspace(tmp_path / "w")


@pytest.fixture
def workspace(tmp_path) -> Workspace:
    """A workspace in which nothing has run."""
    return make_workspace(tmp_path)


@pytest.fixture(scope="session")
def s3_environ():
    """The variables that find an S3 server on loopback."""
    from tests.object_store import s3_server

    with s3_server() as environ:
        yield environ


@pytest.fixture
def object_store(s3_environ, monkeypatch):
    """The S3 server's files, and this process set up to find it."""
    import fsspec

    for name, value in s3_environ.items():
        monkeypatch.setenv(name, value)
    fsspec.get_filesystem_class("s3").clear_instance_cache()
    return fsspec.filesystem("s3", use_listings_cache=False)
