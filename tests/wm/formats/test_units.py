"""A forest in other units votes as before, on every threshold and beside it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier

from wm.errors import DataError
from wm.forest import Forest
from wm.formats.units import Domain, in_units

X, y = load_breast_cancer(return_X_y=True)
FOREST = Forest.from_sklearn(RandomForestClassifier(10, random_state=0).fit(X, y))
DOMAIN = Domain.of(X)


def _at_thresholds(forest: Forest) -> np.ndarray:
    """Return a row for each threshold, and one for each neighbour of it."""
    rows = []
    for node in np.flatnonzero(~forest.is_leaf):
        value = np.float32(forest.threshold[node])
        for near in (value, np.nextafter(value, np.float32(-9e9)), np.nextafter(value, np.float32(9e9))):
            row = np.full(forest.n_features, 0.3, dtype=np.float32)
            row[forest.feature[node]] = near
            rows.append(row)
    return np.array(rows)


def test_shares_of_the_domain_are_voted_on_as_the_values_that_they_stand_for():
    unit = DOMAIN.unit_forest(FOREST)
    rows = _at_thresholds(unit)
    np.testing.assert_array_equal(unit.votes(rows), FOREST.votes(DOMAIN.from_unit(rows)))
    np.testing.assert_array_equal(unit.votes(DOMAIN.to_unit(X)), FOREST.votes(X))


@given(st.integers(0, 2**32 - 1), st.floats(0.001, 1e6), st.floats(-1e6, 1e6))
def test_any_affine_units_are_exact(seed, span, low):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(60, 3))
    forest = Forest.from_sklearn(RandomForestClassifier(3, random_state=0).fit(rows, rows[:, 0] > 0))

    def convert(_feature, value):
        return ((value.astype(np.float64) - low) / span).astype(np.float32)

    moved = in_units(forest, convert)
    asked = _at_thresholds(moved)
    old = convert(None, asked)
    np.testing.assert_array_equal(moved.votes(asked), forest.votes(old))


def test_features_that_do_not_vary_and_rows_outside():
    domain = Domain.of([[1.0, 5.0], [3.0, 5.0]])
    np.testing.assert_array_equal(domain.to_unit([[2.0, 5.0]]), [[0.5, 0.0]])
    assert domain.holds([[2.0, 5.0], [3.1, 5.0], [1.0, 4.9]]).tolist() == [True, False, False]
    for bad in ([], [[np.nan]], [[np.inf]]):
        with pytest.raises(DataError, match="finite"):
            Domain.of(bad)
