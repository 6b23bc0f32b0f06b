"""What a training is made of, as plain values: it can be sent to workers that have TensorFlow and no TFX."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pipeline.config.model import TrainConfig

if TYPE_CHECKING:
    import tf_keras as keras


@dataclass(frozen=True)
class Feature:
    """Shape without the batch dimension, and dtype name, of one transformed feature."""

    shape: tuple[int, ...]
    dtype: str


@dataclass(frozen=True)
class TrainingPlan:
    """One training.

    Args:
        source: the file that defines `build_model`.
        features: all transformed features, the label among them.
        label: name of the label.
        vocabulary_sizes: number of terms of each TFT vocabulary by its file name.
        num_classes: number of labels.
        train_files: TFRecord files of transformed training examples.
        eval_files: likewise of eval.
        config: how to train.
    """

    source: str
    features: Mapping[str, Feature]
    label: str
    vocabulary_sizes: Mapping[str, int]
    num_classes: int
    train_files: Sequence[str]
    eval_files: Sequence[str]
    config: TrainConfig

    def to_dict(self) -> dict:
        """Return the plan as plain JSON values."""
        features = {name: {"shape": list(found.shape), "dtype": found.dtype} for name, found in self.features.items()}
        return {**vars(self), "features": features, "config": self.config.model_dump(mode="json")}

    @classmethod
    def from_dict(cls, values: Mapping) -> TrainingPlan:
        """Rebuild a plan that `to_dict` wrote."""
        features = {name: Feature(tuple(v["shape"]), v["dtype"]) for name, v in values["features"].items()}
        return cls(**{**values, "features": features, "config": TrainConfig.model_validate(values["config"])})


@dataclass(frozen=True)
class Trained:
    """A trained model and how it came about; `history` holds one value an epoch."""

    model: keras.Model
    history: dict[str, list[float]]
    steps: int
    examples_per_s: float
