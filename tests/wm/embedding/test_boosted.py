"""Scheme boosted: training compared with scikit-learn's, the owner's procedure, and what judges find."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import numpy as np
import pytest
from sklearn.ensemble import GradientBoostingClassifier, GradientBoostingRegressor, RandomForestClassifier

import wm
from tests import pools
from wm.claims.reading import read_whole_claim
from wm.embedding.boosted.claimed import accuracy
from wm.embedding.boosted.marked import plain_model
from wm.embedding.boosted.rounds import BoostingTask, boost
from wm.embedding.estimator import WatermarkedForestClassifier
from wm.embedding.options import BoostedOptions
from wm.errors import EmbeddingError, FitError, ModelError
from wm.exporting.xgboost_model import write_margins
from wm.formats.assembling import Tree, margin_model
from wm.formats.reading import read_model
from wm.models import Link
from wm.verification.judgement import Requirements, VerdictKind

TREES, TRIGGERS = 40, 12
LEVEL = np.log10(Requirements().level)


def rows_of(seed, count=300, features=5):
    """Return rows and labels of a task that boosting learns."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(count, features)).astype(np.float32)
    return X, (X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(scale=0.3, size=count) > 0).astype(np.int64)


@pytest.fixture(scope="module")
def owned():
    X, y = rows_of(0)
    return wm.embed(X, y, scheme="boosted", n_estimators=TREES, trigger_rows=TRIGGERS, fit_share=0.9, seed=1)


def tree_of(model, number, kept=None):
    """Return a tree of a model, its leaves' margins changed by `kept`."""
    nodes = slice(*model.forest.offset[number : number + 2].tolist())
    values = model.margins.leaf[nodes]
    return Tree(
        left=model.forest.left[nodes],
        right=model.forest.right[nodes],
        feature=model.forest.feature[nodes],
        threshold=model.forest.threshold[nodes],
        value=values if kept is None else kept(values),
    )


def changed(model, numbers, kept=None, classes=(0, 1)):
    """Return the boosted model of some trees of another, in this order."""
    return margin_model(
        "copy",
        [tree_of(model, number, kept) for number in numbers],
        column=np.zeros(len(numbers), dtype=np.int64),
        base=model.margins.base,
        link=Link.LOGISTIC,
        n_features=model.forest.n_features,
        classes=np.array(classes),
        input_dtype="float32",
    )


def by_name(judgement):
    return {each.name: each.log10_p for each in judgement.tests}


@pytest.mark.parametrize(("rate", "depth"), [(0.1, 3), (0.5, 2)])
def test_without_trigger_rows_the_model_is_that_of_scikit_learn(rate, depth):
    X, y = rows_of(3)
    none = np.zeros(0, dtype=np.int64)
    options = BoostedOptions(learning_rate=rate)
    made = boost(BoostingTask(X, y, none, np.zeros((0, 25), dtype=bool), depth, options, 7))
    same = GradientBoostingClassifier(n_estimators=25, max_depth=depth, learning_rate=rate, random_state=7)
    assert made.fits == 25
    assert np.abs(made.model.predict_proba(X) - same.fit(X, y).predict_proba(X)).max() < 1e-5


def test_the_trees_show_the_share_of_the_bits_that_is_asked_for():
    X, y = rows_of(4)
    rng = np.random.default_rng(0)
    rows, wanted = rng.choice(len(y), TRIGGERS, replace=False), rng.random((TRIGGERS, TREES)) < 0.5
    for share in (0.7, 0.9):
        made = boost(BoostingTask(X, y, rows, wanted, 3, BoostedOptions(fit_share=share, max_weight=1e4), 0))
        votes = made.model.forest.vote_codes(X[rows]) == 1
        assert np.allclose((votes == wanted).mean(axis=0), made.followed)
        assert made.followed.mean() >= share
    weak = boost(BoostingTask(X, y, rows, wanted, 3, BoostedOptions(max_weight=1), 0))
    assert (weak.fits, weak.weight.max()) == (TREES, 1)
    assert weak.followed.mean() < 0.9


