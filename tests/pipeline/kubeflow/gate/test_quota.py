"""Steps against a ResourceQuota, quantities compared exactly."""

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.errors import HeadraceError
from pipeline.kubeflow.gate import fits_quota, refuse_errors
from pipeline.kubeflow.gate.quantity import FACTORS, parse_quantity

TRAINER = "deploymentSpec.executors.exec-trainer.container.resources"


@pytest.mark.parametrize(
    "quota",
    [
        {"requests.cpu": "8", "limits.memory": "8Gi", "requests.nvidia.com/gpu": "1", "pods": "20"},
        {"cpu": "8000m", "memory": "8192Mi", "limits.cpu": "8", "services": "0"},
    ],
)
def test_steps_fit_a_quota_of_exactly_what_they_take(compiled, quota):
    assert fits_quota(compiled, quota) == []


@pytest.mark.parametrize(
    ("quota", "what"),
    [
        ({"requests.cpu": "7999m"}, "takes 8 requests.cpu, and the quota has 7999m in all"),
        ({"cpu": "4"}, "takes 8 cpu, and the quota has 4 in all"),
        ({"requests.nvidia.com/gpu": "0"}, "takes 1 requests.nvidia.com/gpu, and the quota has 0 in all"),
    ],
)
def test_a_step_that_takes_more_is_named_with_both_numbers(compiled, quota, what):
    assert [(f.where, f.what) for f in fits_quota(compiled, quota)] == [(TRAINER, what)]


def test_eight_gibibytes_are_more_than_eight_gigabytes(compiled):
    found = fits_quota(compiled, {"limits.memory": "8G"})
    assert TRAINER in {finding.where for finding in found}
    assert "takes 8Gi limits.memory, and the quota has 8G in all" in {finding.what for finding in found}


def test_a_step_that_does_not_say_what_it_takes_is_a_warning(package):
    del package.pipeline["deploymentSpec"]["executors"]["exec-trainer"]["container"]["resources"]
    found = fits_quota(package, {"requests.memory": "64Gi", "requests.nvidia.com/gpu": "1"})
    assert [(f.where, f.severity) for f in found] == [(TRAINER, "warning")]
    assert "LimitRange" in found[0].what


def test_a_request_that_is_not_said_is_the_limit(package):
    resources = package.pipeline["deploymentSpec"]["executors"]["exec-trainer"]["container"]["resources"]
    del resources["resourceCpuRequest"]
    assert [f.where for f in fits_quota(package, {"requests.cpu": "7"})] == [TRAINER]


def test_what_is_known_only_when_the_step_runs_is_a_warning(package):
    resources = package.pipeline["deploymentSpec"]["executors"]["exec-trainer"]["container"]["resources"]
    resources["resourceCpuRequest"] = "{{$.inputs.parameters['train-epochs']}}"
    assert [f.severity for f in fits_quota(package, {"requests.cpu": "8"})] == ["warning"]


def test_a_quota_that_is_no_quantity_and_one_without_pods_are_told(compiled):
    assert [f.where for f in fits_quota(compiled, {"cpu": "many"})] == ["quota.cpu"]
    assert {f.what for f in fits_quota(compiled, {"pods": "0"})} == {"the quota allows 0 pods"}


def test_a_step_that_does_not_fit_stops_the_command(compiled):
    with pytest.raises(HeadraceError) as caught:
        refuse_errors(fits_quota(compiled, {"requests.cpu": "1"}))
    assert caught.value.code == "HR-KFP-017"


def test_a_package_that_does_not_parse_is_told_as_such(package):
    package.pipeline["retries"] = 1
    assert [f.rule for f in fits_quota(package, {"cpu": "1"})] == ["pipeline-schema"]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2", 2),
        ("0.5", Fraction(1, 2)),
        ("500m", Fraction(1, 2)),
        ("1e3", 1000),
        ("1E-3", Fraction(1, 1000)),
        ("8Gi", 8 * 2**30),
        ("8G", 8 * 10**9),
        ("1.5Ki", 1536),
        ("7Ei", 7 * 2**60),
        ("1n", Fraction(1, 10**9)),
        (".5k", 500),
        ("-1", -1),
    ],
)
def test_a_quantity_means_one_number(text, value):
    assert parse_quantity(text) == value


@pytest.mark.parametrize(
    "text", ["", "8GB", "8 Gi", "8gi", "Gi", "NaN", "Infinity", "0x8", "1,5", "1e", "1Kim", "٣", "8Gi\n"]
)
def test_what_kubernetes_does_not_parse_is_no_quantity(text):
    with pytest.raises(ValueError, match="no quantity"):
        parse_quantity(text)


@settings(deadline=None)  # the first call imports the client, seconds
@given(number=st.decimals(0, 10**6, places=3), suffix=st.sampled_from(sorted(FACTORS)))
def test_quantities_mean_what_the_kubernetes_client_takes_them_for(number, suffix):
    from kubernetes.utils import quantity

    text = f"{number}{suffix}"
    assert float(parse_quantity(text)) == pytest.approx(float(quantity.parse_quantity(text)), rel=1e-12)
