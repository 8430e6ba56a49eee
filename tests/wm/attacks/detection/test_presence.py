"""Presence tests keep to their level on honest forests, and notice a watermark."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from wm.attacks.detection.presence import presence_statistics, presence_test
from wm.embedding.training import Caps, honest_forest
from wm.errors import ModelError


def statistics_of(rng):
    return dict(zip("abcdefghi", rng.normal(size=9).tolist(), strict=True))


def test_an_honest_forest_keeps_to_the_level_however_many_statistics_are_tried():
    rng = np.random.default_rng(8)
    results = [presence_test(statistics_of(rng), [statistics_of(rng) for _ in range(19)]) for _ in range(300)]
    together = np.array([result.p_value for result in results])
    adjusted = np.array([min(result.holm) for result in results])
    singly = np.array([min(result.p_values) for result in results])
    assert stats.binomtest(int((together <= 0.05).sum()), 300).proportion_ci(0.999).low <= 0.05
    assert stats.binomtest(int((together <= 0.05).sum()), 300).proportion_ci(0.999).high >= 0.05
    assert (adjusted <= 0.1).mean() <= 0.1
    assert (singly <= 0.1).mean() > 0.3  # uncorrected, trying nine is no test


def test_presence_of_a_watermark_among_honest_forests(owner):
    data = owner.data
    population = [
        honest_forest(data.X_train, data.y_train, n_trees=70, caps=Caps(8, 19), seed=seed)
        for seed in range(9)
    ]
    honest = [
        presence_statistics(forest, np.random.default_rng(seed)) for seed, forest in enumerate(population)
    ]
    suspect = presence_statistics(owner.watermarked, np.random.default_rng(99))
    result = presence_test(suspect, honest)
    assert result.p_value == 1 / 10
    assert (np.array(result.holm) >= result.p_values).all()
    assert result.names == tuple(suspect)
    assert len(suspect) == 9


def test_presence_needs_honest_forests():
    one = statistics_of(np.random.default_rng(0))
    with pytest.raises(ModelError, match="at least two"):
        presence_test(one, [one])