def test_equal_tasks_give_equal_models():
    X, y = rows_of(0)
    first, second = (
        wm.embed(X, y, scheme="boosted", n_estimators=10, trigger_rows=TRIGGERS, seed=1) for _ in range(2)
    )
    assert first.content == second.content
    assert first.claim == second.claim


def test_xgboost_answers_as_the_released_file(owned, tmp_path):
    xgboost = pytest.importorskip("xgboost")
    owned.save(tmp_path / "model.json")
    booster = xgboost.Booster(model_file=tmp_path / "model.json")
    X, _ = rows_of(9)
    names = list(owned.claim.header.feature_names)
    answers = booster.predict(xgboost.DMatrix(X, feature_names=names))
    assert np.abs(answers - owned.model.predict_proba(X)[:, 1]).max() < 1e-6
    with pytest.raises(ModelError, match=r"must end in \.json"):
        owned.save(tmp_path / "model.npz")


def test_older_xgboost_can_read_the_base_score(owned, tmp_path):
    """Before version 3.1 it took 0.5, silently, for a number of more than nine digits."""
    owned.save(tmp_path / "model.json")
    parameters = json.loads((tmp_path / "model.json").read_text())["learner"]["learner_model_param"]
    assert re.fullmatch(r"\d\.\d{0,8}E-?\d+", parameters["base_score"])


@pytest.mark.parametrize("margin", [20.0, -110.0, -1000.0])
def test_a_start_that_xgboost_would_round_to_certainty_is_refused(owned, margin):
    far = replace(owned.model, margins=replace(owned.model.margins, base=np.array([margin])))
    with pytest.raises(ModelError, match="whose probability XGBoost would round"):
        write_margins(far)


def test_the_released_file_holds_nothing_of_the_training(owned, tmp_path):
    owned.save(tmp_path / "model.json")
    assert not wm.audit(tmp_path / "model.json").leaks
    released = read_model(tmp_path / "model.json")
    assert not released.traces.weight.any()


def test_no_number_in_the_leaves_repeats_itself(owned):
    """Leaves of trigger rows alone would add one number if these had one p, and show in the file."""
    leaves = owned.model.margins.leaf[owned.model.forest.is_leaf]
    _, counts = np.unique(np.abs(leaves), return_counts=True)
    assert counts.max() < 5


def test_claim_and_model_are_judged_from_their_files(owned, tmp_path):
    owned.save(tmp_path / "model.json")
    (tmp_path / "claim.json").write_text(owned.claim.to_json())
    claim = read_whole_claim(tmp_path / "claim.json")
    found = wm.verify(claim, read_model(tmp_path / "model.json"))
    assert found.verdict is VerdictKind.INDICATION
    assert found == wm.verify(owned.claim, owned.model)
    assert found.log10_p < -50
    assert not [note for note in found.notes if "contradict" in note]


def test_with_a_trusted_beacon_the_claim_is_verified():
    X, y = rows_of(5)
    made = wm.embed(
        X, y, scheme="boosted", n_estimators=TREES, trigger_rows=TRIGGERS, beacon=pools.receipt_of
    )
    found = wm.verify(made.claim, made.model, trust=pools.TRUST, requirements=pools.JUDGE)
    assert found.verdict is VerdictKind.VERIFIED


def test_accuracy_is_near_that_of_the_plain_model(owned):
    X, y = rows_of(10, count=1000)
    assert accuracy(owned.plain, X, y) - accuracy(owned.model, X, y) < 0.06


def test_innocent_models_are_not_verified(owned):
    X, y = rows_of(0)
    models = [
        GradientBoostingClassifier(n_estimators=TREES, random_state=seed).fit(X, y) for seed in range(3)
    ]
    suspects = [*models, owned.plain, RandomForestClassifier(20, random_state=0).fit(X, y)]
    for suspect in suspects:
        assert wm.verify(owned.claim, suspect).verdict is VerdictKind.NOT_VERIFIED


