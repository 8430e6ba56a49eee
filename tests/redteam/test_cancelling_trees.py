"""A thief changes trees so that it cancels: no answer of the model changes, and the copy is still found."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier

import wm
from tests.redteam.test_stolen_copies import edited, joined
from wm.forest import Forest
from wm.models import Link, Margins, TreeModel
from wm.verification.judgement import VerdictKind

X, Y = load_breast_cancer(return_X_y=True)
TREES = 20
CLAIMS = {
    "paper": {"scheme": "paper", "trigger_rows": 9},
    "paper, few ones": {"scheme": "paper", "trigger_rows": 9, "ones_share": 0.3},
    "codebook": {"scheme": "codebook", "trigger_rows": 12},
    "line-up": {"scheme": "lineup"},
}


@pytest.fixture(scope="module", params=CLAIMS)
def owned(request):
    return wm.embed(X, Y, n_estimators=TREES, max_depth=8, seed=3, **CLAIMS[request.param])


def leaves(values, like):
    """Return a forest of single leaves with these class shares."""
    count = len(values)
    none = np.full(count, -1)
    return edited(
        like,
        offset=np.arange(count + 1),
        left=none,
        right=none,
        feature=none,
        threshold=np.zeros(count),
        value=np.asarray(values, dtype=float),
    )


def shifted(forest):
    """Shift the class shares of every second tree up, and of the others down: each votes for one class."""
    shares = forest.value[:, 1] / forest.value.sum(axis=1)
    tree = np.repeat(np.arange(forest.n_trees), np.diff(forest.offset))
    shares = 0.4 * shares + 0.3 + np.where(tree % 2, 0.25, -0.25)
    return edited(forest, value=np.stack([1 - shares, shares], axis=1))


def shifted_among_decoys(forest):
    """Shift, and add trees that hardly lean and are right."""
    honest = Forest.from_sklearn(RandomForestClassifier(30, random_state=5).fit(X, forest.predict(X)))
    hardly = 0.5 + 1e-4 * (2 * np.eye(2)[honest.node_class] - 1)
    return joined(shifted(forest), edited(honest, value=hardly))


def hardly_leaning_leaves(forest):
    return joined(forest, leaves([[0.501, 0.499]] * TREES, forest))


def opposite_leaves(forest):
    return joined(forest, leaves([[1, 0], [0, 1]] * TREES, forest))


def thousands_of_leaves(forest):
    return joined(forest, leaves([[1, 0], [0, 1]] * 5_000, forest))


def trees_and_their_complements(forest):
    model = ExtraTreesClassifier(TREES // 2, max_depth=4, random_state=2).fit(X, Y)
    added = Forest.from_sklearn(model)
    return joined(joined(forest, added), edited(added, value=added.value[:, ::-1]))


def answers(forest):
    return forest.predict_proba(X)[:, 1] > 0.5


def votes_of_majority(forest):
    return forest.predict(X)


CHANGES = {
    shifted: answers,
    shifted_among_decoys: answers,
    hardly_leaning_leaves: answers,
    opposite_leaves: votes_of_majority,
    thousands_of_leaves: votes_of_majority,
    trees_and_their_complements: votes_of_majority,
}
"""Changes, each with the answers that it leaves as they were."""


def judges_rows(owned):
    return {"rows": (X, Y), "candidates": 8} if owned.claim.header.scheme == "lineup" else {}


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_a_copy_whose_changes_cancel_is_found(owned, change):
    suspect, kept = change(owned.forest), CHANGES[change]
    clear = np.abs(owned.forest.predict_proba(X)[:, 1] - 0.5) > 0.01
    np.testing.assert_array_equal(kept(suspect)[clear], kept(owned.forest)[clear])
    found = wm.verify(owned.claim, suspect, **judges_rows(owned))
    assert found.verdict == VerdictKind.INDICATION, found.reason  # nobody witnessed the draw
    assert found.log10_p < -6


def test_a_forest_whose_votes_were_made_margins_is_found(owned):
    forest = owned.forest
    shares = forest.value[:, 1] / forest.value.sum(axis=1)
    tree = np.repeat(np.arange(forest.n_trees), np.diff(forest.offset))
    leaf = np.where(forest.is_leaf, (shares - 0.5) * (1 + 1e-5 * tree), 0.0).astype(np.float32).astype(float)
    margins = Margins(leaf=leaf, column=np.zeros(TREES, int), base=np.zeros(1), link=Link.LOGISTIC)
    suspect = TreeModel("xgboost", forest, margins, classes=np.array([0, 1]))
    clear = np.abs(forest.predict_proba(X)[:, 1] - 0.5) > 0.01
    kept = suspect.predict_proba(X)[:, 1] > 0.5
    np.testing.assert_array_equal(kept[clear], answers(forest)[clear])
    found = wm.verify(owned.claim, suspect, **judges_rows(owned))
    assert found.verdict == VerdictKind.INDICATION, found.reason
    assert found.log10_p < -6


def test_an_innocent_forest_with_the_same_changes_is_not_found(owned):
    model = RandomForestClassifier(TREES, max_depth=8, random_state=11).fit(X[::2], Y[::2])
    changes = [shifted_among_decoys] if owned.claim.header.scheme == "lineup" else CHANGES
    for change in changes:
        found = wm.verify(owned.claim, change(Forest.from_sklearn(model)), **judges_rows(owned))
        assert found.verdict == VerdictKind.NOT_VERIFIED, (change.__name__, found.reason)
