"""Model of the tumours task."""


def build_model(context):
    """Return a small dense network."""
    import tf_keras as keras

    numeric = keras.Input(context.features["numeric"][0], name="numeric")
    size = keras.Input((), name="size", dtype="int64")
    embedded = keras.layers.Embedding(context.vocabulary_sizes["size"] + 1, 4)(size)
    hidden = keras.layers.Dense(16, activation="relu")(keras.layers.Concatenate()([numeric, embedded]))
    output = keras.layers.Dense(1, activation="sigmoid")(hidden)
    model = keras.Model({"numeric": numeric, "size": size}, output)
    model.compile(keras.optimizers.Adam(context.learning_rate), "binary_crossentropy")
    return model
