"""Train the task's model on transformed examples. Needs TensorFlow only."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from components import reporting
from components.trainer.context import ModelContext
from components.trainer.datasets import Feature, count_rows, evaluation_batches, steps_per_epoch, training_batches
from components.user_code import own_line
from pipeline.config.model import TrainConfig
from pipeline.errors import HeadraceError

if TYPE_CHECKING:
    import tf_keras as keras

REPORT_EVERY_S = 0.2


@dataclass(frozen=True)
class Trained:
    """A trained model and how it came about; `history` holds one value an epoch."""

    model: keras.Model
    history: dict[str, list[float]]
    steps: int
    examples_per_s: float


def fit(
    build_model: Callable[[ModelContext], keras.Model],
    source: str,
    features: Mapping[str, Feature],
    label: str,
    vocabulary_sizes: Mapping[str, int],
    num_classes: int,
    train_files: Sequence[str],
    eval_files: Sequence[str],
    config: TrainConfig,
) -> Trained:
    """Build the model with the task's `build_model` and fit it.

    Args:
        source: the file that defines `build_model`, for errors.
        features: all transformed features, the label among them.

    Raises:
        HeadraceError: HR-TASK-002 when build_model raises, HR-TRAIN-001 when the loss is not finite.
    """
    import tf_keras as keras

    keras.utils.set_random_seed(config.seed)
    rows = count_rows(train_files)
    per_epoch = config.num_steps or steps_per_epoch(rows, config.batch_size)
    epochs = 1 if config.num_steps else config.epochs
    context = ModelContext(
        features={name: (feature.shape, feature.dtype) for name, feature in features.items() if name != label},
        vocabulary_sizes=dict(vocabulary_sizes),
        num_classes=num_classes,
        hparams=config.hparams,
        learning_rate=config.base_learning_rate,
        steps=per_epoch * epochs,
    )
    batches = training_batches(train_files, features, label, config.batch_size, rows, config.seed)
    with strategy().scope(), own_line(source):
        model = build_model(context)
    _check_model(model, source)
    begun = time.monotonic()
    with own_line(source):
        result = model.fit(
            batches,
            epochs=epochs,
            steps_per_epoch=per_epoch,
            validation_data=evaluation_batches(eval_files, features, label),
            callbacks=[_progress(epochs, per_epoch, config.batch_size)],
            verbose=0,
        )
    history = {name: [float(value) for value in values] for name, values in result.history.items()}
    if not all(math.isfinite(value) for value in history.get("loss", [])):
        raise HeadraceError(
            "HR-TRAIN-001",
            "the loss is not a finite number",
            seen=[f"loss by epoch: {', '.join(f'{value:.4g}' for value in history['loss'])}"],
            expected="a finite loss",
            fix=[
                "lower the learning rate:  --set train.base_learning_rate=0.0001",
                "look for unscaled features in features.py",
            ],
        )
    elapsed = time.monotonic() - begun
    return Trained(model, history, per_epoch * epochs, per_epoch * epochs * config.batch_size / elapsed)


def strategy():
    """Return the distribution strategy for what this machine has: its GPUs together, or the one device."""
    import tensorflow as tf

    gpus = tf.config.list_logical_devices("GPU")
    return tf.distribute.MirroredStrategy() if len(gpus) > 1 else tf.distribute.get_strategy()


def _check_model(model: object, source: str) -> None:
    import tf_keras as keras

    problem = ""
    if not isinstance(model, keras.Model):
        problem = f"build_model returned {type(model).__module__}.{type(model).__name__}"
    elif model.optimizer is None:
        problem = "build_model returned a model that is not compiled"
    elif not hasattr(model, "outputs") or not model.outputs or len(model.outputs) != 1:
        problem = "build_model returned a model without exactly one output"
    if problem:
        raise HeadraceError(
            "HR-TASK-004",
            problem,
            expected="a compiled tf_keras functional model: one output, sigmoid [., 1] or softmax [., classes]",
            fix=[f"correct {source}"],
        )


def _progress(epochs: int, per_epoch: int, batch_size: int):
    import tf_keras as keras

    class Progress(keras.callbacks.Callback):
        """Tells the runner epoch, loss and examples a second."""

        def __init__(self):
            super().__init__()
            self.epoch = self.first = 0
            self.begun = self.told = 0.0

        def on_epoch_begin(self, epoch, logs=None):
            self.epoch = epoch

        def on_train_batch_end(self, batch, logs=None):
            now = time.monotonic()
            done = self.epoch * per_epoch + batch + 1
            if not self.begun:  # the first step traces and compiles: it says nothing about speed
                self.begun, self.first = now, done
            if now - self.told < REPORT_EVERY_S or done == self.first:
                return
            self.told = now
            rate = (done - self.first) * batch_size / (now - self.begun)
            left = (epochs * per_epoch - done) * batch_size / rate
            loss = f"loss {logs['loss']:.4f}  " if logs and "loss" in logs else ""
            note = f"epoch {self.epoch + 1}/{epochs}  {loss}{rate / 1000:.1f}k ex/s  {left:.0f} s left"
            reporting.progress(done / (epochs * per_epoch), note)

    return Progress()
