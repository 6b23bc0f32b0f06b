"""Evaluator and EdgeEvaluator: metrics on slices, thresholds, what quantization lost."""
