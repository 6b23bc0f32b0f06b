"""Kubeflow Pipelines: compile, check, publish, schedule, and the step entry point that each pod runs."""
