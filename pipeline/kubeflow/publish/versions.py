"""Publish a compiled pipeline, any number of times: a version's name carries the hash of what it holds."""

from __future__ import annotations

import re
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipeline import __version__
from pipeline.errors import HeadraceError
from pipeline.kubeflow.package import Package
from pipeline.kubeflow.publish.client import Api, named

HASH_CHARS = 12
MAX_NAME = 127  # the server's column; source: backend/src/apiserver/model/pipeline_version.go
LABEL = r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?"
GIT_TIMEOUT_S = 10


@dataclass(frozen=True)
class Published:
    """A version on the server; `new` when this call created it."""

    pipeline: str
    pipeline_id: str
    version: str
    version_id: str
    sha256: str
    new: bool


def publish(api: Api, package: Package, label: str) -> Published:
    """Make the package a version of its pipeline; equal content that is there already is a success.

    Raises:
        HeadraceError: HR-KFP-050, 052, 053, 054, 062, 068.
    """
    version = version_name(package, label)
    pipeline_id = find_pipeline(api, package.name) or _create_pipeline(api, package)
    found = _find_version(api, pipeline_id, version)
    new = found is None
    if new:
        found, new = _upload(api, package, pipeline_id, version)
    if not new:
        _require_equal(found, package, version)
    return Published(package.name, pipeline_id, version, found.pipeline_version_id, package.sha256(), new)


def version_name(package: Package, label: str) -> str:
    """Return `<pipeline>-<label>-<hash>`: with the pipeline's name, because KFP before 2.17 mixed up equal ones.

    Raises:
        HeadraceError: HR-KFP-068.
    """
    name = f"{package.name}-{label}-{package.sha256()[:HASH_CHARS]}"
    if not re.fullmatch(LABEL, label) or len(name) > MAX_NAME:
        raise HeadraceError(
            "HR-KFP-068",
            f"a version cannot be labelled {label!r}",
            seen=[f"its name would be {name}, {len(name)} characters"],
            expected=f"lower case letters, digits, '-' and '.', at most {MAX_NAME} characters in all",
            fix=["--label v14"],
        )
    return name


def default_label(task_dir: str) -> str:
    """Return the commit when the task lies in a clean git tree, the version of headrace otherwise."""

    def git(*arguments: str) -> str | None:
        try:
            done = subprocess.run(
                ["git", "-C", task_dir, *arguments], capture_output=True, text=True, timeout=GIT_TIMEOUT_S
            )
        except (OSError, subprocess.TimeoutExpired):
            return None
        return done.stdout.strip() if done.returncode == 0 else None

    commit = git("rev-parse", "--short=12", "HEAD")
    return commit if commit and git("status", "--porcelain") == "" else __version__


def find_pipeline(api: Api, name: str) -> str | None:
    """Return the id of the pipeline with that name in the namespace, None when there is none.

    Raises:
        HeadraceError: as `Api.read`.
    """
    found = api.pages(
        "list pipelines",
        api.services.pipelines.pipeline_service_list_pipelines,
        "pipelines",
        namespace=api.namespace,
        filter=named(name),
    )
    # the filter takes upper for lower case
    return next((pipeline.pipeline_id for pipeline in found if pipeline.display_name == name), None)


def require_pipeline(api: Api, name: str) -> str:
    """Return the id of the pipeline with that name.

    Raises:
        HeadraceError: HR-KFP-059.
    """
    found = find_pipeline(api, name)
    if found is None:
        raise HeadraceError(
            "HR-KFP-059",
            f"there is no pipeline {name!r}",
            seen=[f"{api.host}, {f'namespace {api.namespace}' if api.namespace else 'no namespace'}"],
            expected="a pipeline that was published",
            fix=["headrace kubeflow publish TASK"],
        )
    return found


def _create_pipeline(api: Api, package: Package) -> str:
    """Create the pipeline without a version: uploading both at once would name the version like the pipeline."""
    import kfp_server_api

    fields = {"display_name": package.name, "description": package.pipeline["pipelineInfo"].get("description")}
    if "name" in kfp_server_api.V2beta1Pipeline.openapi_types:  # since 2.5: the name as a Kubernetes object
        fields["name"] = package.name
    created = api.write(
        f"create the pipeline {package.name}",
        api.services.pipelines.pipeline_service_create_pipeline,
        lambda: find_pipeline(api, package.name),
        body=kfp_server_api.V2beta1Pipeline(namespace=api.namespace, **fields),
    )
    return created if isinstance(created, str) else created.pipeline_id


def _find_version(api: Api, pipeline_id: str, name: str) -> Any:
    found = api.pages(
        "list versions",
        api.services.pipelines.pipeline_service_list_pipeline_versions,
        "pipeline_versions",
        pipeline_id=pipeline_id,
        filter=named(name),
    )
    return next((version for version in found if version.display_name == name), None)


def _upload(api: Api, package: Package, pipeline_id: str, name: str) -> tuple[Any, bool]:
    """Return the version and whether it was certainly this call that made it."""
    earlier = []

    def written() -> Any:
        found = _find_version(api, pipeline_id, name)
        earlier.extend([found] if found else [])
        return found

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "pipeline.yaml")
        file.write_text(package.text(), encoding="utf-8")
        version = api.write(
            f"upload {name}",
            api.services.pipeline_uploads.upload_pipeline_version,
            written,
            uploadfile=str(file),
            name=name,
            pipelineid=pipeline_id,
            description=f"sha256 {package.sha256()}",
        )
    return version, not earlier


def _require_equal(version: Any, package: Package, name: str) -> None:
    """Hold a version against the package as messages: the server writes numbers and defaults in its own way."""
    theirs = version.pipeline_spec or {}
    theirs = theirs if "pipeline_spec" in theirs else {"pipeline_spec": theirs}
    ours = {"pipeline_spec": package.pipeline, "platform_spec": package.platform}
    if _messages(theirs) != _messages(ours):
        raise HeadraceError(
            "HR-KFP-054",
            f"version {name} exists and holds another pipeline",
            seen=[f"id {version.pipeline_version_id}, made {version.created_at}"],
            expected=f"the content with sha256 {package.sha256()}",
            fix=["headrace kubeflow publish TASK --label ANOTHER"],
        )


def _messages(document: dict) -> Any:
    from google.protobuf import json_format
    from kfp.pipeline_spec import pipeline_spec_pb2

    try:
        return tuple(
            json_format.ParseDict(document.get(key) or {}, message(), ignore_unknown_fields=True)
            for key, message in (
                ("pipeline_spec", pipeline_spec_pb2.PipelineSpec),
                ("platform_spec", pipeline_spec_pb2.PlatformSpec),
            )
        )
    except json_format.ParseError:  # a workflow of Kubeflow Pipelines 1
        return None
