"""The Kubernetes objects of a pipeline hold to the published schemas, where those are at hand."""

from pathlib import Path

import jsonschema
import pytest
import yaml

from pipeline.kubeflow.package import Package
from pipeline.kubeflow.publish.custom_resources import custom_resources
from pipeline.kubeflow.publish.versions import version_name

PROJECT = Path(__file__).parents[4]


def schema(plural):
    file = PROJECT.parent / "shared" / "crds" / f"pipelines.kubeflow.org_{plural}.yaml"
    if file.is_file():
        return yaml.safe_load(file.read_text())["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    pytest.skip("no folder shared/crds with the published CustomResourceDefinitions beside the project")


def closed(node):
    """Make a structural schema refuse unknown fields, as a strict API server does."""
    if not isinstance(node, dict):
        return node
    made = {key: closed(value) for key, value in node.items()}
    if "properties" in node and node.get("type") == "object":
        made["additionalProperties"] = False
    return made


@pytest.fixture
def objects(package):
    return custom_resources(package, version_name(package, "v14"), "team-a")


@pytest.mark.parametrize("index, plural", [(0, "pipelines"), (1, "pipelineversions")])
def test_objects_hold_to_the_published_schema(objects, index, plural):
    jsonschema.Draft202012Validator(closed(schema(plural))).validate(objects[index])


def test_the_version_names_its_pipeline_and_holds_both_documents(objects, package):
    pipeline, version = objects
    assert version["spec"]["pipelineName"] == pipeline["metadata"]["name"] == "flights"
    assert version["metadata"]["name"] == version["spec"]["versionName"] == version_name(package, "v14")
    assert Package(version["spec"]["pipelineSpec"], version["spec"]["platformSpec"]).sha256() == package.sha256()
    assert version["metadata"]["annotations"] == {"headrace.dev/sha256": package.sha256()}
    assert {one["metadata"]["namespace"] for one in objects} == {"team-a"}


def test_without_a_namespace_or_a_platform_nothing_is_said_of_them(package):
    pipeline, version = custom_resources(Package(package.pipeline, {}), "x", "")
    assert "namespace" not in pipeline["metadata"] and "platformSpec" not in version["spec"]
