"""The name and labels of a child job, and whose it is."""

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.errors import HeadraceError
from pipeline.kubeflow.jobs.child import Owner, label_value, this_pod
from pipeline.kubeflow.jobs.manifest import jobset
from tests.pipeline.kubeflow.jobs.conftest import child_job

LABEL = re.compile(r"^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$")  # apimachinery util/validation
DNS_LABEL = re.compile(r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$")
ENVIRON = {"HEADRACE_POD_NAME": "pod", "HEADRACE_POD_UID": "uid", "HEADRACE_NAMESPACE": "team"}


def test_a_second_attempt_finds_the_name_of_the_first():
    assert child_job().name == child_job(owner=Owner("another", "uid-2", "team")).name
    assert re.fullmatch(r"hr-trainer-[0-9a-f]{12}", child_job().name)


@pytest.mark.parametrize(
    "changes", [{"run_id": "x"}, {"node_id": "X"}, {"command": ["x"]}, {"image": "x"}, {"workers": {"replicas": 3}}]
)
def test_other_work_has_another_name(changes):
    assert child_job(**changes).name != child_job().name


@given(node=st.text(min_size=1, max_size=200), replicas=st.integers(1, 100_000))
def test_pod_names_fit_into_a_dns_label_whatever_the_node_is_called(node, replicas):
    name = child_job(node_id=node, workers={"replicas": replicas}).name
    pod = f"{name}-worker-0-{replicas - 1}-abcde"
    assert len(pod) <= 63 and DNS_LABEL.match(pod)


@given(st.text(max_size=100))
def test_labels_are_values_that_kubernetes_takes(text):
    assert LABEL.match(label_value(text)) and len(label_value(text)) <= 63


def test_a_job_is_ours_by_run_and_node_and_this_attempts_by_its_owner():
    job = child_job()
    body = jobset(job)
    later = replace(job, owner=Owner("later", "uid-2", "team"))
    assert job.made(body) and job.owns(body)
    assert later.made(body) and not later.owns(body)
    assert not child_job(run_id="other").made(body)


def test_the_steps_pod_comes_from_its_environment():
    assert this_pod(ENVIRON) == Owner("pod", "uid", "team")


@pytest.mark.parametrize("missing", sorted(ENVIRON))
def test_a_step_that_does_not_know_its_pod_starts_nothing(missing):
    with pytest.raises(HeadraceError) as error:
        this_pod({**ENVIRON, missing: ""})
    assert (error.value.code, error.value.seen) == ("HR-KFP-070", [f"not set: {missing}"])
