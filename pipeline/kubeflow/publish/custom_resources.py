"""A pipeline and its version as Kubernetes objects, for GitOps: applied with kubectl, Argo CD or Flux.

Needs an API server that keeps pipelines in Kubernetes (`--pipelinesStoreKubernetes`, KFP 2.5 and later). Schedules have
no such objects. Source: kubeflow/pipelines backend/src/crd/kubernetes/v2beta1 and
backend/src/apiserver/webhook/pipelineversion_webhook.go.
"""

from __future__ import annotations

from pipeline.kubeflow.package import Package

API_VERSION = "pipelines.kubeflow.org/v2beta1"
SHA256 = "headrace.dev/sha256"


def custom_resources(package: Package, version: str, namespace: str) -> list[dict]:
    """Return the Pipeline and the PipelineVersion objects of a package.

    Args:
        package: the compiled pipeline.
        version: its version's name, as `version_name` gives it.
        namespace: where the objects go; empty leaves it to the one who applies them.
    """
    description = package.pipeline["pipelineInfo"].get("description", "")
    place = {"namespace": namespace} if namespace else {}
    pipeline = {
        "apiVersion": API_VERSION,
        "kind": "Pipeline",
        "metadata": {"name": package.name, **place},
        "spec": {"displayName": package.name, "description": description},
    }
    spec = {
        "pipelineName": package.name,
        "versionName": version,
        "displayName": version,
        "description": description,
        "pipelineSpec": package.pipeline,
    }
    if package.platform:
        spec["platformSpec"] = package.platform
    one_version = {
        "apiVersion": API_VERSION,
        "kind": "PipelineVersion",
        "metadata": {"name": version, **place, "annotations": {SHA256: package.sha256()}},
        "spec": spec,
    }
    return [pipeline, one_version]
