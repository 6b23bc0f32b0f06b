"""Schema, statistics and the gate on the data."""
