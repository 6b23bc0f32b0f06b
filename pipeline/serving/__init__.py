"""A local model server that speaks the TensorFlow Serving API, its client, and predictions without a server."""
