"""Modifications of boosted models, against the training, by hand, and by what they promise."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from wm.attacks.base import RELEASED, LoadedScene, Streams
from wm.attacks.modification import ATTACK
from wm.attacks.modification.attack import Options
from wm.attacks.modification.common import AttackerData
from wm.attacks.modification.evaluation import MODIFICATIONS, Step
from wm.attacks.modification.margins import MARGIN_MODIFICATIONS, modify_margins
from wm.claims.claim import make_claim
from wm.codebook import random_codebook
from wm.datasets import Split
from wm.embedding.boosted.marked import mark
from wm.embedding.boosted.rounds import BoostingTask, boost
from wm.embedding.options import BoostedOptions
from wm.embedding.training import Caps
from wm.errors import ModelError
from wm.forest import Forest
from wm.formats.assembling import trees_of, with_trees


def rows_of(seed, classes, count=300):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(count, 4)).astype(np.float32)
    scores = np.stack([X[:, 0], X[:, 1] * X[:, 2], -X[:, 0]][:classes], axis=1)
    # With noise, splits are hardly ever equally good: no two seeds give different trees.
    return X, (scores + rng.normal(scale=0.7, size=scores.shape)).argmax(axis=1).astype(np.int64)


def plain(X, y, rounds=10, seed=7):
    trees = rounds * (1 if y.max() == 1 else int(y.max()) + 1)
    none = np.zeros(0, dtype=np.int64)
    return boost(BoostingTask(X, y, none, np.zeros((0, trees), dtype=bool), 3, BoostedOptions(), seed)).model


@pytest.fixture(scope="module", params=[2, 3], ids=["two classes", "three classes"])
def stolen(request):
    """A plain model, its rows, and the thief's data: the same rows."""
    X, y = rows_of(0, request.param)
    return plain(X, y), X, y, AttackerData(X, y, Caps(None, None))


def changed(stolen, name, strength, seed=0):
    model, _, _, data = stolen
    return modify_margins(model, [Step(name, strength)], data, np.random.default_rng(seed))


