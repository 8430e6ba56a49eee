"""The owner's whole job: what is released verifies, and holds nothing but votes."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

from wm.claims.claim import check_claim
from wm.datasets import Dataset, split
from wm.embedding.options import TrainOptions
from wm.embedding.training import Caps
from wm.embedding.watermark import Plan, watermark, watermark_rows
from wm.errors import EmbeddingError
from wm.formats.scrubbing import scrubbed
from wm.signature import Signature
from wm.verification.evidence import verify


@pytest.fixture(scope="module")
def rows():
    bunch = load_breast_cancer()
    names = tuple(str(name) for name in bunch.feature_names)
    return split(Dataset("breast-cancer", bunch.data, bunch.target, ("malignant", "benign"), names), seed=2)


PLAN = Plan(
    scheme="paper",
    signature=Signature.of("01101001"),
    trigger_share=0.02,
    caps=Caps(8, 19),
    seed=5,
    repeat=0,
    model_id="a model",
    nonce=bytes(32),
)


@pytest.mark.parametrize("training", ["paper", "artifact", "per-tree"])
def test_the_released_forest_is_scrubbed_and_the_claim_is_its(rows, training):
    made = watermark(rows, dataclasses.replace(PLAN, fit=TrainOptions(training=training)))
    check_claim(made.claim)
    assert made.forest.content_hash == scrubbed(made.embedded.forest).content_hash == made.claim.model_hash
    assert made.forest.content_hash != made.embedded.forest.content_hash
    trigger_set = made.claim.trigger_set
    evidence = verify(made.forest.votes(trigger_set.X), trigger_set.y, PLAN.signature)
    assert made.evidence == evidence
    assert evidence.exact_match
    assert made.claim.class_names == ("malignant", "benign")
    assert made.forest.accuracy(rows.X_test, rows.y_test) == made.embedded.forest.accuracy(
        rows.X_test, rows.y_test
    )


def test_a_plan_gives_the_same_watermark_again_and_another_repeat_another(rows):
    first = watermark(rows, PLAN)
    assert watermark(rows, dataclasses.replace(PLAN, fit=TrainOptions(n_jobs=2))).claim == first.claim
    other = watermark(rows, dataclasses.replace(PLAN, repeat=1))
    assert other.claim.trigger_set != first.claim.trigger_set
    assert other.forest.content_hash != first.forest.content_hash


def test_no_two_trees_of_a_per_tree_watermark_share_a_seed(rows, monkeypatch):
    seeds = []
    from wm.embedding import per_tree

    fit_tree = per_tree.fit_tree

    def recording(*arguments, seed, **rest):
        seeds.append(seed)
        return fit_tree(*arguments, seed=seed, **rest)

    monkeypatch.setattr(per_tree, "fit_tree", recording)
    watermark(rows, PLAN)
    assert len(set(seeds)) == len(PLAN.signature)


def test_bare_rows_can_be_weighted(rows):
    weight = np.linspace(1.0, 3.0, len(rows.y_train))
    made = watermark_rows(rows.X_train, rows.y_train, ("no", "yes"), PLAN, sample_weight=weight)
    assert made.evidence.exact_match
    assert made.claim.class_names == ("no", "yes")
    assert made.forest.content_hash != watermark(rows, PLAN).forest.content_hash


def test_an_unknown_scheme_is_refused(rows):
    with pytest.raises(EmbeddingError, match=r"unknown scheme 'magic'; known are: .*paper"):
        watermark(rows, dataclasses.replace(PLAN, scheme="magic"))
