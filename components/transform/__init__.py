"""Transform: TFT analysis over Arrow batches, and its graph applied file by file."""
