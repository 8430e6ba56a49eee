"""Scheme boosted for several classes: training, release, and what judges find."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import kstest
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier

import wm
from wm.boosting import tree_classes
from wm.codebook import random_codebook
from wm.embedding.boosted.claimed import accuracy
from wm.embedding.boosted.rounds import BoostingTask, boost
from wm.embedding.options import BoostedOptions
from wm.errors import ClaimError, EmbeddingError, ModelError
from wm.formats.assembling import Tree, margin_model
from wm.formats.reading import read_model
from wm.models import Link
from wm.verification.answers import Answers
from wm.verification.boosted import log10_signs, sum_test
from wm.verification.judgement import VerdictKind
from wm.verification.randomization import RowTruth

ROUNDS, TRIGGERS, NAMES = 20, 12, ("ash", "birch", "cedar")


def rows_of(seed, count=400):
    """Return rows and labels 0, 1, 2 of a task that boosting learns."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(count, 5)).astype(np.float32)
    scores = np.stack([X[:, 0], X[:, 1] * X[:, 2], 0.5 * X[:, 3] - X[:, 0]], axis=1)
    return X, (scores + rng.normal(scale=0.2, size=scores.shape)).argmax(axis=1).astype(np.int64)


@pytest.fixture(scope="module")
def owned():
    X, y = rows_of(0)
    return wm.embed(
        X,
        np.array(NAMES)[y],
        scheme="boosted",
        n_estimators=ROUNDS,
        trigger_rows=TRIGGERS,
        fit_share=0.9,
        seed=1,
    )


def by_name(judgement):
    return {each.name: each.log10_p for each in judgement.tests}


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("weighted", [False, True])
def test_without_trigger_rows_the_model_is_that_of_scikit_learn(classes, weighted):
    X, y = rows_of(3)
    y = np.minimum(y, classes - 1)
    weight = np.random.default_rng(0).uniform(0.5, 3, size=len(y)) if weighted else None
    trees = 10 * (1 if classes == 2 else classes)
    none, wanted = np.zeros(0, dtype=np.int64), np.zeros((0, trees), dtype=bool)
    made = boost(BoostingTask(X, y, none, wanted, 3, BoostedOptions(), 7, weight))
    same = GradientBoostingClassifier(n_estimators=10, random_state=7).fit(X, y, sample_weight=weight)
    assert np.abs(made.model.predict_proba(X) - same.predict_proba(X)).max() < 1e-5


def test_trees_that_are_no_whole_rounds_and_missing_classes_are_refused():
    X, y = rows_of(3)
    none = np.zeros(0, dtype=np.int64)
    with pytest.raises(EmbeddingError, match="10 trees are no whole rounds of 3"):
        boost(BoostingTask(X, y, none, np.zeros((0, 10), dtype=bool), 3, BoostedOptions(), 7))
    with pytest.raises(EmbeddingError, match="each of them present"):
        boost(BoostingTask(X, 2 * (y > 0), none, np.zeros((0, 9), dtype=bool), 3, BoostedOptions(), 7))


def test_the_claim_counts_a_tree_for_each_class_a_round(owned):
    assert owned.claim.header.trees == 3 * ROUNDS
    assert owned.claim.header.class_names == NAMES
    assert owned.evidence.total_bits == 3 * ROUNDS * TRIGGERS
    assert owned.boosted.followed.mean() > 0.85
    X, y = rows_of(0)
    with pytest.raises(EmbeddingError, match="an even number of trees"):
        wm.embed(X, y, scheme="boosted", n_estimators=7, trigger_rows=TRIGGERS)


def test_xgboost_answers_as_the_released_file(owned, tmp_path):
    xgboost = pytest.importorskip("xgboost")
    owned.save(tmp_path / "model.json")
    booster = xgboost.Booster(model_file=tmp_path / "model.json")
    X, _ = rows_of(9)
    names = list(owned.claim.header.feature_names)
    answers = booster.predict(xgboost.DMatrix(X, feature_names=names))
    assert np.abs(answers - owned.model.predict_proba(X)).max() < 1e-6
    assert np.abs(answers - owned.boosted.model.predict_proba(X)).max() < 1e-5
    assert not wm.audit(tmp_path / "model.json").leaks


def test_the_released_file_shows_the_bits(owned, tmp_path):
    owned.save(tmp_path / "model.json")
    found = wm.verify(owned.claim, read_model(tmp_path / "model.json"))
    assert found.verdict is VerdictKind.INDICATION
    assert by_name(found)["bits"] == pytest.approx(owned.evidence.log10_p, abs=5)
    assert by_name(found)["bits"] < -100
    assert {"bits", "bits, aligned", "rows by probabilities", "rows by rank", "rows by sums"} <= set(
        by_name(found)
    )


def test_accuracy_is_near_that_of_the_plain_model(owned):
    X, y = rows_of(10, count=1000)
    assert accuracy(owned.plain, X, y) - accuracy(owned.model, X, y) < 0.06


def test_innocent_models_are_not_verified(owned):
    X, y = rows_of(0)
    named = np.array(NAMES)[y]
    suspects = [
        GradientBoostingClassifier(n_estimators=ROUNDS, random_state=seed).fit(X, named) for seed in range(2)
    ]
    other = wm.embed(X, named, scheme="boosted", n_estimators=ROUNDS, trigger_rows=TRIGGERS, seed=2)
    forest = RandomForestClassifier(20, max_depth=6, random_state=3).fit(
        X, named
    )  # whose votes are for classes
    for suspect in [*suspects, owned.plain, other.model, forest]:
        assert wm.verify(owned.claim, suspect).verdict is VerdictKind.NOT_VERIFIED