def test_a_model_is_made_of_its_trees(stolen):
    model, X, _, _ = stolen
    same = with_trees(model, trees_of(model), model.margins.column)
    assert same.forest.content_hash == model.forest.content_hash
    np.testing.assert_array_equal(same.predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize("name", MARGIN_MODIFICATIONS)
def test_at_strength_0_nothing_changes(stolen, name):
    model, X, _, _ = stolen
    copy = changed(stolen, name, 0.0)
    assert copy.forest.n_trees == model.forest.n_trees
    np.testing.assert_allclose(copy.predict_proba(X), model.predict_proba(X), atol=1e-12)
    np.testing.assert_array_equal(copy.forest.votes(X), model.forest.votes(X))


@pytest.mark.parametrize("name", MARGIN_MODIFICATIONS)
def test_at_the_largest_strength_something_changes(stolen, name):
    model, X, _, _ = stolen
    copy = changed(stolen, name, MARGIN_MODIFICATIONS[name].strengths[-1])
    assert trees_of(copy) is not trees_of(model)
    if name == "shuffle":  # the sum is the same
        np.testing.assert_allclose(copy.predict_proba(X), model.predict_proba(X), atol=1e-12)
        assert not np.array_equal(copy.forest.votes(X), model.forest.votes(X))
    elif name != "refit":  # on the owner's own rows there is nothing to gain, see below
        assert not np.array_equal(copy.predict_proba(X), model.predict_proba(X))


def test_refitting_on_the_owners_rows_gives_the_owners_leaves(stolen):
    """They are Newton's steps on these rows already; class priors that first leaves hold are not refitted."""
    model, _, y, _ = stolen
    copy = changed(stolen, "refit", 1.0)
    if y.max() == 1:
        np.testing.assert_allclose(copy.margins.leaf, model.margins.leaf, atol=1e-5)
    other = AttackerData(*rows_of(1, int(y.max()) + 1, count=60), Caps(None, None))
    moved = modify_margins(model, [Step("refit", 0.5)], other, np.random.default_rng(0))
    fully = modify_margins(model, [Step("refit", 1.0)], other, np.random.default_rng(0))
    assert not np.allclose(moved.margins.leaf, model.margins.leaf)
    assert not np.allclose(moved.margins.leaf, fully.margins.leaf)
    unreached = np.setdiff1d(np.arange(len(model.forest.left)), model.forest.apply(other.X))
    np.testing.assert_array_equal(fully.margins.leaf[unreached], model.margins.leaf[unreached])


def test_going_on_with_the_owners_rows_is_longer_boosting(stolen):
    model, X, y, _ = stolen
    copy = changed(stolen, "go-on", 1.0)
    assert copy.forest.n_trees == 2 * model.forest.n_trees
    np.testing.assert_allclose(copy.predict_proba(X), plain(X, y, rounds=20).predict_proba(X), atol=1e-6)


def test_trees_are_dropped_anywhere_or_at_the_end(stolen):
    model, _, _, _ = stolen
    count = model.forest.n_trees
    first = changed(stolen, "shorten", 0.5)
    assert first.forest.n_trees == count // 2
    kept = count // 2
    assert [tree.value.tolist() for tree in trees_of(first)] == [
        tree.value.tolist() for tree in trees_of(model)[:kept]
    ]
    some = changed(stolen, "drop", 0.3)
    assert some.forest.n_trees == count - round(0.3 * count)
    assert changed(stolen, "shorten", 1.0).forest.n_trees == len(model.margins.base)
    assert changed(stolen, "drop", 1.0).forest.n_trees == 1


def test_a_cut_node_adds_the_mean_of_what_its_rows_were_given(stolen):
    model, X, _, _ = stolen
    copy = changed(stolen, "truncate", 0.67)
    assert int(copy.forest.tree_depths.max()) == 1
    added = model.margins.leaf[model.forest.apply(X)]
    leaves = copy.forest.apply(X)
    for tree in range(3):
        for leaf in np.unique(leaves[:, tree]):
            rows = leaves[:, tree] == leaf
            assert copy.margins.leaf[leaf] == pytest.approx(added[rows, tree].mean())


def test_split_trees_add_up_to_the_old_ones(stolen):
    model, X, _, _ = stolen
    copy = changed(stolen, "split", 0.5)
    assert copy.forest.n_trees == model.forest.n_trees + round(0.5 * model.forest.n_trees)
    assert copy.predict_proba(X) == pytest.approx(model.predict_proba(X), abs=1e-4)


def test_leaves_are_multiples_of_a_step(stolen):
    model, _, _, _ = stolen
    copy = changed(stolen, "round-leaves", 1.0)
    step = model.margins.leaf[model.forest.is_leaf].std()
    steps = copy.margins.leaf / step
    np.testing.assert_allclose(steps, np.round(steps), atol=1e-9)


def test_impossible_steps_are_refused(stolen):
    model, X, y, data = stolen
    for step, message in [
        (Step("regrow", 0.5), "regrow does not change models that add margins: shuffle, "),
        (Step("drop", 1.5), "drop has strength 1.5; a share from 0 to 1"),
        (Step("noise", -1), "noise has strength -1; a finite number"),
    ]:
        with pytest.raises(ModelError, match=message):
            modify_margins(model, [step], data, np.random.default_rng(0))
    last = y < y.max()
    few = AttackerData(X[last], y[last], data.caps)
    if y.max() > 1:
        with pytest.raises(ModelError, match="go-on needs rows of all 3 classes"):
            modify_margins(model, [Step("go-on", 1.0)], few, np.random.default_rng(0))
    with pytest.raises(ModelError, match="vote"):
        modify_margins(replace(model, margins=None), [Step("drop", 0.5)], data, np.random.default_rng(0))


def test_options_say_which_models_they_are_for():
    assert "regrow cannot change models whose trees add margins" in Options(
        modifications=("noise", "regrow")
    ).refusal(trees_vote=False)
    assert "refit cannot change models whose trees vote" in Options(modifications=("refit",)).refusal(
        trees_vote=True
    )
    assert not Options().refusal(trees_vote=True)
    assert not Options(modifications=tuple(MARGIN_MODIFICATIONS)).refusal(trees_vote=False)
    assert "drop+refit" in Options(modifications=("drop+refit",)).refusal(trees_vote=True)
    shared = MODIFICATIONS.keys() & MARGIN_MODIFICATIONS.keys()
    assert {name: MODIFICATIONS[name].strengths for name in shared} == {
        name: MARGIN_MODIFICATIONS[name].strengths for name in shared
    }


@pytest.mark.parametrize("classes", [2, 3])
def test_the_attack_scores_copies_of_a_marked_model(classes):
    X, y = rows_of(3, classes, count=500)
    rng = np.random.default_rng(5)
    rounds, triggers = 20, np.sort(rng.choice(300, 12, replace=False))
    codebook = random_codebook(12, rounds * (1 if classes == 2 else classes), 0.5, rng)
    made = mark(X[:300], y[:300], triggers, codebook, options=BoostedOptions(fit_share=0.9), seed=0)
    names = tuple(map(str, range(classes)))
    split = Split(
        X_train=X[:300],
        y_train=y[:300],
        X_test=X[300:],
        y_test=y[300:],
        train_rows=np.arange(300),
        test_rows=np.arange(300, 500),
        class_names=names,
        feature_names=("a", "b", "c", "d"),
        scaling="none",
        seed=0,
        test_share=0.4,
        dataset_sha256="0" * 64,
        constant_features=0,
    )
    claim = make_claim(
        scheme="boosted",
        signature=codebook,
        X=X[triggers],
        y=y[triggers],
        model_hash=made.model.forest.content_hash,
        model_id="m",
        class_names=names,
    )
    forest = made.model.forest
    scene = LoadedScene(split, forest, claim, forest, Caps(None, None), models={RELEASED: made.model})
    assert isinstance(scene.forest, Forest)
    options = Options(modifications=("noise", "shorten"), strengths=(0.0, 0.5))
    same, noisy, whole, half = ATTACK.run(scene, options, Streams(1)).rows
    assert same.fidelity == whole.fidelity == 1.0
    assert same.bits == pytest.approx(made.evidence.matched_bits / made.evidence.total_bits)
    # The better of two tests, corrected for both.
    assert same.log10_p == pytest.approx(made.evidence.log10_p + np.log10(2), abs=15)
    assert same.log10_p < noisy.log10_p < -6
    assert (whole.n_trees, half.n_trees) == (codebook.trees, codebook.trees // 2)
    assert (whole.p_null, half.p_null) == ("exact", "aligned")
    assert half.log10_p < -6
    assert {same.log10_p_labels, same.log10_p_shares} <= {
        min(0.0, each) for each in (same.log10_p_labels, same.log10_p_shares)
    }
