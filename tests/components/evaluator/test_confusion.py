"""The confusion matrix against scikit-learn's."""

import numpy as np
from sklearn import metrics as oracle

from components.evaluator.confusion import class_names, confusion_matrix


def test_rows_are_labels_and_columns_are_predictions():
    rng = np.random.default_rng(1)
    labels, predicted = rng.integers(0, 4, 200), rng.integers(0, 4, 200)
    expected = oracle.confusion_matrix(labels, predicted, labels=range(5))
    assert confusion_matrix(labels, predicted, 5).tolist() == expected.tolist()


def test_classes_are_named_by_the_raw_label_and_by_number_when_unseen():
    assert class_names(np.array([2, 0, 2]), np.array(["cat", "ant", "cat"]), 4) == ["ant", "1", "cat", "3"]
    assert class_names(np.array([0]), None, 2) == ["0", "1"]
