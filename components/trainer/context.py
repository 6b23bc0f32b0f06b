"""What a task's `build_model` is told about the data and the run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class ModelContext:
    """The one argument of `build_model`.

    Args:
        features: shape without the batch, `()` for one value a row, and dtype (`float32`, `int64`) of each transformed
            feature by name, without the label.
        vocabulary_sizes: number of terms of each TFT vocabulary by its file name. Out-of-vocabulary buckets are not
            counted: with one such bucket, ids run from 0 to the size, both included.
        num_classes: number of labels; 2 for a binary task.
        hparams: `train.hparams` of the configuration.
        learning_rate: of the first step after warm-up, already scaled to the replicas.
        steps: training steps in all, for a schedule.
    """

    features: Mapping[str, tuple[tuple[int, ...], str]]
    vocabulary_sizes: Mapping[str, int]
    num_classes: int
    hparams: Mapping[str, Any] = field(default_factory=dict)
    learning_rate: float = 1e-3
    steps: int = 1
