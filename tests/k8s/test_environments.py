"""Environment files and overlays say the same: namespace, names, addresses, and room for every step."""

from fractions import Fraction

import pytest

from pipeline.config.load import Layers, load_task, task_names
from pipeline.kubeflow.gate.quantity import parse_quantity
from pipeline.kubeflow.jobs.slices import slice_of
from pipeline.kubeflow.publish.logs import SINGLE_USER_NAMESPACE
from pipeline.nodes import NODES
from tests.k8s.built import ENVIRONMENT, K8S, OVERLAYS, named, of_kind, pod_templates

RUNS_AT_ONCE = 4  # k8s/components/namespace/quota.yaml says so


def cluster_of(folder: str, task: str = "flights"):
    return load_task(task, Layers(environment=ENVIRONMENT[folder])).config.kubernetes


def side_by_side() -> list[set[str]]:
    """Return, for each node, itself with all nodes that neither wait for it nor it for them: what may run with it."""
    before: dict[str, set[str]] = {}
    for node in NODES:
        before[node.id] = set(node.upstream).union(*(before[upstream] for upstream in node.upstream))
    return [
        {other.id for other in NODES if other.id not in before[node.id] and node.id not in before[other.id]}
        for node in NODES
    ]


@pytest.mark.parametrize("folder", OVERLAYS)
@pytest.mark.parametrize("task", task_names())
def test_every_task_loads_in_every_environment(folder, task):
    loaded = load_task(task, Layers(environment=ENVIRONMENT[folder]))
    assert loaded.sources["kubernetes.service_account"] == f"{ENVIRONMENT[folder]}.yaml"


@pytest.mark.parametrize("folder", OVERLAYS)
def test_namespace_and_account_are_those_of_the_overlay(folder):
    cluster = cluster_of(folder)
    account = named(folder, "ServiceAccount", cluster.service_account)
    assert account["metadata"]["namespace"] == (cluster.namespace or SINGLE_USER_NAMESPACE)


@pytest.mark.parametrize("folder", OVERLAYS)
def test_the_metadata_host_is_a_service_of_the_overlay(folder):
    metadata = cluster_of(folder).metadata
    service = named(folder, "Service", metadata.host)
    ports = {port["port"] for port in service["spec"].get("ports", [])}
    assert ports == ({metadata.port} if folder == "overlays/dev" else set())


def test_the_database_of_dev_is_the_one_that_steps_open():
    metadata = cluster_of("overlays/dev").metadata
    ((_, template),) = pod_templates("overlays/dev")
    (container,) = template["spec"]["containers"]
    variables = {variable["name"]: variable for variable in container["env"]}
    assert variables["MARIADB_DATABASE"]["value"] == metadata.database
    assert variables["MARIADB_USER"]["valueFrom"]["secretKeyRef"] == {"name": metadata.secret, "key": "username"}
    assert variables["MARIADB_PASSWORD"]["valueFrom"]["secretKeyRef"] == {"name": metadata.secret, "key": "password"}


@pytest.mark.parametrize("folder", OVERLAYS)
def test_every_volume_is_a_claim_of_the_overlay_that_many_nodes_may_write_to(folder):
    cluster = cluster_of(folder)
    claims = {claim["metadata"]["name"]: claim["spec"] for claim in of_kind(folder, "PersistentVolumeClaim")}
    used = {volume.claim for node in NODES for volume in cluster.step_of(node.id).volumes}
    assert used == set(claims)
    assert all(spec["accessModes"] == ["ReadWriteMany"] for spec in claims.values())


def test_the_data_job_writes_where_the_pipeline_of_dev_reads():
    from pipeline.kubeflow.compile import on_cluster

    loaded = load_task("digits", Layers(environment="dev"))
    ((_, template),) = pod_templates("data")
    (container,) = template["spec"]["containers"]
    data, name, to, folder = container["args"]
    assert (data, name, to) == ("data", "digits", "--to")
    assert f"{folder}/{name}" == on_cluster(loaded).data.path
    mounted = {mount["name"]: mount["mountPath"] for mount in container["volumeMounts"]}
    assert mounted["pipeline"] == loaded.config.kubernetes.pipeline_root


@pytest.mark.parametrize("folder", OVERLAYS)
def test_no_environment_names_an_image_and_production_holds_them_to_digests(folder):
    cluster = cluster_of(folder)
    assert not any(cluster.step_of(node.id).image for node in NODES)
    assert cluster.production == (folder != "overlays/dev")


@pytest.mark.parametrize("folder", ["overlays/prod", "overlays/gke-tpu"])
@pytest.mark.parametrize("resource", ["cpu", "memory"])
def test_the_quota_admits_as_many_runs_as_it_says(folder, resource):
    cluster = cluster_of(folder)
    (quota,) = of_kind(folder, "ResourceQuota")
    widest = max(total(cluster, ids, resource) for ids in side_by_side())
    assert widest * RUNS_AT_ONCE <= parse_quantity(quota["spec"]["hard"][f"requests.{resource}"])


@pytest.mark.parametrize("folder", ["overlays/prod", "overlays/gke-tpu"])
@pytest.mark.parametrize("resource", ["cpu", "memory"])
def test_the_limit_range_admits_every_step(folder, resource):
    cluster = cluster_of(folder)
    (limits,) = of_kind(folder, "LimitRange")
    largest = parse_quantity(limits["spec"]["limits"][0]["max"][resource])
    assert all(total(cluster, {node.id}, resource) <= largest for node in NODES)


def total(cluster, ids: set[str], resource: str) -> Fraction:
    """Return what some steps request, their workers' pods included."""
    found = Fraction(0)
    for node_id in ids:
        step = cluster.step_of(node_id)
        pods = 1 + (step.workers.replicas if step.workers else 0)
        found += pods * parse_quantity(getattr(step, resource))
    return found


def test_the_slice_of_gke_tpu_is_one_host_and_the_quota_admits_it():
    step = cluster_of("overlays/gke-tpu").step_of("Trainer")
    found = slice_of(step.workers, step)
    assert (found.hosts, found.chips_per_host) == (1, 4)
    (quota,) = of_kind("overlays/gke-tpu", "ResourceQuota")
    assert RUNS_AT_ONCE * found.chips_per_host <= int(quota["spec"]["hard"]["requests.google.com/tpu"])


def test_the_namespace_admits_the_rights_of_tpu_workers():
    labels = of_kind("overlays/gke-tpu", "Namespace")[0]["metadata"]["labels"]
    assert labels["pod-security.kubernetes.io/enforce"] == "privileged"
    assert (
        of_kind("overlays/prod", "Namespace")[0]["metadata"]["labels"]["pod-security.kubernetes.io/enforce"]
        == "baseline"
    )


def test_each_overlay_names_its_environment_file():
    for folder, name in ENVIRONMENT.items():
        assert f"environments/{name}.yaml" in (K8S / folder / "kustomization.yaml").read_text()
