"""Distributed training from a step: a child job on Kubernetes that the step starts, follows and removes."""
