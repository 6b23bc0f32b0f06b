"""Every object of k8s/ is one that Kubernetes takes, and says how its pods may run."""

import jsonschema
import kubernetes_validate
import pytest
import yaml

from tests.k8s.built import APPLIED, ROOT, named, objects, of_kind, pod_templates

CRDS = ROOT.parent / "shared" / "crds"
CUSTOM = {"JobSet": "jobset.x-k8s.io_jobsets.yaml"}
KUBERNETES = "1.37"


def schema_of(kind: str) -> dict:
    path = CRDS / CUSTOM[kind]
    if not path.exists():
        pytest.skip(f"the published schema of {kind} is not beside the project: {path.name}")
    definition = yaml.safe_load(path.read_text())
    return definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]


@pytest.mark.parametrize("folder", APPLIED)
def test_every_object_validates_strictly(folder):
    found = [one for one in objects(folder) if one["kind"] not in CUSTOM]
    for one in found:
        kubernetes_validate.validate(one, KUBERNETES, strict=True)
    assert found or folder == "training"


def test_a_misspelt_field_would_be_found():
    (service,) = of_kind("overlays/dev", "Service")
    service["spec"]["port"] = service["spec"].pop("ports")
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(service, KUBERNETES, strict=True)


def test_the_jobset_validates_against_its_published_schema():
    (jobset,) = of_kind("training", "JobSet")
    schema = schema_of("JobSet")
    jsonschema.validate(jobset, schema)
    assert not unknown(jobset, schema), "fields that the schema does not have are dropped by the server"


def unknown(value, schema: dict, where: str = "") -> list[str]:
    """Return the fields of a value that its schema does not name."""
    if isinstance(value, list):
        return [found for each in value for found in unknown(each, schema.get("items", {}), f"{where}[]")]
    if not isinstance(value, dict) or "properties" not in schema:
        return []
    known = schema["properties"]
    return [
        found
        for key, each in value.items()
        for found in (unknown(each, known[key], f"{where}.{key}") if key in known else [f"{where}.{key}"])
    ]


@pytest.mark.parametrize("folder", ["overlays/dev", "data", "training"])
def test_every_pod_has_no_more_rights_than_it_needs(folder):
    templates = list(pod_templates(folder))
    assert templates
    for name, template in templates:
        spec = template["spec"]
        assert spec["securityContext"]["runAsNonRoot"] is True, name
        assert spec["securityContext"].get("runAsUser") != 0, name
        assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}, name
        assert spec["automountServiceAccountToken"] is False, name
        assert not {"hostNetwork", "hostPID", "hostIPC"} & set(spec), name
        for container in spec["containers"] + spec.get("initContainers", []):
            assert container["securityContext"] == {
                "allowPrivilegeEscalation": False,
                "readOnlyRootFilesystem": True,
                "capabilities": {"drop": ["ALL"]},
            }, name
            assert {"cpu", "memory"} <= set(container["resources"]["requests"]), name
            assert {"cpu", "memory"} <= set(container["resources"]["limits"]), name
            mounted = {mount["mountPath"]: mount["name"] for mount in container["volumeMounts"]}
            scratch = {volume["name"] for volume in spec["volumes"] if "emptyDir" in volume}
            assert mounted["/tmp"] in scratch, name


def test_what_runs_headraces_image_as_a_job_runs_as_its_user():
    uid = "10001"
    assert f"useradd --uid {uid}" in (ROOT / "Dockerfile").read_text()
    ((_, template),) = pod_templates("data")
    context = template["spec"]["securityContext"]
    assert [context[key] for key in ("runAsUser", "runAsGroup", "fsGroup")] == [int(uid)] * 3


def test_the_database_says_when_it_is_ready_and_when_it_is_stuck():
    (database,) = of_kind("overlays/dev", "StatefulSet")
    (container,) = database["spec"]["template"]["spec"]["containers"]
    assert {"startupProbe", "readinessProbe", "livenessProbe"} <= set(container)
    startup = container["startupProbe"]
    assert startup["periodSeconds"] * startup["failureThreshold"] == 300  # a first start makes the system tables


def test_the_runners_token_is_mounted_because_argo_and_the_launcher_need_it():
    for folder in ("overlays/dev", "overlays/prod", "overlays/gke-tpu"):
        account = named(folder, "ServiceAccount", "headrace-runner")
        assert account.get("automountServiceAccountToken", True) is True


def test_no_file_holds_a_secret():
    assert not [one for folder in APPLIED for one in of_kind(folder, "Secret")]


def test_no_container_may_use_more_than_its_namespace_lets_it():
    for folder in ("overlays/prod", "overlays/gke-tpu"):
        (limits,) = of_kind(folder, "LimitRange")
        (container,) = limits["spec"]["limits"]
        assert set(container["defaultRequest"]) == {"cpu", "memory"}  # Argo's containers request nothing
