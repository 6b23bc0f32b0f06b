"""The objects that kubectl builds from the folders of k8s/."""

from __future__ import annotations

import functools
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
K8S = ROOT / "k8s"
OVERLAYS = ("overlays/dev", "overlays/prod", "overlays/gke-tpu")
APPLIED = (*OVERLAYS, "data", "training")
ENVIRONMENT = {"overlays/dev": "dev", "overlays/prod": "prod", "overlays/gke-tpu": "gke-tpu"}
KUSTOMIZE = 5  # the major version whose components and labels these folders use


@functools.cache
def why_not() -> str:
    """Return why kubectl cannot build here; empty when it can."""
    kubectl = shutil.which("kubectl")
    if not kubectl:
        return "no kubectl on PATH: apt-get install kubernetes-client"
    said = subprocess.run([kubectl, "version", "--client"], capture_output=True, text=True, timeout=60).stdout
    found = re.search(r"Kustomize Version: v(\d+)", said)
    if not found or int(found[1]) < KUSTOMIZE:
        return f"kubectl with kustomize {KUSTOMIZE} or newer is needed, this one says: {' '.join(said.split())}"
    return ""


@functools.cache
def text(folder: str) -> str:
    """Return what `kubectl kustomize` prints for a folder below k8s/; skips the test where it cannot."""
    if reason := why_not():
        pytest.skip(reason)
    done = subprocess.run(["kubectl", "kustomize", K8S / folder], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert not done.stderr, done.stderr  # kustomize warns of what it will drop
    return done.stdout


def objects(folder: str) -> list[dict]:
    """Return the objects of a folder below k8s/."""
    return [found for found in yaml.safe_load_all(text(folder)) if found]


def of_kind(folder: str, *kinds: str) -> list[dict]:
    """Return the objects of some kinds."""
    return [found for found in objects(folder) if found["kind"] in kinds]


def named(folder: str, kind: str, name: str) -> dict:
    """Return one object."""
    (found,) = (one for one in of_kind(folder, kind) if one["metadata"]["name"] == name)
    return found


def pod_templates(folder: str) -> Iterator[tuple[str, dict]]:
    """Yield name and template of everything that makes pods."""
    for found in objects(folder):
        spec = found.get("spec") or {}
        name = f"{found['kind']}/{found['metadata']['name']}"
        if found["kind"] == "JobSet":
            for job in spec["replicatedJobs"]:
                yield name, job["template"]["spec"]["template"]
        elif "template" in spec:
            yield name, spec["template"]


def matches(selector: dict, labels: dict) -> bool:
    """Say whether a label selector picks labels; an empty one picks all."""
    wanted = selector.get("matchLabels") or {}
    expressions = selector.get("matchExpressions") or []
    assert all(one["operator"] == "In" for one in expressions), "only In is understood here"
    return all(labels.get(key) == value for key, value in wanted.items()) and all(
        labels.get(one["key"]) in one["values"] for one in expressions
    )
