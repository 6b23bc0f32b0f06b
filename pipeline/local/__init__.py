"""The local runner: order, content cache, progress, resume."""
