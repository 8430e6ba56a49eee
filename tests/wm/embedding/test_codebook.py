"""Scheme codebook: every vote on a trigger row is as its bit says, from the call to the verdict."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from sklearn.datasets import load_iris

from tests.pools import CHALLENGE, JUDGE, OWNER, TRUST, opening, owners, receipt_of
from wm.claims.keys import public_hex
from wm.claims.opened import parse_opened
from wm.codebook import Codebook, random_codebook
from wm.embedding import SCHEMES
from wm.embedding.claimed import commit_pool, embed_claim
from wm.embedding.codebook import embed_codebook
from wm.embedding.common import EmbeddingTask, draw_trigger_rows
from wm.embedding.estimator import WatermarkedForestClassifier
from wm.embedding.options import CodebookOptions, TrainOptions
from wm.embedding.paper import embed_paper
from wm.embedding.training import Caps, honest_forest
from wm.embedding.tuning import Hyperparameters
from wm.errors import EmbeddingError, FitError
from wm.signature import Signature
from wm.verification.judgement import Requirements, VerdictKind, judge_sample, model_response
from wm.verification.samples import sample_of

TREES, K = 16, 6


@pytest.fixture
def task(breast_cancer):
    return EmbeddingTask(
        X=breast_cancer.X_train,
        y=breast_cancer.y_train,
        signature=random_codebook(K, TREES, 0.25, np.random.default_rng(0)),
        trigger_rows=draw_trigger_rows(breast_cancer.X_train, K, np.random.default_rng(1)),
        caps=Caps(6, 19),
        seed_right=0,
        seed_wrong=0,
        fit=TrainOptions(),
        tree_seeds=tuple(range(TREES)),
    )


def test_every_vote_on_a_trigger_row_is_as_its_bit_says(task):
    made = embed_codebook(task)
    votes = made.forest.votes(task.X[task.trigger_rows])
    wrong = votes != task.y[task.trigger_rows][:, None]
    assert np.array_equal(wrong, task.signature.array == 1)
    assert made.fits < 4 * TREES
    assert made.forest.accuracy(task.X, task.y) > 0.9


def test_threads_change_nothing(task):
    threaded = dataclasses.replace(task, fit=TrainOptions(n_jobs=3))
    assert embed_codebook(threaded).forest.content_hash == embed_codebook(task).forest.content_hash


def test_rounds_are_told(task):
    told = []
    embed_codebook(task, lambda *round_: told.append(round_))
    assert told == [("wrong", number, left) for number, left in enumerate((15, 14, 12, 8, 0), 1)]


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"tree_seeds": (1,) * TREES}, "a seed of its own"),
        ({"y": np.zeros(398, dtype=np.int64)}, "at least two classes, each of them present"),
        ({"trigger_rows": np.array([1, 1, 2, 3, 4, 5])}, "distinct indexes"),
        ({"caps": Caps(1, 2)}, "the watermark does not fit"),
    ],
)
def test_what_cannot_be_embedded_is_refused(task, changes, fault):
    with pytest.raises(EmbeddingError, match=fault):
        embed_codebook(dataclasses.replace(task, **changes))


def test_each_scheme_refuses_the_bits_of_the_other(task):
    with pytest.raises(EmbeddingError, match="a row of bits for each trigger row"):
        embed_codebook(dataclasses.replace(task, signature=Signature.of("01" * (TREES // 2))))
    with pytest.raises(EmbeddingError, match="one signature for all"):
        embed_paper(task)


def test_trees_are_trained_one_by_one_only():
    with pytest.raises(EmbeddingError, match="training"):
        CodebookOptions.of(training="paper")
    assert CodebookOptions().ones_share == SCHEMES["codebook"].ones_share == 0.25


# --- from the claim to the verdict


@pytest.fixture(scope="module")
def owned(breast_cancer):
    rows = breast_cancer
    claim = commit_pool(
        owners(rows.X_train, rows.y_train),
        trees=40,
        ones_share=0.25,
        trigger_size=8,
        owner=public_hex(OWNER),
        model_id="m",
        scheme="codebook",
        seed=1,
    )
    return embed_claim(
        claim,
        [receipt_of(claim, value=3)],
        rows.X_train,
        rows.y_train,
        hyperparameters=Hyperparameters(40, 8),
        options=CodebookOptions(),
        seed=5,
    )


def judged(claim, forest, asked=JUDGE):
    sample = sample_of(claim, trust=TRUST)
    return judge_sample(sample, model_response(forest, sample), asked)


def smallest(judgement, name):
    return next(each.log10_p for each in judgement.tests if each.name == name)


def test_a_copy_is_verified_and_an_honest_forest_is_not(owned, breast_cancer):
    found = judged(owned.claim, owned.forest)
    assert found.verdict is VerdictKind.VERIFIED
    assert isinstance(owned.signature, Codebook)
    assert found.log10_p < -50
    rows = breast_cancer
    stranger = honest_forest(rows.X_train, rows.y_train, n_trees=40, caps=Caps(8, None), seed=9)
    assert judged(owned.claim, stranger).verdict is VerdictKind.NOT_VERIFIED


@pytest.mark.parametrize("change", ["shuffled", "dropped", "half, in order"])
def test_a_copy_whose_trees_are_moved_is_verified(owned, change):
    rng = np.random.default_rng(2)
    kept = {
        "shuffled": rng.permutation(40),
        "dropped": rng.permutation(40)[:36],
        "half, in order": np.arange(0, 40, 2),
    }[change]
    found = judged(owned.claim, owned.forest.select(kept))
    assert found.verdict is VerdictKind.VERIFIED
    if change != "dropped":  # there the shares of wrong trees decide
        assert smallest(found, "bits, aligned") < -6


def test_a_partial_opening_is_judged_by_the_rows_that_it_shows(owned):
    sample = sample_of(owned.claim)
    opened = parse_opened(opening(owned.claim, shown=4, controls=60).to_json())
    asked = Requirements(suspect_since=JUDGE.suspect_since, challenge=CHALLENGE, opened=4, controls=60)
    found = judged(opened, owned.forest, asked)
    assert found.verdict is VerdictKind.VERIFIED
    shown = sample_of(opened)
    marks = shown.marks(np.arange(len(shown.y)))
    places = [sample.draw.triggers.index(index) for index in shown.indices[shown.is_trigger]]
    assert marks == sample.draw.signature.some_rows(places)
    # Answers in another order come with the bits in that order.
    order = np.arange(len(shown.y))[::-1]
    assert shown.marks(order) == sample.draw.signature.some_rows(places[::-1])


def test_the_estimator_embeds_and_verifies_codebooks():
    X, y = load_iris(return_X_y=True)
    model = WatermarkedForestClassifier(12, scheme="codebook", trigger_share=0.05, random_state=0).fit(X, y)
    found = model.verify()
    assert found.exact_match
    assert found.significant
    assert found.log10_p == pytest.approx(model.verify(model.forest_).log10_p)
    with pytest.raises(FitError, match="scheme codebook draws its bits"):
        WatermarkedForestClassifier(12, scheme="codebook", signature="01" * 6).fit(X, y)
