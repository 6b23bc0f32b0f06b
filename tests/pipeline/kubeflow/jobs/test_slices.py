"""How many hosts a TPU slice has. Source of the values: GKE documentation, "Plan TPUs in GKE"."""

import pytest

from pipeline.config.kubernetes import StepConfig, WorkersConfig
from pipeline.errors import HeadraceError
from pipeline.kubeflow.jobs.slices import slice_of


def found(kind, topology, replicas, **step):
    workers = WorkersConfig(replicas=replicas, tpu_accelerator=kind, tpu_topology=topology)
    return slice_of(workers, StepConfig(**step))


def chips(count):
    return {"accelerator": {"resource": "google.com/tpu", "count": count}}


@pytest.mark.parametrize(
    "accelerator, topology, hosts",
    [
        ("tpu-v6e-slice", "2x4", 2),
        ("tpu-v6e-slice", "4x4", 4),
        ("tpu-v6e-slice", "16x16", 64),
        ("tpu-v5-lite-podslice", "4x8", 8),
        ("tpu-v5p-slice", "2x2x2", 2),
        ("tpu-v5p-slice", "4x4x8", 32),
        ("tpu-v4-podslice", "2x2x4", 4),
        ("tpu-v6e-slice", "1x1", 1),
    ],
)
def test_a_slice_has_as_many_hosts_as_gke_says(accelerator, topology, hosts):
    assert found(accelerator, topology, hosts).hosts == hosts


def test_a_machine_of_eight_chips_is_one_host():
    assert found("tpu-v6e-slice", "2x4", 1, **chips(8)).chips_per_host == 8


@pytest.mark.parametrize(
    "accelerator, topology, replicas, step, expected, fix",
    [
        ("tpu-v6e-slice", "4x4", 2, {}, "16 chips, 4 a host: 4 hosts", "workers.replicas=4"),
        ("tpu-v5p-slice", "4x4", 4, {}, "a topology of 3 numbers", "workers.tpu_topology"),
        ("tpu-v6e-slice", "2x2x2", 2, {}, "a topology of 2 numbers", "workers.tpu_topology"),
        ("tpu-v5p-slice", "2x2x2", 1, chips(8), "4 chips a host, not 8", "accelerator.count"),
        ("tpu-v6e-slice", "1x2", 1, {}, "1 or 4 or 8 chips a host, not 2", "accelerator.count"),
        ("tpu-v9-slice", "4x4", 4, {}, "one of tpu-v4-podslice", "accelerator"),
        ("tpu-v6e-slice", "3x3", 2, {}, "9 chips, 4 a host: 2.25 hosts", "workers.replicas=2"),
    ],
)
def test_settings_that_do_not_fit_together_are_refused(accelerator, topology, replicas, step, expected, fix):
    with pytest.raises(HeadraceError) as error:
        found(accelerator, topology, replicas, **step)
    assert error.value.code == "HR-KFP-071"
    assert error.value.expected.startswith(expected)
    assert fix in error.value.fix[0]


def test_an_accelerator_that_is_not_known_may_be_described():
    assert found("tpu-v9-slice", "4x4", 2, **chips(8)).hosts == 2


def test_workers_without_a_slice_have_none():
    assert slice_of(WorkersConfig(), StepConfig()) is None
