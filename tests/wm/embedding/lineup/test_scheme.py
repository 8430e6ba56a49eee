"""Scheme `lineup` in campaigns: an honest forest, and the proof that its suspects are judged by."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from tests import lineups
from wm.embedding import SCHEMES
from wm.embedding.common import EmbeddingTask
from wm.embedding.options import TrainOptions
from wm.embedding.training import Caps
from wm.errors import ClaimError, EmbeddingError
from wm.signature import Signature

SCHEME = SCHEMES["lineup"]


@pytest.fixture(scope="module")
def task() -> EmbeddingTask:
    X, y = lineups.rows_of(0)
    return EmbeddingTask(
        X=X,
        y=y,
        signature=Signature.of([0, 1] * 5),
        trigger_rows=np.arange(4),
        caps=Caps(5, None),
        seed_right=1,
        seed_wrong=2,
        fit=TrainOptions(),
        tree_seeds=tuple(range(100, 110)),
    )


def test_signature_and_trigger_rows_leave_no_trace(task):
    made = SCHEME.embed(task, None).forest
    other = dataclasses.replace(task, signature=Signature.of([1, 0] * 5), trigger_rows=np.arange(9, 15))
    assert SCHEME.embed(other, None).forest.content_hash == made.content_hash


def test_tasks_without_tree_seeds_have_trees_all_the_same(task):
    bare = dataclasses.replace(task, tree_seeds=())
    forest = SCHEME.embed(bare, None).forest
    assert forest.n_trees == 10
    assert (
        SCHEME.embed(dataclasses.replace(bare, seed_wrong=3), None).forest.content_hash != forest.content_hash
    )


def test_the_proof_tells_the_forest_and_its_copies_from_others(task):
    proof = SCHEME.proof.read(SCHEME.proof.make(task, lineups.rows_of(9), np.random.default_rng(1), 20))
    forest = SCHEME.embed(task, None).forest
    own = proof.scores(forest)
    assert (own.votes < -12, own.shares < -10, own.null) == (True, True, "lineup")
    assert own.labels < -1
    shuffled = forest.select(np.random.default_rng(2).permutation(10))
    assert proof.scores(shuffled).votes < -12
    assert proof.scores(shuffled).shares == pytest.approx(own.shares)
    other = SCHEME.embed(dataclasses.replace(task, tree_seeds=tuple(range(10))), None).forest
    assert min(proof.scores(other).votes, proof.scores(other).shares, proof.scores(other).labels) > -3


@pytest.mark.parametrize("data", [b"", b"no npz"])
def test_a_damaged_proof_is_refused(data):
    with pytest.raises(ClaimError):
        SCHEME.proof.read(data)


def test_row_weights_are_refused(task):
    weighted = dataclasses.replace(task, sample_weight=np.ones(len(task.y)))
    with pytest.raises(EmbeddingError, match="rows of equal weight"):
        SCHEME.embed(weighted, None)
