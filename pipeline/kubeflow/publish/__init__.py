"""Publish, run and schedule a compiled pipeline on Kubeflow Pipelines."""