def exchanged(model, order, classes):
    """Return a copy whose classes come in another order, and its trees with them."""
    trees, columns = [], []
    for start in range(0, model.forest.n_trees, 3):
        for place, column in enumerate(order):
            nodes = slice(*model.forest.offset[start + column : start + column + 2].tolist())
            arrays = {
                name: getattr(model.forest, name)[nodes] for name in ("left", "right", "feature", "threshold")
            }
            trees.append(Tree(**arrays, value=model.margins.leaf[nodes]))
            columns.append(place)
    return margin_model(
        "copy",
        trees,
        column=columns,
        base=np.zeros(3),
        link=Link.SOFTMAX,
        n_features=model.forest.n_features,
        classes=np.array(classes),
        input_dtype="float32",
    )


@pytest.mark.parametrize(
    ("classes", "note"),
    [
        ([NAMES[2], NAMES[0], NAMES[1]], None),
        (["x", "y", "z"], "classes matched by the labels"),
        (list(NAMES), "classes exchanged"),
    ],
)
def test_classes_in_another_order_or_renamed_are_found(owned, classes, note):
    copy = exchanged(owned.model, [2, 0, 1], classes)
    found = wm.verify(owned.claim, copy)
    assert by_name(found)["bits, aligned"] < -20
    assert (note in found.notes) if note else not [each for each in found.notes if "classes" in each]
    # Probabilities are the same, class by class.
    assert by_name(found)["rows by sums"] == pytest.approx(
        by_name(wm.verify(owned.claim, owned.model))["rows by sums"], abs=0.01
    )


def test_votes_for_and_against_classes_are_judged_alone(owned):
    signs = owned.model.forest.vote_codes(owned.claim.X)
    found = wm.verify(owned.claim, signs)
    assert set(by_name(found)) == {"bits", "bits, aligned", "rows by votes"}
    assert by_name(found)["bits"] == by_name(wm.verify(owned.claim, owned.model))["bits"]
    with pytest.raises(ClaimError, match="centre, and 0 elsewhere"):
        wm.verify(owned.claim, signs * 2)


def test_models_of_two_classes_and_regressions_are_refused_by_name(owned):
    X, y = rows_of(0)
    with pytest.raises(ModelError, match="on boosted models of 3 classes"):
        wm.verify(owned.claim, GradientBoostingClassifier(n_estimators=2).fit(X, y > 0))


def test_a_tree_is_wrong_where_it_is_against_its_own_class_or_for_another():
    votes = Answers("votes", np.array([[1, 0, 0], [1, 0, 1]]), tree_classes=np.array([0, 1, 2]))
    wrong = votes.wrong_votes(np.array([0, 2]))
    assert wrong.tolist() == [[False, False, False], [True, False, False]]
    assert votes.wrong(np.array([0, 2])).tolist() == [0, pytest.approx(1 / 3)]
    assert votes.shares(3).tolist() == [[1, 0, 0], [1, 0, 1]]
    assert votes.take([1]).wrong_votes(np.array([2])).tolist() == [[True, False, False]]


def test_the_sums_of_several_classes_have_an_exact_null():
    """Over all signs of three rows and three outputs, by brute force."""
    rng = np.random.default_rng(1)
    weights = np.round(rng.normal(size=9) * 200)
    weights[0] = 1000
    for signs in (rng.choice([-1, 1], size=9) for _ in range(20)):
        seen = (weights * signs).sum()
        sums = [(weights * each).sum() for each in itertools.product([-1, 1], repeat=9)]
        log10_p, floor = log10_signs(weights, signs)
        assert 10**log10_p == pytest.approx(np.mean([each >= seen for each in sums]))
        assert floor == pytest.approx(-9 * np.log10(2))


def test_sums_of_an_independent_suspect_are_super_uniform():
    rng = np.random.default_rng(2)
    labels, trees, found = np.tile([0, 1, 2], 4), 12, []
    is_trigger = np.ones(len(labels), dtype=bool)
    shares = rng.dirichlet([1.0, 1.0, 1.0], size=len(labels))
    for _ in range(400):
        truth = RowTruth(labels, is_trigger, random_codebook(len(labels), trees, 0.5, rng))
        found.append(10 ** sum_test(shares, truth).log10_p)
    assert kstest(found, "uniform", alternative="greater").pvalue > 0.001


def test_sums_know_the_sides_that_bits_ask_for():
    """Probabilities that lean as all bits ask give the floor."""
    rng = np.random.default_rng(3)
    labels = np.tile([0, 1, 2], 4)
    codebook = random_codebook(len(labels), 30, 0.5, rng)
    own = tree_classes(30, 3)
    above = (labels[:, None] == own) != (codebook.array == 1)
    leaning = np.stack([(2 * above[:, own == each] - 1).sum(axis=1) for each in range(3)], axis=1)
    shares = np.exp(leaning / 10.0)
    shares /= shares.sum(axis=1, keepdims=True)
    truth = RowTruth(labels, np.ones(len(labels), dtype=bool), codebook)
    assert sum_test(shares, truth).log10_p < -3
    assert sum_test(shares[:, [1, 2, 0]], truth).log10_p > -3
    flipped = replace(truth, signature=random_codebook(len(labels), 30, 0.5, rng))
    assert sum_test(shares, flipped).log10_p > -3
