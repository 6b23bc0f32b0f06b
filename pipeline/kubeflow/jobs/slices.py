"""TPU slices of GKE: how many hosts a topology has."""

from __future__ import annotations

import math
from dataclasses import dataclass

from pipeline.config.kubernetes import StepConfig, WorkersConfig
from pipeline.errors import HeadraceError

RESOURCE = "google.com/tpu"
MULTI_HOST_CHIPS = 4  # of one host in every slice of several hosts
# accelerator -> numbers in a topology, chips that a host may have
KNOWN = {
    "tpu-v4-podslice": (3, (4,)),
    "tpu-v5p-slice": (3, (4,)),
    "tpu-v5-lite-podslice": (2, (1, 4, 8)),
    "tpu-v6e-slice": (2, (1, 4, 8)),
}


@dataclass(frozen=True)
class Slice:
    """A TPU slice: `hosts` machines of `chips_per_host` chips."""

    accelerator: str
    topology: str
    hosts: int
    chips_per_host: int


def slice_of(workers: WorkersConfig, step: StepConfig) -> Slice | None:
    """Return the slice that the workers ask for; None when they ask for none.

    The chips of a host are `accelerator.count` where `accelerator.resource` is google.com/tpu, else 4, or all chips of
    a smaller slice. Source: GKE documentation, "Plan TPUs in GKE".

    Raises:
        HeadraceError: HR-KFP-071 when the accelerator, its topology and the number of workers do not fit together.
    """
    if not workers.tpu_accelerator:
        return None
    sides = [int(side) for side in workers.tpu_topology.split("x")]
    chips = math.prod(sides)
    asked = step.accelerator.count if step.accelerator and step.accelerator.resource == RESOURCE else None
    per_host = asked or min(chips, MULTI_HOST_CHIPS)
    found = Slice(workers.tpu_accelerator, workers.tpu_topology, chips // per_host, per_host)
    if workers.tpu_accelerator in KNOWN:
        dimensions, allowed = KNOWN[workers.tpu_accelerator]
        if len(sides) != dimensions:
            raise _refused(
                workers, f"a topology of {dimensions} numbers", "kubernetes.steps.Trainer.workers.tpu_topology"
            )
        if per_host not in allowed:
            expected = f"{' or '.join(map(str, allowed))} chips a host, not {per_host}"
            raise _refused(workers, expected, "kubernetes.steps.Trainer.accelerator.count")
    elif asked is None:
        expected = f"one of {', '.join(KNOWN)}, or accelerator {{resource: {RESOURCE}, count: CHIPS OF ONE HOST}}"
        raise _refused(workers, expected, "kubernetes.steps.Trainer.accelerator")
    if chips % per_host or found.hosts != workers.replicas:
        expected = f"{chips} chips, {per_host} a host: {chips / per_host:g} hosts"
        raise _refused(workers, expected, f"kubernetes.steps.Trainer.workers.replicas={max(1, found.hosts)}")
    return found


def _refused(workers: WorkersConfig, expected: str, key: str) -> HeadraceError:
    return HeadraceError(
        "HR-KFP-071",
        f"the TPU slice {workers.tpu_accelerator} {workers.tpu_topology} does not fit the settings of the workers",
        seen=[f"workers.replicas: {workers.replicas}"],
        expected=expected,
        fix=[f"--set '{key}'" if "=" in key else f"--set '{key}=VALUE'"],
    )
