"""headrace's pods reach what they need and nothing else: the policies, read as a list of allowed flows."""

import pytest

from pipeline.config.kubernetes import StepConfig, WorkersConfig
from pipeline.config.load import Layers, load_task
from tests.k8s.built import ENVIRONMENT, OVERLAYS, matches, of_kind, pod_templates

PART_OF, COMPONENT = "app.kubernetes.io/part-of", "app.kubernetes.io/component"
COMPONENTS = ("step", "worker", "data", "database")
ANY = "anywhere"
KUBEFLOW = ("kubeflow", (8080, 8333, 8887, 8888, 9000))
HTTPS = (ANY, (443, 6443))
WORKERS = ("worker", ())
METADATA_SERVER = [("169.254.169.252/32", (988,)), ("169.254.169.254/32", (80,))]
FLOWS = {
    "overlays/dev": {
        "step": [HTTPS, KUBEFLOW, ("database", (3306,))],
        "worker": [HTTPS, WORKERS],
        "data": [HTTPS],
        "database": [],
    },
    "overlays/prod": {
        "step": [HTTPS, KUBEFLOW, ("192.0.2.0/24", (3306,))],
        "worker": [HTTPS, WORKERS],
        "data": [HTTPS],
        "database": [],
    },
}
FLOWS["overlays/gke-tpu"] = {
    **FLOWS["overlays/prod"],
    "step": [*FLOWS["overlays/prod"]["step"], *METADATA_SERVER],
    "worker": [HTTPS, WORKERS, *METADATA_SERVER],
}


def labels_of(component: str) -> dict[str, str]:
    return {PART_OF: "headrace", COMPONENT: component}


def egress(folder: str, component: str) -> list[tuple[str, tuple]]:
    """Return (peer, ports) that a pod may reach, less name resolution."""
    found = []
    for policy in of_kind(folder, "NetworkPolicy"):
        spec = policy["spec"]
        if not matches(spec["podSelector"], labels_of(component)):
            continue
        for rule in spec.get("egress", []):
            ports = tuple(sorted(port["port"] for port in rule.get("ports", [])))
            peers = [peer_name(peer) for peer in rule.get("to", [])] or [ANY]
            found += [(peer, ports) for peer in peers if ports != (53, 53)]
    return sorted(found)


def peer_name(peer: dict) -> str:
    if "ipBlock" in peer:
        return peer["ipBlock"]["cidr"]
    if "namespaceSelector" in peer:
        return peer["namespaceSelector"]["matchLabels"]["kubernetes.io/metadata.name"]
    return peer["podSelector"]["matchLabels"][COMPONENT]


@pytest.mark.parametrize("folder", OVERLAYS)
@pytest.mark.parametrize("component", COMPONENTS)
def test_a_pod_reaches_exactly_what_it_needs(folder, component):
    assert egress(folder, component) == sorted(FLOWS[folder][component])


@pytest.mark.parametrize("folder", OVERLAYS)
@pytest.mark.parametrize("component", COMPONENTS)
def test_everything_else_is_denied_both_ways(folder, component):
    denied = [
        policy
        for policy in of_kind(folder, "NetworkPolicy")
        if set(policy["spec"]) == {"podSelector", "policyTypes"}
        and matches(policy["spec"]["podSelector"], labels_of(component))
    ]
    assert [set(policy["spec"]["policyTypes"]) for policy in denied] == [{"Ingress", "Egress"}]


@pytest.mark.parametrize("folder", OVERLAYS)
def test_pods_that_are_not_headraces_are_left_alone(folder):
    foreign = {"app": "ml-pipeline", "pipelines.kubeflow.org/v2_component": "true"}
    for policy in of_kind(folder, "NetworkPolicy"):
        assert not matches(policy["spec"]["podSelector"], foreign), policy["metadata"]["name"]


def test_the_database_lets_in_what_steps_send():
    (policy,) = (one for one in of_kind("overlays/dev", "NetworkPolicy") if one["spec"]["policyTypes"] == ["Ingress"])
    (rule,) = policy["spec"]["ingress"]
    (peer,) = rule["from"]
    assert matches(peer["podSelector"], labels_of("step"))
    (container,) = next(pod_templates("overlays/dev"))[1]["spec"]["containers"]
    assert {port["name"]: port["containerPort"] for port in container["ports"]}[rule["ports"][0]["port"]] == 3306


@pytest.mark.parametrize(
    ("folder", "component"), [("overlays/dev", "database"), ("data", "data"), ("training", "worker")]
)
def test_pods_of_these_folders_carry_the_labels_that_policies_pick(folder, component):
    for name, template in pod_templates(folder):
        assert labels_of(component).items() <= template["metadata"]["labels"].items(), name


def test_workers_that_a_step_starts_carry_the_labels_that_policies_pick():
    from pipeline.kubeflow.jobs.child import ChildJob, Owner

    job = ChildJob("r", "Trainer", "p", "n", "i", ["c"], WorkersConfig(), StepConfig(), 60, Owner("p", "u", "n"))
    assert labels_of("worker").items() <= job.labels.items()


@pytest.mark.parametrize("folder", OVERLAYS)
def test_steps_carry_the_labels_that_policies_pick(folder):
    from pipeline.kubeflow.compile import compile_package
    from pipeline.kubeflow.ir import EncodedNode
    from pipeline.nodes import NODES

    layers = Layers(("kubernetes.step.image=i", "kubernetes.pipeline_root=/pipeline"), ENVIRONMENT[folder])
    config = load_task("digits", layers).config
    package = compile_package(config, {node.id: EncodedNode("0" * 64, "eA==") for node in NODES})
    executors = package.platform["platforms"]["kubernetes"]["deploymentSpec"]["executors"]
    assert len(executors) == len(NODES) + 1
    for executor in executors.values():
        assert labels_of("step").items() <= executor["podMetadata"]["labels"].items()
