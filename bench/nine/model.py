"""The model of bench/stock/flights_module.py."""

NUMERIC = ["sched_dep_time", "sched_arr_time", "distance", "month", "day"]
CATEGORICAL = ["carrier", "origin", "dest"]


def build_model(context):
    """Return the stock module's layers, sizes and optimizer."""
    import tf_keras as keras

    inputs = {name: keras.Input((), name=name) for name in NUMERIC}
    inputs.update({name: keras.Input((), name=name, dtype="int64") for name in CATEGORICAL})
    columns = [keras.layers.Reshape((1,))(inputs[name]) for name in NUMERIC]
    for name in CATEGORICAL:
        columns.append(keras.layers.Embedding(context.vocabulary_sizes[name] + 1, 8)(inputs[name]))
    hidden = keras.layers.Concatenate()(columns)
    for units in (64, 32):
        hidden = keras.layers.Dense(units, activation="relu")(hidden)
    model = keras.Model(inputs, keras.layers.Dense(1, activation="sigmoid")(hidden))
    model.compile(
        keras.optimizers.Adam(context.learning_rate), "binary_crossentropy", metrics=[keras.metrics.AUC(name="auc")]
    )
    return model
