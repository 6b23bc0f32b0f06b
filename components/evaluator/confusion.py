"""Which class is taken for which."""

from __future__ import annotations

import numpy as np


def confusion_matrix(labels: np.ndarray, predicted: np.ndarray, classes: int) -> np.ndarray:
    """Return int64 [classes, classes]: row is the label, column the predicted class."""
    return np.bincount(labels * classes + predicted, minlength=classes * classes).reshape(classes, classes)


def class_names(labels: np.ndarray, raw: np.ndarray | None, classes: int) -> list[str]:
    """Return the raw label that goes with each class number; the number itself where no example shows it.

    Args:
        labels: int64 [n], class numbers after Transform.
        raw: str [n], the label column as ingested, or None.
    """
    names = [str(number) for number in range(classes)]
    if raw is not None:
        numbers, first = np.unique(labels, return_index=True)
        for number, row in zip(numbers, first, strict=True):
            if 0 <= number < classes and raw[row]:
                names[number] = str(raw[row])
    return names