def test_another_owner_of_the_same_rows_is_not_verified(owned):
    X, y = rows_of(0)
    other = wm.embed(X, y, scheme="boosted", n_estimators=TREES, trigger_rows=TRIGGERS, seed=2)
    assert wm.verify(owned.claim, other.model).verdict is VerdictKind.NOT_VERIFIED


def test_scaled_and_shifted_margins_change_no_vote(owned):
    copy = changed(owned.model, range(TREES), kept=lambda margins: 0.5 * margins + 0.25)
    assert (
        by_name(wm.verify(owned.claim, copy))["bits"] == by_name(wm.verify(owned.claim, owned.model))["bits"]
    )


@pytest.mark.parametrize(
    "numbers",
    [range(0, TREES, 2), range(TREES // 2), np.random.default_rng(0).permutation(TREES).tolist()],
    ids=["every other tree", "the first half", "shuffled"],
)
def test_copies_with_fewer_or_shuffled_trees_are_found_by_alignment(owned, numbers):
    found = by_name(wm.verify(owned.claim, changed(owned.model, numbers)))
    assert found["bits, aligned"] < LEVEL
    assert ("bits" in found) == (len(numbers) == TREES)


def test_rounded_leaves_leave_most_bits(owned):
    found = by_name(
        wm.verify(owned.claim, changed(owned.model, range(TREES), lambda each: np.round(each, 2)))
    )
    assert found["bits"] < LEVEL


def test_exchanged_classes_are_noticed(owned):
    copy = changed(owned.model, range(TREES), kept=np.negative)
    copy = replace(copy, margins=replace(copy.margins, base=-copy.margins.base))
    found = wm.verify(owned.claim, copy)
    assert "classes exchanged" in found.notes
    assert by_name(found)["bits"] < LEVEL
    assert by_name(found)["rows by sums"] == pytest.approx(
        by_name(wm.verify(owned.claim, owned.model))["rows by sums"], abs=0.3
    )


def test_the_votes_of_trees_alone_are_judged(owned):
    votes = owned.model.forest.vote_codes(owned.claim.X)
    assert "rows by sums" not in by_name(wm.verify(owned.claim, votes))
    assert by_name(wm.verify(owned.claim, votes))["bits"] < LEVEL


def test_other_models_and_settings_are_refused_by_name(owned):
    X, y = rows_of(0)
    several = GradientBoostingClassifier(n_estimators=2).fit(X, y + 2 * (X[:, 3] > 0))
    for model in (several, GradientBoostingRegressor(n_estimators=2).fit(X, y)):
        with pytest.raises(ModelError, match="on boosted models of 2 classes"):
            wm.verify(owned.claim, model)
    with pytest.raises(EmbeddingError, match="an even number of trees"):
        wm.embed(X, y, scheme="boosted", n_estimators=11, trigger_rows=TRIGGERS)
    with pytest.raises(EmbeddingError, match="impossible options: ones_share"):
        wm.embed(X, y, scheme="boosted", ones_share=0.25)
    with pytest.raises(EmbeddingError, match="the watermark does not show"):
        wm.embed(X, y, scheme="boosted", n_estimators=2, trigger_rows=TRIGGERS, max_depth=1, max_weight=1)
    with pytest.raises(FitError, match="WatermarkedBoostingClassifier"):
        WatermarkedForestClassifier(10, scheme="boosted").fit(X, y)
    paper = wm.embed(X, y, n_estimators=10, trigger_rows=TRIGGERS, seed=0)
    assert wm.verify(paper.claim, owned.model).verdict != "verified"  # by its trees' signs


def test_a_plain_model_has_the_settings_of_the_task(owned):
    X, y = rows_of(0)
    task = BoostingTask(
        X, y, np.arange(2), np.zeros((2, 6), dtype=bool), 2, BoostedOptions(learning_rate=0.3), 0
    )
    model = plain_model(task)
    assert (model.forest.n_trees, int(model.forest.tree_depths.max())) == (6, 2)
