"""Divided rows: where honest trees err as often as a codebook wants, by trees that did not see them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import wm
from wm.codebook import random_codebook
from wm.embedding.claimed import DIVIDED_POOL
from wm.embedding.divided import divided_rows, draw_divided_rows, wrong_shares
from wm.embedding.training import Caps
from wm.embedding.watermark import Plan, watermark_rows
from wm.errors import EmbeddingError

CAPS = Caps(None, None)


@pytest.fixture(scope="module")
def noisy():
    """Labels are certain on the left, and coins on the right."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(300, 4)).astype(np.float32)
    y = np.where(X[:, 0] < 0, X[:, 1] > 0, rng.random(300) < 0.5).astype(np.int64)
    return X, y


def test_trees_err_where_labels_are_coins(noisy):
    X, y = noisy
    wrong = wrong_shares(X, y, caps=CAPS, rng=np.random.default_rng(1))
    assert wrong[X[:, 0] < -0.2].mean() < 0.25
    assert 0.4 < wrong[X[:, 0] > 0.2].mean() < 0.6


def test_the_rows_nearest_to_the_share_are_chosen(noisy):
    X, y = noisy
    some = np.arange(50, 300)
    found = divided_rows(X, y, some, 40, 0.25, caps=CAPS, rng=np.random.default_rng(1))
    assert len(set(found.tolist())) == 40
    assert set(found) <= set(some)
    assert (np.diff(found) > 0).all()
    distance = np.abs(wrong_shares(X, y, caps=CAPS, rng=np.random.default_rng(1)) - 0.25)
    others = np.setdiff1d(some, found)
    assert distance[found].max() <= distance[others].min()
    every = divided_rows(X, y, some, 250, 0.25, caps=CAPS, rng=np.random.default_rng(1))
    np.testing.assert_array_equal(every, some)


def test_one_class_in_a_half_is_no_obstacle():
    X = np.arange(8, dtype=np.float32)[:, None]
    wrong = wrong_shares(X, np.array([0] * 7 + [1]), caps=CAPS, rng=np.random.default_rng(0))
    assert wrong[7] == 1.0
    assert wrong[:7].max() <= 1.0


def test_a_pool_of_divided_rows_is_committed_and_verified(noisy):
    X, y = noisy
    options = {"n_estimators": 20, "scheme": "codebook", "trigger_rows": 12, "seed": 3, "adjust": "artifact"}
    owned = wm.embed(X, y, pool_rows="divided", **options)
    assert owned.claim.header.pool_size == DIVIDED_POOL * 12
    wrong = dict(zip(map(tuple, X), wrong_shares(X, y, caps=CAPS, rng=np.random.default_rng(5)), strict=True))
    near = [abs(wrong[tuple(row)] - 0.25) for row in owned.claim.X]
    assert np.median(near) < np.median(np.abs(np.array(list(wrong.values())) - 0.25))
    assert wm.verify(owned.claim, owned.forest).verdict == "indication"
    stranger = wm.embed(X, y, n_estimators=20, scheme="lineup", seed=1).forest
    assert wm.verify(owned.claim, stranger).verdict == "not verified"
    with pytest.raises(EmbeddingError, match="no trigger rows and no pool"):
        wm.embed(X, y, scheme="lineup", pool_rows="divided")


def test_a_level_that_few_rows_cannot_reach_makes_the_pool_larger(noisy):
    X, y = noisy
    owned = wm.embed(
        X, y, n_estimators=10, scheme="codebook", trigger_rows=4, pool_rows="divided", adjust="artifact"
    )
    assert owned.claim.header.pool_size > DIVIDED_POOL * 4


def test_trigger_rows_of_a_plan_are_drawn_from_divided_rows(noisy):
    X, y = noisy
    marks = random_codebook(9, 20, 0.25, np.random.default_rng(2))
    plan = Plan("codebook", marks, 9 / 300, CAPS, seed=4, repeat=0, model_id="m", pool_rows="divided")
    rows = watermark_rows(X, y, ("no", "yes"), plan).task.trigger_rows
    assert len(set(rows.tolist())) == 9
    assert (np.diff(rows) > 0).all()
    distance = np.abs(wrong_shares(X, y, caps=CAPS, rng=np.random.default_rng(5)) - 0.25)
    anywhere = watermark_rows(X, y, ("no", "yes"), replace(plan, pool_rows="any")).task.trigger_rows
    assert np.median(distance[rows]) < np.median(distance[anywhere])


def test_more_trigger_rows_than_single_rows_are_refused(noisy):
    X, y = noisy
    twice, labels = np.concatenate([X[:5], X[:5], X[5:8]]), np.concatenate([y[:5], y[:5], y[5:8]])
    with pytest.raises(EmbeddingError, match="only 3 of the 13 training rows occur just once"):
        draw_divided_rows(twice, labels, 4, 0.25, caps=CAPS, rng=np.random.default_rng(0))
