"""Train the task's model on transformed examples. Needs TensorFlow only."""

from __future__ import annotations

import json
import math
import os
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from components import reporting
from components.trainer.context import ModelContext
from components.trainer.datasets import count_rows, evaluation_batches, steps_per_epoch, training_batches
from components.trainer.plan import Trained, TrainingPlan
from components.user_code import own_line
from pipeline.config.model import TrainConfig
from pipeline.errors import HeadraceError

if TYPE_CHECKING:
    import tf_keras as keras

REPORT_EVERY_S = 0.2


def fit(build_model: Callable[[ModelContext], keras.Model], plan: TrainingPlan) -> Trained:
    """Build the model with the task's `build_model` and fit it, on what this process and its peers have.

    Raises:
        HeadraceError: HR-TASK-002 when build_model raises, HR-TRAIN-001 when the loss is not finite.
    """
    import tf_keras as keras

    config = plan.config
    placing = strategy()  # before anything else: collectives cannot be set up once TensorFlow has run an operation
    keras.utils.set_random_seed(config.seed)
    rows = count_rows(plan.train_files)
    per_epoch, epochs = _steps(rows, config)
    batches = training_batches(plan.train_files, plan.features, plan.label, config.batch_size, rows, config.seed)
    with placing.scope(), own_line(plan.source):
        model = build_model(_context(plan, per_epoch * epochs))
    _check_model(model, plan.source)
    begun = time.monotonic()
    with own_line(plan.source):
        result = model.fit(
            batches,
            epochs=epochs,
            steps_per_epoch=per_epoch,
            validation_data=evaluation_batches(plan.eval_files, plan.features, plan.label),
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


def rebuild(build_model: Callable[[ModelContext], keras.Model], plan: TrainingPlan, weights: str) -> keras.Model:
    """Return the model of a plan with weights that another process trained.

    Args:
        weights: HDF5 file that `save_weights` wrote.

    Raises:
        HeadraceError: HR-TASK-002, HR-TASK-004.
    """
    per_epoch, epochs = _steps(count_rows(plan.train_files), plan.config)
    with own_line(plan.source):
        model = build_model(_context(plan, per_epoch * epochs))
    _check_model(model, plan.source)
    model.load_weights(weights)
    return model


def strategy():
    """Return the distribution strategy: over the workers of TF_CONFIG, over this machine's GPUs, or the one device."""
    import tensorflow as tf

    if len(json.loads(os.environ.get("TF_CONFIG") or "{}").get("cluster", {}).get("worker", [])) > 1:
        return tf.distribute.MultiWorkerMirroredStrategy()
    gpus = tf.config.list_logical_devices("GPU")
    return tf.distribute.MirroredStrategy() if len(gpus) > 1 else tf.distribute.get_strategy()


def _steps(rows: int, config: TrainConfig) -> tuple[int, int]:
    """Return steps an epoch, and epochs."""
    return config.num_steps or steps_per_epoch(rows, config.batch_size), 1 if config.num_steps else config.epochs


def _context(plan: TrainingPlan, steps: int) -> ModelContext:
    return ModelContext(
        features={name: (found.shape, found.dtype) for name, found in plan.features.items() if name != plan.label},
        vocabulary_sizes=dict(plan.vocabulary_sizes),
        num_classes=plan.num_classes,
        hparams=plan.config.hparams,
        learning_rate=plan.config.base_learning_rate,
        steps=steps,
    )


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
