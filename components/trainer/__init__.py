"""Trainer: the task's model, fitted and exported for serving and for the edge."""
