"""A forest in other units votes as before, on every threshold and beside it."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier

from wm.engines.encoding import query_box
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


def test_float64_values_keep_every_bit():
    rows = np.linspace(0, 1, 40)[:, None] + 1.6e9  # float32 numbers are 128 apart there
    made = RandomForestClassifier(5, random_state=0).fit(rows - 1.6e9, rows[:, 0] % 0.3 > 0.1)
    forest = Forest.from_sklearn(made)
    inner = ~forest.is_leaf
    threshold = forest.threshold.copy()
    threshold[inner] += 1.6e9
    wide = replace(forest, threshold=threshold, input_dtype="float64")
    domain = Domain.of(rows, "float64")
    unit = domain.unit_forest(wide)
    shares = np.sort(np.random.default_rng(0).random((300, 1))).astype(np.float32)
    values = domain.from_unit(shares)
    assert values.dtype == np.float64
    assert len(np.unique(values)) == 300
    np.testing.assert_array_equal(unit.votes(shares), wide.votes(values))
    assert domain.slack(wide, unit) is not None


def _stumps(thresholds: list[float]) -> Forest:
    """Return a forest of one float64 feature with a tree for each threshold."""
    trees = len(thresholds)
    return Forest.from_arrays(
        offset=3 * np.arange(trees + 1),
        left=np.tile([1, -1, -1], trees),
        right=np.tile([2, -1, -1], trees),
        feature=np.tile([0, -1, -1], trees),
        threshold=np.kron(thresholds, [1.0, 0.0, 0.0]),
        value=np.tile([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]], (trees, 1)),
        n_features=1,
        classes=[0, 1],
        input_dtype="float64",
    )


@given(
    st.floats(-1e6, 1e6),
    st.floats(1e-3, 1e6),
    st.lists(st.floats(0, 1), min_size=1, max_size=6),
    st.integers(0, 3),
    st.floats(0, 1),
    st.floats(0, 1),
)
def test_a_box_of_shares_with_slack_misses_no_set_of_float64_values(low, span, places, ulps, centre, eps):
    high = low + span
    thresholds = [low + place * span for place in places]
    thresholds += [thresholds[0] + step * np.spacing(thresholds[0]) for step in range(ulps)]
    forest, domain = _stumps(thresholds), Domain(np.array([low]), np.array([high]), dtype="float64")
    unit = domain.unit_forest(forest)
    slack = domain.slack(forest, unit)
    ends = sorted({each for each in thresholds if low <= each < high})
    shares = dict(zip(thresholds, unit.threshold[~unit.is_leaf].tolist(), strict=True))
    cells = list(zip([None, *ends], [*ends, None], strict=True))

    def shares_of(cell):
        first, last = cell
        return (
            np.float32(0) if first is None else np.nextafter(np.float32(shares[first]), np.float32(2)),
            np.float32(1) if last is None else np.float32(shares[last]),
        )

    assert (slack is None) == any(first > last for first, last in map(shares_of, cells))
    if slack is None:
        return
    value = low + centre * (high - low)
    at = domain.to_unit([[value]])[0]
    lower, upper = query_box(at, eps + slack)
    for cell in cells:
        start = low if cell[0] is None else np.nextafter(cell[0], np.inf)
        end = high if cell[1] is None else cell[1]
        nearest = Fraction(float(np.clip(value, start, end))) - Fraction(value)
        if abs(nearest) <= Fraction(eps) * (Fraction(high) - Fraction(low)):
            first, last = shares_of(cell)
            assert max(first, lower[0]) <= min(last, upper[0])
