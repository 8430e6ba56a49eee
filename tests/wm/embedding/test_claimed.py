"""The owner's procedure: a pool that can be verified, and a forest that is what the draw says."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from tests.pools import JUDGE, OWNER, STRANGER, TRUST, owners, receipt_of
from wm.claims.keys import public_hex
from wm.claims.pooled import parse_pooled
from wm.datasets.preparation import MinMax, NumberColumn, Preparation
from wm.embedding.claimed import commit_pool, embed_claim, log10_room, own_receipt, owner_key, weak_answers
from wm.embedding.options import PaperOptions
from wm.embedding.tuning import Hyperparameters
from wm.errors import ClaimError, EmbeddingError, WmError
from wm.verification.judgement import judge_sample, model_response
from wm.verification.randomization import row_floor
from wm.verification.samples import drawn, sample_of

SIZE, TREES, K = 150, 10, 5
rng = np.random.default_rng(0)
X = rng.random((SIZE, 4)).astype(np.float32)
y = (X[:, 0] + X[:, 1] > 1).astype(np.int64)
ONE_COLUMN = Preparation(columns=(NumberColumn(name="a"),), scaling=MinMax(low=(0.0,), span=(1.0,)))
SETTING = {
    "trees": TREES,
    "ones_share": 0.5,
    "trigger_size": K,
    "owner": public_hex(OWNER),
    "model_id": "m",
}


def committed(rows=X, labels=y, class_names=("no", "yes"), feature_names=None, preparation=None, **changes):
    given = replace(owners(rows, labels, class_names, feature_names), preparation=preparation)
    return commit_pool(given, **(SETTING | changes))


def embedded(claim, receipts=None, rows=X, labels=y, **changes):
    given = {"hyperparameters": Hyperparameters(TREES, 6), "options": PaperOptions(), "seed": 3} | changes
    return embed_claim(claim, receipts or [receipt_of(claim)], rows, labels, **given)


# --- the corrections of receipts


def test_an_owner_hears_before_training_what_receipts_leave_of_his_claim():
    claim = committed(trees=24, trigger_size=3, pool_size=149, level=1e-4)
    room = log10_room(claim.header, 1e-4)
    assert room == pytest.approx(math.log10(1e-4 / 2 * math.comb(149, 3)))
    first, last = int(10**room), math.ceil(10**room)
    assert weak_answers(claim, [receipt_of(claim, number=first)], 1e-4) == ""
    weak = weak_answers(claim, [receipt_of(claim, number=last)], 1e-4)
    assert f"receipt {last} of this owner: {last}: labels and class shares can give p below 10^-" in weak
    assert weak.endswith("4 trigger rows in a pool of 149 would do")
    # Of 24 trees there are 10^6.4 signatures.
    weak = weak_answers(claim, [receipt_of(claim, number=10**5)], 1e-4)
    assert "no answers of a suspect, not even votes of trees, can give p below 10^-1.1" in weak
    codebook = committed(
        trees=24, trigger_size=3, pool_size=149, scheme="codebook", ones_share=0.25, level=1e-4
    )
    assert "labels and class shares" in weak_answers(codebook, [receipt_of(codebook, number=10**5)], 1e-4)


# --- the pool


def test_the_pool_is_training_rows_with_their_labels():
    claim = committed(pool_size=100)
    known = {row.tobytes(): label for row, label in zip(X, y, strict=True)}
    assert len(claim.X) == 100
    assert [known[row.tobytes()] for row in claim.X] == claim.y.tolist()
    assert parse_pooled(claim.to_json()) == claim


@given(st.lists(st.integers(0, SIZE - 1), min_size=1, max_size=60))
@examples(20)
def test_rows_that_occur_more_than_once_are_not_in_the_pool(copied):
    claim = committed(np.vstack([X, X[copied]]), np.concatenate([y, 1 - y[copied]]))
    assert len(claim.X) == SIZE - len(set(copied))
    pool = {row.tobytes() for row in claim.X}
    assert not pool & {row.tobytes() for row in X[copied]}


def test_pools_and_secrets_differ_from_claim_to_claim():
    claims = [committed(pool_size=100) for _ in range(5)]
    assert len({each.secret for each in claims}) == len({each.salt for each in claims}) == 5
    assert len({each.X.tobytes() for each in claims}) == 5
    assert committed(seed=1) == committed(seed=1) != committed(seed=2)


def test_every_row_is_in_the_pool_equally_often():
    seen = np.zeros(SIZE)
    for seed in range(200):
        pool = {row.tobytes() for row in committed(pool_size=75, seed=seed).X}
        seen += [row.tobytes() in pool for row in X]
    # Five standard deviations of 200 draws.
    assert (np.abs(seen - 100) < 36).all()


@given(st.integers(1, 160), st.integers(-1, 160), st.floats(-12, -1).map(lambda power: 10**power))
@examples(100)
def test_a_claim_is_made_exactly_if_it_can_be_verified(size, pool, level):
    if size < pool <= SIZE and row_floor(pool, size) + math.log10(2) <= math.log10(level):
        assert committed(trigger_size=size, pool_size=pool, level=level).header.pool_size == pool
        return
    with pytest.raises(EmbeddingError) as refused:
        committed(trigger_size=size, pool_size=pool, level=level)
    assert str(refused.value).isprintable()


def test_a_share_of_many_rows_that_fills_the_default_pool_is_told_from_one_that_is_too_large(monkeypatch):
    monkeypatch.setattr("wm.embedding.claimed.MAX_POOL", 100)
    with pytest.raises(
        EmbeddingError, match="120 trigger rows need a larger pool than the 100 rows by default"
    ):
        committed(trigger_size=120)
    assert committed(trigger_size=120, pool_size=140)


def test_a_refusal_says_what_would_do():
    with pytest.raises(
        EmbeddingError, match=r"p = 10\^-1.9 at best.* 4 trigger rows in a pool of 150 would do"
    ):
        committed(trigger_size=1)
    assert committed(trigger_size=4)
    with pytest.raises(EmbeddingError, match="too few for any number"):
        committed(trigger_size=2, rows=X[:12], labels=y[:12])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"ones_share": 0.01}, "all bits equal"),
        ({"ones_share": 0.99}, "all bits equal"),
        ({"trees": 1}, "all bits equal"),
        ({"trees": 100_001}, "trees"),
        ({"class_names": ("a", "a")}, "twice"),
        ({"feature_names": ["a", "a", "b", "c"]}, "twice"),
        ({"feature_names": ["a"]}, "features"),
        ({"preparation": ONE_COLUMN}, "features"),
        ({"owner": "nobody"}, "owner"),
        ({"rows": np.where(np.arange(SIZE)[:, None] == 3, np.nan, X).astype(np.float32)}, "finite"),
        ({"rows": np.where(np.arange(SIZE)[:, None] == 3, np.inf, X).astype(np.float32)}, "finite"),
        ({"labels": np.where(np.arange(SIZE) == 3, 2, y)}, "labels"),
        ({"labels": np.where(np.arange(SIZE) == 3, -1, y)}, "labels"),
    ],
)
def test_what_no_claim_can_say_is_refused_in_one_line(change, message):
    with pytest.raises(WmError, match=message) as refused:
        committed(**change)
    assert str(refused.value).isprintable()


# --- the forest


def test_the_forest_is_what_the_draw_says():
    claim = committed()
    owned = embedded(claim)
    found, _ = drawn(owned.claim)
    votes = owned.forest.votes(claim.X[list(found.triggers)])
    wrong = votes != claim.y[list(found.triggers), None]
    assert (wrong == found.signature.array).all()
    assert owned.signature == found.signature
    assert owned.evidence.exact_match
    assert owned.claim.receipts
    assert owned.claim.model_copy(update={"receipts": ()}) == claim
    assert owned.forest.n_trees == owned.standard.n_trees == TREES


def test_another_value_makes_another_draw():
    claim = committed()
    draws = {drawn(claim.model_copy(update={"receipts": (receipt_of(claim),)}))[0] for _ in range(10)}
    assert len(draws) == 10


def test_two_receipts_are_put_in_order():
    claim = committed()
    receipts = [receipt_of(claim), receipt_of(claim, notary=STRANGER)]
    first, second = embedded(claim, receipts), embedded(claim, receipts[::-1])
    assert first.claim == second.claim
    assert first.forest.content_hash == second.forest.content_hash


@pytest.mark.parametrize(
    ("rows", "labels"),
    [(X[1:], y[1:]), (X, 1 - y), (X + np.float32(1e-3), y)],
)
def test_other_training_rows_than_the_claims_are_refused(rows, labels):
    with pytest.raises(EmbeddingError, match="not among these training rows"):
        embedded(committed(), rows=rows, labels=labels)


def test_another_number_of_trees_than_the_claims_is_refused():
    with pytest.raises(EmbeddingError, match="of 10 trees"):
        embedded(committed(), hyperparameters=Hyperparameters(TREES + 1, 6))


def test_a_claim_without_its_receipt_is_refused():
    claim = committed()
    with pytest.raises(ClaimError, match="no beacon's receipt"):
        embed_claim(
            claim, [], X, y, hyperparameters=Hyperparameters(TREES, 6), options=PaperOptions(), seed=1
        )
    with pytest.raises(ClaimError, match="another commitment"):
        embedded(claim, [receipt_of(committed())])


def test_training_rows_in_another_order_make_a_forest_for_the_same_draw():
    claim, order = committed(), np.random.default_rng(1).permutation(SIZE)
    receipts = [receipt_of(claim)]
    owned = embedded(claim, receipts, X[order], y[order])
    assert drawn(owned.claim)[0].signature == owned.signature
    assert owned.evidence.exact_match


def test_from_the_commitment_to_the_verdict():
    claim = committed(seed=1)
    owned = embedded(claim, [receipt_of(claim, value=1)])
    sample = sample_of(owned.claim, trust=TRUST)
    stolen = judge_sample(sample, model_response(owned.forest, sample), JUDGE)
    innocent = judge_sample(sample, model_response(owned.standard, sample), JUDGE)
    assert (stolen.verdict, innocent.verdict) == ("verified", "not verified")
    assert drawn(owned.claim)[0] == sample.draw


# --- keys and rehearsals


def test_a_seed_makes_a_rehearsal_and_no_seed_a_secret():
    assert public_hex(owner_key(1)) == public_hex(owner_key(1)) != public_hex(owner_key(2))
    assert public_hex(owner_key(None)) != public_hex(owner_key(None))
    assert own_receipt(1) == own_receipt(1) != own_receipt(2)
    assert own_receipt(None) != own_receipt(None)
    assert own_receipt(1).content not in (committed(seed=1).secret, committed(seed=1).salt)


def test_a_rehearsal_is_an_indication_at_best():
    owned = embedded(committed(seed=1), [own_receipt(1)])
    sample = sample_of(owned.claim, trust=TRUST)
    assert judge_sample(sample, model_response(owned.forest, sample), JUDGE).verdict == "indication"
