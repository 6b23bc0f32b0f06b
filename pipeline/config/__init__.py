"""Typed, layered, strict configuration: defaults, then task.yaml, then `--set key=value`."""
