"""A small multi-layer perceptron: P(the flight arrives more than 15 minutes late).

Why the two splits differ. Delays come in bad days: a storm or a jam at one airport holds up everything. Split by hash,
each day in eval has some 700 of its flights in train, and the model knows how that day went, from the day's own vector
and from weather that only that day had. Split by time, as a model in service meets its flights, the days are new and
only weather, schedule and route are left. So the time split is the honest one; the other tells how much a day matters.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from components.trainer.context import ModelContext

WIDTHS = {"carrier": 8, "origin": 2, "dest": 8, "date": 16}  # of the vector learnt for each name


def build_model(context: ModelContext):
    """Return a compiled tf_keras model from the transformed features to P(late), float32 [batch, 1].

    hparams: `hidden` units of each layer; `day_dropout` share of rows that are trained without their day's vector.
    """
    import tf_keras as keras

    inputs, columns = {}, []
    for name, (shape, dtype) in context.features.items():
        is_id = name in WIDTHS
        # int32 because TFLite gathers by it directly; int64 ids of the training examples are cast on the way in
        inputs[name] = keras.Input(shape, name=name, dtype="int32" if is_id else dtype)
        columns.append(_vector(context, name, inputs[name]) if is_id else inputs[name])
    hidden = keras.layers.Concatenate()(columns)
    for units in context.hparams["hidden"]:
        hidden = keras.layers.Dense(units, activation="relu")(hidden)
    model = keras.Model(inputs, keras.layers.Dense(1, activation="sigmoid", name="outputs")(hidden))
    schedule = keras.optimizers.schedules.CosineDecay(context.learning_rate, context.steps)
    model.compile(keras.optimizers.Adam(schedule), "binary_crossentropy", metrics=[keras.metrics.AUC(name="auc")])
    return model


def _vector(context: ModelContext, name: str, ids):
    """Return the learnt vector of each id, float32 [batch, width]; a name never seen keeps zeros, the neutral start.

    Dropping whole day vectors teaches the rest of the network to do without: what it must do on every new day.
    """
    import tf_keras as keras

    rows = context.vocabulary_sizes[name] + 1  # the last one is for names out of the vocabulary
    vectors = keras.layers.Embedding(rows, WIDTHS[name], embeddings_initializer="zeros", name=f"{name}_vector")(ids)
    if name == "date":
        vectors = keras.layers.Dropout(context.hparams["day_dropout"], noise_shape=(None, 1), name="new_day")(vectors)
    return vectors
