"""Each fault of the connection is one coded error with what to do."""

import socket

import pytest

from pipeline.errors import HeadraceError
from pipeline.kubeflow.publish import client
from pipeline.kubeflow.publish.client import Api, connect
from pipeline.kubeflow.publish.versions import find_pipeline, publish
from tests.pipeline.kubeflow.publish.conftest import load
from tests.pipeline.kubeflow.publish.fake_kfp import Fault


def refused(call, *arguments):
    with pytest.raises(HeadraceError) as error:
        call(*arguments)
    return error.value


def cluster(host, *overrides):
    return load(f"kubernetes.host={host}", *overrides).config.kubernetes


def test_no_address_is_said_before_anything_is_asked():
    error = refused(connect, load().config.kubernetes)
    assert (error.code, error.family) == ("HR-KFP-051", "user")


def test_a_port_where_nobody_listens_is_said_at_once():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        host = f"http://127.0.0.1:{free.getsockname()[1]}"
    error = refused(connect, cluster(host))
    assert (error.code, error.family) == ("HR-KFP-050", "transient")
    assert host in error.seen[0]
    assert any("port-forward" in line for line in error.fix)


def test_a_server_that_stays_busy_is_transient(kfp_server):
    kfp_server.faults = [Fault("GET", "healthz", 503, 99)]
    assert refused(connect, cluster(kfp_server.host)).code == "HR-KFP-050"
    assert len(kfp_server.log) == client.ATTEMPTS


def test_a_server_that_is_busy_twice_is_no_error(kfp_server):
    kfp_server.faults = [Fault("GET", "healthz", 503, 2)]
    assert connect(cluster(kfp_server.host)).host == kfp_server.host


def test_a_sign_in_page_is_not_the_api(kfp_server):
    kfp_server.faults = [Fault("GET", "healthz", "html")]
    error = refused(connect, cluster(kfp_server.host))
    assert error.code == "HR-KFP-067"
    assert "Log in to Your Account" in error.seen[0]


def test_expired_credentials_name_the_variable(kfp_server, monkeypatch):
    kfp_server.token = "new"
    error = refused(connect, cluster(kfp_server.host))
    assert error.code == "HR-KFP-052"
    assert "HEADRACE_KFP_TOKEN is not set" in error.expected
    monkeypatch.setenv("HEADRACE_KFP_TOKEN", "old")
    error = refused(connect, cluster(kfp_server.host))
    assert "HEADRACE_KFP_TOKEN is set" in error.expected
    assert "no user identity" in error.seen[0]


def test_the_token_of_the_environment_is_sent(kfp_server, monkeypatch, package):
    kfp_server.token = "new"
    monkeypatch.setenv("HEADRACE_KFP_TOKEN", "new")
    assert publish(connect(cluster(kfp_server.host)), package, "v1").new


def test_credentials_that_expire_meanwhile_are_said(kfp_server, api, package):
    kfp_server.faults = [Fault("POST", "pipelines/upload_version", 401)]
    assert refused(publish, api, package, "v1").code == "HR-KFP-052"
    assert not kfp_server.versions


def test_a_namespace_of_somebody_else_is_said(kfp_server, connected):
    kfp_server.multi_user, kfp_server.namespaces = True, ("mine",)
    assert find_pipeline(connected("kubernetes.namespace=mine"), "flights") is None
    error = refused(find_pipeline, connected("kubernetes.namespace=yours"), "flights")
    assert error.code == "HR-KFP-053"
    assert "namespace yours" in error.seen[0]


def test_an_upload_that_may_not_be_is_said_although_the_server_answers_400(kfp_server, api, package):
    kfp_server.faults = [Fault("POST", "pipelines/upload_version", 400)]
    assert refused(publish, api, package, "v1").code == "HR-KFP-062"

    class Denied(Exception):
        status, body = 400, '{"error_message": "pipeline upload denied: permission to create pipelines is required"}'

    assert api._coded(Denied(), "upload").code == "HR-KFP-053"


def test_a_slow_answer_ends_at_the_deadline_and_nothing_is_created_twice(kfp_server, api, package):
    hurried = Api(api.host, api.namespace, api.services, (1.0, 0.3))
    publish(hurried, package, "v1")
    kfp_server.faults = [Fault("POST", "pipelines/upload_version", "slow")]
    error = refused(publish, hurried, package, "v2")
    assert error.code == "HR-KFP-050"
    assert "repeat the command" in error.fix[0]
    assert [path for _, path in kfp_server.log].count("pipelines/upload_version") == 2
    kfp_server.released.set()
    assert len(publish(hurried, package, "v2").version_id) == 36


def test_a_missing_client_says_how_to_get_it(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "kfp", None)
    assert refused(connect, cluster("http://localhost:1")).code == "HR-KFP-063"
