"""The flights task."""
