"""The images can be built from what is tracked, and their locks hold what their programs import."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.k8s.built import K8S, ROOT

STDLIB = sys.stdlib_module_names
OWN = ("pipeline", "components")
MODULE_OF = {"pyyaml": "yaml", "tf-keras": "tf_keras", "tensorflow-tpu": "tensorflow"}
NOT_ON_WORKERS = {"tensorflow_transform", "kubernetes", "tfx", "ml_metadata"}  # inside functions that only steps call


def stages() -> dict[str, list[str]]:
    """Return the Dockerfile's stages by name, the last one as `default`, each as its instructions."""
    text = re.sub(r"\\\n", " ", (ROOT / "Dockerfile").read_text())
    found: dict[str, list[str]] = {}
    for line in text.splitlines():
        if line.startswith("FROM "):
            name = re.search(r" AS (\S+)", line)
            current = found.setdefault(name[1] if name else "default", [])
        if re.match(r"[A-Z]+ ", line) and found:
            current.append(line)
    return found


def pinned(lock: Path) -> dict[str, str]:
    return dict(re.findall(r"^([a-z0-9-]+)==(\S+)", lock.read_text(), re.M))


def ignored(path: str) -> bool:
    """Say whether .dockerignore, which lets in only what it names, leaves a path out."""
    admitted = [line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")]
    return not any(path == line or (line.endswith("/**") and (path + "/").startswith(line[:-2])) for line in admitted)


def test_every_copied_file_is_there_and_in_the_build_context():
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, timeout=60).stdout.split()
    for name, lines in stages().items():
        for line in lines:
            words = line.split()
            if words[0] != "COPY" or words[1].startswith("--from="):
                continue
            for source in words[1:-1]:
                assert any(path == source or path.startswith(f"{source}/") for path in tracked), f"{name}: {source}"
                assert not ignored(source), f"{name}: {source} is not in .dockerignore's list"


def test_every_stage_that_another_builds_on_exists_before_it():
    found = list(stages().items())
    for place, (name, lines) in enumerate(found):
        before = {"${BASE}", *(earlier for earlier, _ in found[:place])}
        sources = [lines[0].split()[1], *re.findall(r"--from=(\S+)", "\n".join(lines))]
        assert set(sources) <= before, name


@pytest.mark.parametrize("target", ["default", "gpu", "tpu"])
def test_every_image_runs_as_the_user_that_the_manifests_name(target):
    users = [line.split()[1] for line in stages()[target] if line.startswith("USER ")]
    assert users == ["10001:10001"]


def test_the_gpu_image_differs_by_nvidias_wheels_alone():
    current = (ROOT / "requirements/current.lock").read_text()
    pins = set(re.findall(r"^([a-z0-9-]+)==(\S+)", current, re.M))  # of some packages one for each Python
    added = pinned(K8S / "images/gpu.lock")
    others = {name: version for name, version in added.items() if not name.startswith("nvidia-")}
    assert others.items() <= pins
    assert {"nvidia-cudnn-cu12", "nvidia-nccl-cu12", "nvidia-cublas-cu12"} <= set(added)
    assert "nvidia-" not in current


def test_the_tpu_image_has_one_tensorflow_and_a_keras_that_fits_it():
    lock = pinned(K8S / "images/tpu.lock")
    assert "tensorflow" not in lock and "tfx" not in lock
    assert lock["tensorflow-tpu"].split(".")[:2] == lock["tf-keras"].split(".")[:2]
    assert int(lock["protobuf"].split(".")[0]) < 7


@pytest.mark.parametrize("name", ["gpu", "tpu"])
def test_every_pin_has_a_hash_and_no_lock_names_an_address(name):
    text = (K8S / f"images/{name}.lock").read_text()
    assert text.count("==") == len(re.findall(r"==\S+ \\\n    --hash=sha256:[0-9a-f]{64}", text))
    assert "://" not in text


@pytest.mark.parametrize("name", ["gpu", "tpu"])
def test_every_lock_holds_what_its_list_asks_for(name):
    asked = re.findall(r"^([a-z0-9-]+)", (K8S / f"images/{name}.in").read_text(), re.M)
    lock = pinned(K8S / f"images/{name}.lock")
    assert {package for package in asked if package != "-c"} - {"-"} <= set(lock)


@pytest.mark.parametrize("module", ["pipeline.kubeflow.worker", "pipeline.kubeflow.jobs.bootstrap"])
def test_the_tpu_image_has_all_that_a_worker_imports(module):
    asked = re.findall(r"^([a-z0-9-]+)[=><]", (K8S / "images/tpu.in").read_text() + "\n", re.M)
    listed = re.findall(r"^([a-z0-9-]+)", (K8S / "images/tpu.in").read_text(), re.M)
    known = {
        MODULE_OF.get(name, name.replace("-", "_")) for name in {*asked, *listed, *pinned(K8S / "images/tpu.lock")}
    }
    assert imported(module) - NOT_ON_WORKERS <= known


def imported(module: str) -> set[str]:
    """Return the foreign packages that a module and those of ours that it imports at once name anywhere."""
    waiting, seen, foreign = [module], set(), set()
    while waiting:
        name = waiting.pop()
        path = ROOT / name.replace(".", "/")
        path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
        if name in seen or not path.exists():
            continue
        seen.add(name)
        tree = ast.parse(path.read_text())
        for node in tree.body:
            for found in names(node):
                if found.split(".")[0] in OWN:
                    waiting += [found, found.rpartition(".")[0]]
                elif found.split(".")[0] not in STDLIB:
                    foreign.add(found.split(".")[0])
    return foreign


def names(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom) and node.module:
        return [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    return []
