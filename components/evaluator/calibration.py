"""How well predicted probabilities agree with what happened."""

from __future__ import annotations

import numpy as np

BINS = 20


def calibration_bins(labels: np.ndarray, scores: np.ndarray, bins: int = BINS) -> list[dict[str, float]]:
    """Return bins of equally many rows, from the lowest prediction to the highest.

    Args:
        labels: 0 or 1, [n].
        scores: probability of 1, [n].

    Returns: `mean_prediction`, `mean_label` and `count` of each bin; fewer bins when there are fewer rows.
    """
    order = np.argsort(scores, kind="stable")
    return [
        {
            "mean_prediction": float(scores[rows].mean(dtype=np.float64)),
            "mean_label": float(labels[rows].mean()),
            "count": int(len(rows)),
        }
        for rows in np.array_split(order, min(bins, len(order)) or 1)
        if len(rows)
    ]
