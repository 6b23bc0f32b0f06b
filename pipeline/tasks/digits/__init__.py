"""The digits task."""
