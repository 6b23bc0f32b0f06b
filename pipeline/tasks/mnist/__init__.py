"""The mnist task."""
