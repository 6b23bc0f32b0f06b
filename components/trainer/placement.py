"""Where the training of a step happens: in the step's own process, or in a job that a runner starts for it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from contextvars import ContextVar

from components.trainer.plan import Trained, TrainingPlan

Placement = Callable[[Callable, TrainingPlan], Trained]

_placement: ContextVar[Placement | None] = ContextVar("placement", default=None)


@contextlib.contextmanager
def placed(placement: Placement | None) -> Iterator[None]:
    """Let `train` inside the block use `placement`; None is the step's own process."""
    token = _placement.set(placement)
    try:
        yield
    finally:
        _placement.reset(token)


def train(build_model: Callable, plan: TrainingPlan) -> Trained:
    """Fit the model where the block around says."""
    from components.trainer.fit import fit

    return (_placement.get() or fit)(build_model, plan)
