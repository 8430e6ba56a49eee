"""How well a suspect answers, whichever class is which; what is coded is tested with the adaptations."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from wm.verification.coding import areas, balanced_accuracy


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 1)), min_size=1))
def test_balanced_accuracy_is_the_mean_recall(pairs):
    predicted, labels = (np.array(each) for each in zip(*pairs, strict=True))
    recalls = [np.mean([p == c for p, c in pairs if c == label]) for label in set(labels.tolist())]
    assert balanced_accuracy(predicted, labels) == pytest.approx(np.mean(recalls))


@given(st.integers(0, 10**6), st.integers(1, 20))
def test_areas_are_those_of_scikit_learn(seed, levels):
    rng = np.random.default_rng(seed)
    labels = rng.permutation(np.arange(60) < rng.integers(1, 60)).astype(np.int64)
    chances = rng.integers(0, levels + 1, 60) / 20
    expected = roc_auc_score(labels, chances)
    shares = np.stack([1 - chances, chances], axis=1)
    for label in (0, 1):
        assert areas(shares, labels == label)[label] == pytest.approx(expected)
