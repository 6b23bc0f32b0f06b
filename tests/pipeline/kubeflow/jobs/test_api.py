"""What the API server refuses, in the terms of whoever can change it; faults that pass are tried again."""

import pytest

from pipeline.errors import HeadraceError
from pipeline.kubeflow.jobs import taking
from pipeline.kubeflow.jobs.api import KubernetesApi
from pipeline.kubeflow.jobs.manifest import JOBSET, jobset
from tests.pipeline.kubeflow.jobs.conftest import child_job
from tests.pipeline.kubeflow.jobs.fake_kubernetes import JOBSETS, PODS, Fault

PLACE = taking.place_of(JOBSET)
FORBIDDEN = (
    'jobsets.jobset.x-k8s.io is forbidden: User "system:serviceaccount:team:headrace-runner" cannot create resource '
    '"jobsets" in API group "jobset.x-k8s.io" in the namespace "team"'
)
QUOTA = (
    'jobsets.jobset.x-k8s.io "x" is forbidden: exceeded quota: jobs, requested: count/jobsets=1, used: 5, limited: 5'
)


def refused(cluster, status, message, verb="create"):
    cluster.faults.append(Fault(verb, JOBSETS, status, message, count=99))
    api = cluster.api(retry_s=0.3)
    with pytest.raises(HeadraceError) as error:
        api.create(PLACE, "team", jobset(child_job())) if verb == "create" else api.list(PLACE, "team")
    return error.value


@pytest.mark.parametrize(
    "status, message, code, family, what",
    [
        (403, FORBIDDEN, "HR-KFP-074", "user", "the step's service account may not create jobsets"),
        (403, QUOTA, "HR-KFP-073", "transient", "the namespace's quota has no room for the workers"),
        (403, "admission webhook denied", "HR-KFP-083", "user", "Kubernetes refused to create jobsets"),
        (422, "spec.x: Invalid value", "HR-KFP-083", "user", "Kubernetes refused to create jobsets"),
        (401, "Unauthorized", "HR-KFP-072", "system", "the step has no access to the Kubernetes API"),
        (404, "page not found", "HR-KFP-084", "user", "the cluster does not know jobsets, or not that namespace"),
        (503, "etcd", "HR-KFP-081", "transient", "the Kubernetes API does not answer"),
    ],
)
def test_each_refusal_has_its_code_and_the_servers_message(cluster, status, message, code, family, what):
    error = refused(cluster, status, message)
    assert (error.code, error.family, error.what) == (code, family, what)
    assert message[:60] in error.seen[0]


def test_a_missing_right_is_told_with_the_place_that_grants_it(cluster):
    error = refused(cluster, 403, FORBIDDEN.replace("create", "list"), verb="list")
    assert error.what == "the step's service account may not list jobsets"
    assert error.fix[0] == "apply k8s/base/runner.yaml, Role headrace-runner"


@pytest.mark.parametrize("status", [429, 500, 502, 503, 504])
def test_a_fault_that_passes_is_tried_again(cluster, status):
    cluster.faults.append(Fault("create", JOBSETS, status, count=2))
    assert cluster.api().create(PLACE, "team", jobset(child_job()))["metadata"]["uid"]
    assert len(cluster.requests("create", JOBSETS)) == 3


def test_a_refusal_is_not_tried_again(cluster):
    refused(cluster, 403, FORBIDDEN)
    assert len(cluster.requests("create", JOBSETS)) == 1


def test_a_server_that_is_gone_is_reported_after_a_while(cluster):
    from kubernetes import client

    configuration = client.Configuration(host="http://127.0.0.1:1")
    configuration.retries = False
    with pytest.raises(HeadraceError) as error:
        KubernetesApi(client.ApiClient(configuration), retry_s=0.2).get(PLACE, "team", "x")
    assert error.value.code == "HR-KFP-081"
    assert error.value.what == "the Kubernetes API does not answer, for 0.2 s"


def test_a_machine_without_a_cluster_is_told_so(monkeypatch, tmp_path):
    from kubernetes.config import kube_config

    monkeypatch.setattr(kube_config, "KUBE_CONFIG_DEFAULT_LOCATION", str(tmp_path / "none"))
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    with pytest.raises(HeadraceError) as error:
        KubernetesApi.connect()
    assert error.value.code == "HR-KFP-072"


def test_a_context_of_kubectl_is_used_outside_of_a_pod(cluster, monkeypatch, tmp_path):
    from kubernetes.config import kube_config

    (tmp_path / "config").write_text(
        f"""
        apiVersion: v1
        kind: Config
        current-context: here
        contexts: [{{name: here, context: {{cluster: fake, user: me}}}}]
        clusters: [{{name: fake, cluster: {{server: "{cluster.host}"}}}}]
        users: [{{name: me, user: {{token: secret}}}}]
        """
    )
    monkeypatch.setattr(kube_config, "KUBE_CONFIG_DEFAULT_LOCATION", str(tmp_path / "config"))
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    assert KubernetesApi.connect().get(PLACE, "team", "none") is None
    assert cluster.authorization[-1] == "Bearer secret"


def test_a_patch_of_an_object_that_has_changed_meanwhile_does_nothing(cluster):
    created = cluster.create(JOBSETS, "team", jobset(child_job()))
    change = {"metadata": {"resourceVersion": "1", "labels": {"a": "b"}}}
    name = created["metadata"]["name"]
    assert cluster.api().patch(PLACE, "team", name, change) is None
    assert "a" not in cluster.of(JOBSETS)[0]["metadata"]["labels"]


def test_an_object_that_was_replaced_is_not_deleted(cluster):
    created = cluster.create(JOBSETS, "team", jobset(child_job()))
    cluster.api().delete(PLACE, "team", created["metadata"]["name"], "uid of another")
    assert "deletionTimestamp" not in cluster.of(JOBSETS)[0]["metadata"]


def test_deleting_takes_the_pods_first(cluster):
    created = cluster.create(JOBSETS, "team", jobset(child_job()))
    name = created["metadata"]["name"]
    cluster.api().delete(PLACE, "team", name, created["metadata"]["uid"])
    cluster.wait_for(lambda: len(cluster.deleted) == 3)
    assert [plural for plural, _ in cluster.deleted] == [PODS, PODS, JOBSETS]
    assert cluster.options == [
        {"propagationPolicy": "Foreground", "preconditions": {"uid": created["metadata"]["uid"]}}
    ]
