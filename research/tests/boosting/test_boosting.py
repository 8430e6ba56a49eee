"""In-place fine-tuning flips what it should and adds no tree; its comparison with scheme boosted has every row."""

from __future__ import annotations

import numpy as np
import pytest

from research.boosting.__main__ import SUSPECTS, measure, report
from research.boosting.finetuning import SELECTIONS, _one_pass, fine_tune
from wm.embedding.boosted.rounds import BoostingTask, boost
from wm.embedding.options import GradientOptions

TREES = 20


@pytest.fixture(scope="module")
def finished():
    """A plain model of two classes and its training rows, some of them mislabelled."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4)).astype(np.float32)
    y = (X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(scale=0.5, size=300) > 0).astype(np.int64)
    none, wanted = np.zeros(0, dtype=np.int64), np.zeros((0, TREES), dtype=bool)
    return boost(BoostingTask(X, y, none, wanted, 3, GradientOptions(), 0)).model, X, y


@pytest.mark.parametrize("name", SELECTIONS)
def test_chosen_rows_are_flipped_in_place(finished, name):
    model, X, y = finished
    marked = SELECTIONS[name](model, X, y, 12, 0)
    assert len(np.unique(marked)) == 12
    tuned = fine_tune(model, X, y, marked, rate=0.1)
    flipped = tuned.model.predict(X[marked]) != model.predict(X[marked])
    assert tuned.flipped == flipped.mean() > 0.8
    assert tuned.model.forest.n_trees == TREES
    assert tuned.model.forest.tree_depths.max() <= model.forest.tree_depths.max()
    np.testing.assert_array_equal(np.diff(tuned.model.forest.offset), np.diff(model.forest.offset))
    others = np.setdiff1d(np.arange(len(y)), marked)
    assert (tuned.model.predict(X[others]) == model.predict(X[others])).mean() > 0.8


def test_rows_are_chosen_as_their_selection_says(finished):
    model, X, y = finished
    shares = model.predict_proba(X)
    wrong, confidence = (SELECTIONS[name](model, X, y, 20, 0) for name in ("wrong prediction", "confidence"))
    of_true = shares[np.arange(len(y)), y]
    assert of_true[wrong].max() <= np.delete(of_true, wrong).min()
    far = np.abs(shares[:, 1] - 0.5)
    assert far[confidence].max() <= np.delete(far, confidence).min()
    outlier, centre = (SELECTIONS[name](model, X, y, 20, 0) for name in ("outlier", "cluster centre"))
    norm = np.linalg.norm(X, axis=1)
    assert norm[outlier].mean() > norm.mean() > norm[centre].mean()


def test_without_flips_the_leaves_are_newtons_steps_that_they_were(finished):
    model, X, y = finished
    none = np.zeros(0, dtype=np.int64)
    same = _one_pass(model, X, y, np.ones(len(y)), none, 0.1)
    np.testing.assert_allclose(same.margins.leaf, model.margins.leaf, atol=1e-5)


def test_the_table_has_every_method_and_copy():
    rows = list(measure("breast-cancer", 3000, 20, 0))
    assert len(rows) == (1 + len(SELECTIONS)) * len(SUSPECTS)
    whole = [row for row in rows if row.suspect == "unchanged"]
    assert all(row.probabilities < -6 and row.trees is None for row in whole if row.method != "boosted")
    (own,) = [row for row in whole if row.method == "boosted"]
    assert own.trees < -6
    text = report(rows)
    assert text.count("| breast-cancer |") == 1 + len(SELECTIONS)
    assert "| confidence |" in text
