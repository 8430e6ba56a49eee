"""Pictures of forged images, on scikit-learn's digits."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, load_digits

from orchestrator.report.figures.instances import image_side, instances_figure, spread_out
from orchestrator.results.forged_sets import Forgery
from wm.datasets import Dataset, split


@pytest.fixture(scope="module")
def digits():
    bunch = load_digits(n_class=2)
    return split(
        Dataset(
            name="digits",
            X=bunch.data.astype(np.float64),
            y=bunch.target.astype(np.int64),
            class_names=("zero", "one"),
            feature_names=tuple(bunch.feature_names),
        ),
        seed=0,
    )


def forgeries_of(rows, count):
    rng = np.random.default_rng(1)
    found = []
    for row in range(count):
        original = np.clip(rows.X_test[row], 0, 1)
        forged = np.clip(original + rng.normal(0, 0.3, len(original)), 0, 1).astype(np.float32)
        distance = float(np.abs(forged - original).max())
        found.append(Forgery(row, int(rows.y_test[row]), original, forged, distance))
    return found


def test_images_are_told_by_the_names_of_their_pixels(digits):
    assert image_side(digits.feature_names) == 8
    assert image_side([f"pixel{number}" for number in range(784)]) == 28
    assert image_side(load_breast_cancer().feature_names) is None
    assert image_side([f"feature{number}" for number in range(64)]) is None
    assert image_side([f"pixel{number}" for number in range(63)]) is None


@pytest.mark.parametrize("count", [1, 2, 3, 5, 9])
def test_each_instance_is_drawn_with_original_and_change(digits, count):
    found = forgeries_of(digits, count)
    figure = instances_figure(found, digits)
    drawn = [axes.get_images()[0].get_array() for axes in figure.axes]
    assert len(drawn) == 3 * count
    for one, original, forged, change in zip(found, drawn[::3], drawn[1::3], drawn[2::3], strict=True):
        assert np.array_equal(original.ravel(), one.original)
        assert np.array_equal(forged.ravel(), one.forged)
        assert np.abs(change).max() == pytest.approx(one.distance)
    titles = [axes.get_title() for axes in figure.axes if axes.get_title()]
    assert titles == [f"row {one.row} ({digits.class_names[one.label]}), {one.distance:.3f}" for one in found]
    named = [axes.get_xlabel() for axes in figure.axes if axes.get_xlabel()]
    assert named == ["original", "forged", "change"] * min(3, count)


def test_rows_that_are_no_images_are_refused(digits):
    bare = split(
        Dataset(
            "rows", digits.X_test.astype(np.float64), digits.y_test, ("0", "1"), tuple(map(str, range(64)))
        ),
        seed=0,
    )
    with pytest.raises(ValueError, match="64 features are no square image"):
        instances_figure(forgeries_of(bare, 1), bare)


@given(st.lists(st.floats(0, 1), max_size=30), st.integers(2, 9))
def test_a_selection_has_the_nearest_and_the_farthest(distances, count):
    point = np.zeros(1, dtype=np.float32)
    chosen = spread_out([Forgery(row, 0, point, point, d) for row, d in enumerate(distances)], count)
    assert len(chosen) == min(count, len(distances)) == len({one.row for one in chosen})
    assert [one.distance for one in chosen] == sorted(one.distance for one in chosen)
    if distances:
        assert (chosen[0].distance, chosen[-1].distance) == (min(distances), max(distances))
