"""Calibration bins against a loop."""

import numpy as np
import pytest

from components.evaluator.calibration import calibration_bins


def test_bins_hold_equally_many_rows_in_order_of_prediction():
    rng = np.random.default_rng(5)
    scores = rng.random(103).astype(np.float32)
    labels = (rng.random(103) < scores).astype(np.int64)
    bins = calibration_bins(labels, scores)
    assert [b["count"] for b in bins] == [6] * 3 + [5] * 17
    ordered = sorted(zip(scores.tolist(), labels.tolist(), strict=True))
    start = 0
    for found in bins:
        rows = ordered[start : start + found["count"]]
        start += found["count"]
        assert found["mean_prediction"] == pytest.approx(sum(p for p, _ in rows) / len(rows))
        assert found["mean_label"] == pytest.approx(sum(y for _, y in rows) / len(rows))


def test_fewer_rows_than_bins_give_a_bin_a_row():
    assert [b["count"] for b in calibration_bins(np.array([0, 1, 1]), np.array([0.2, 0.9, 0.5]))] == [1, 1, 1]
