"""The steps of the pipeline: one package each, pure typed functions with a thin TFX component around them."""
