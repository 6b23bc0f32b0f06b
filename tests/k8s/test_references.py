"""Nothing in k8s/ is unused, and nothing that it names is missing."""

from pathlib import Path

import pytest
import yaml

from tests.k8s.built import APPLIED, K8S, OVERLAYS, ROOT, matches, named, objects, of_kind, pod_templates

# (kind, name) that a person or Kubeflow makes: k8s/README.md says which
MADE_BY_HAND = {("Secret", "headrace-metadata")}
MADE_BY_KUBEFLOW = {("ConfigMap", "kfp-launcher"), ("Secret", "mlpipeline-minio-artifact")}
# resource -> verbs, and what uses them
RUNNER = {
    "workflowtaskresults": {"create", "patch"},  # Argo's executor
    "configmaps": {"get"},  # Kubeflow's launcher
    "secrets": {"get"},  # Kubeflow's launcher
    "jobsets": {"create", "get", "list", "watch", "patch", "delete"},  # pipeline/kubeflow/jobs
    "tfjobs": {"create", "get", "list", "watch", "patch", "delete"},
    "pods": {"get", "list", "watch"},
    "pods/log": {"get"},
    "events": {"list"},
}
PUBLISHER = {
    "pipelines": {"get", "list", "create"},
    "pipelines/versions": {"get", "list", "create"},
    "experiments": {"get", "list", "create"},
    "runs": {"get", "list", "create"},
    "jobs": {"get", "list", "create", "delete"},
}


def granted(folder: str, name: str) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for rule in named(folder, "Role", name)["rules"]:
        for resource in rule["resources"]:
            found.setdefault(resource, set()).update(rule["verbs"])
    return found


def reached(folder: Path) -> set[Path]:
    """Return the files that a folder with a kustomization.yaml is built from."""
    path = folder / "kustomization.yaml"
    found, values = {path}, yaml.safe_load(path.read_text())
    entries = [
        *values.get("resources", []),
        *values.get("components", []),
        *values.get("configurations", []),
        *(patch["path"] for patch in values.get("patches", [])),
    ]
    for entry in entries:
        target = (folder / entry).resolve()
        found |= reached(target) if target.is_dir() else {target}
    return found


def test_every_file_is_built_or_named_by_what_is():
    built = {path for folder in APPLIED for path in reached(K8S / folder)}
    readme = (K8S / "README.md").read_text()
    dockerfile = (ROOT / "Dockerfile").read_text()
    for path in K8S.rglob("*"):
        if path.is_dir() or path in built or path.name == "README.md":
            continue
        name = str(path.relative_to(ROOT))
        lock = str(path.relative_to(ROOT).with_suffix(".lock"))
        assert name in readme or name in dockerfile or lock in dockerfile, f"{name} is unused"


@pytest.mark.parametrize("folder", OVERLAYS)
def test_every_object_is_in_the_namespace_that_its_overlay_sets(folder):
    namespace = yaml.safe_load((K8S / folder / "kustomization.yaml").read_text())["namespace"]
    for one in objects(folder):
        if one["kind"] == "Namespace":
            assert one["metadata"]["name"] == namespace
        else:
            assert one["metadata"]["namespace"] == namespace, one["metadata"]["name"]
        for subject in one.get("subjects", []):
            assert subject["namespace"] == namespace


@pytest.mark.parametrize("folder", OVERLAYS)
def test_every_binding_joins_an_account_and_a_role_that_exist(folder):
    bindings = of_kind(folder, "RoleBinding")
    assert bindings
    for binding in bindings:
        named(folder, "Role", binding["roleRef"]["name"])
        for subject in binding["subjects"]:
            named(folder, subject["kind"], subject["name"])


@pytest.mark.parametrize("folder", OVERLAYS)
def test_the_roles_grant_what_is_used_and_no_more(folder):
    assert granted(folder, "headrace-runner") == RUNNER
    if folder != "overlays/dev":
        assert granted(folder, "headrace-publisher") == PUBLISHER
    for role in of_kind(folder, "Role"):
        assert "*" not in str(role["rules"])


def test_the_verbs_on_child_jobs_are_those_of_the_client_that_steps_use():
    from pipeline.kubeflow.jobs.api import KubernetesApi
    from pipeline.kubeflow.jobs.manifest import JOBSET, TFJOB

    calls = {name for name in vars(KubernetesApi) if not name.startswith("_")} - {"connect", "log"}
    assert {RUNNER[kind.plural] == calls for kind in (JOBSET, TFJOB)} == {True}
    groups = {
        rule["resources"][0]: rule["apiGroups"] for rule in named("overlays/prod", "Role", "headrace-runner")["rules"]
    }
    for kind in (JOBSET, TFJOB):
        assert groups[kind.plural] == [kind.api.split("/")[0]]


def test_the_runner_reads_only_the_settings_of_kubeflows_launcher():
    rules = named("overlays/dev", "Role", "headrace-runner")["rules"]
    held = {
        ({"configmaps": "ConfigMap", "secrets": "Secret"}[rule["resources"][0]], name)
        for rule in rules
        for name in rule.get("resourceNames", [])
    }
    assert held == MADE_BY_KUBEFLOW


def test_what_pods_name_exists_or_is_made_by_hand():
    there = {(one["kind"], one["metadata"]["name"]) for one in objects("overlays/dev")}
    for folder in ("overlays/dev", "data", "training"):
        for name, template in pod_templates(folder):
            for reference in references(template["spec"]):
                assert reference in there | MADE_BY_HAND, f"{name} needs {reference}"


def references(spec: dict) -> set[tuple[str, str]]:
    found = set()
    for container in spec["containers"] + spec.get("initContainers", []):
        for variable in container.get("env", []):
            source = variable.get("valueFrom", {})
            found |= {("Secret", source["secretKeyRef"]["name"])} if "secretKeyRef" in source else set()
            found |= {("ConfigMap", source["configMapKeyRef"]["name"])} if "configMapKeyRef" in source else set()
    for volume in spec["volumes"]:
        if "persistentVolumeClaim" in volume:
            found.add(("PersistentVolumeClaim", volume["persistentVolumeClaim"]["claimName"]))
        if "secret" in volume:
            found.add(("Secret", volume["secret"]["secretName"]))
        if "configMap" in volume:
            found.add(("ConfigMap", volume["configMap"]["name"]))
    if "serviceAccountName" in spec:
        found.add(("ServiceAccount", spec["serviceAccountName"]))
    return found


def test_the_readme_makes_the_secret_with_the_keys_that_steps_and_database_read():
    readme = (K8S / "README.md").read_text()
    for _, name in MADE_BY_HAND:
        assert f"create secret generic {name}" in readme
    assert "--from-literal=username=" in readme and "--from-literal=password=" in readme
    ((_, template),) = pod_templates("overlays/dev")
    keys = {
        variable["valueFrom"]["secretKeyRef"]["key"]
        for variable in template["spec"]["containers"][0]["env"]
        if "valueFrom" in variable
    }
    assert keys == {"username", "password"}


def test_the_database_is_what_its_service_and_its_budget_pick():
    labels = next(pod_templates("overlays/dev"))[1]["metadata"]["labels"]
    (service,) = of_kind("overlays/dev", "Service")
    assert matches({"matchLabels": service["spec"]["selector"]}, labels)
    for one in of_kind("overlays/dev", "PodDisruptionBudget", "StatefulSet"):
        assert matches(one["spec"]["selector"], labels), one["kind"]
    (database,) = of_kind("overlays/dev", "StatefulSet")
    assert database["spec"]["serviceName"] == service["metadata"]["name"]
