"""headrace: one TensorFlow pipeline definition, from a table or a folder of images to a served, quantized model."""

__version__ = "0.1.0"
