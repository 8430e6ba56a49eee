"""Questions: the order returns each answer to its row, and hides the trigger rows from everybody else."""

from __future__ import annotations

import itertools
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from wm.claims.claim import make_claim
from wm.claims.opening import open_rows
from wm.errors import ClaimError
from wm.signature import Signature
from wm.verification.answers import Answers
from wm.verification.questions import (
    Decoys,
    Order,
    build_questions,
    parse_order,
    plain_order,
    read_order,
    sort_answers,
)


def claim_of(k, d=3):
    rows = np.random.default_rng(k).random((k, d)).astype(np.float32)
    return make_claim(
        scheme="paper",
        signature=Signature.of("0110"),
        X=rows,
        y=np.arange(k) % 2,
        model_hash="ab" * 32,
        model_id="forest",
        class_names=("a", "b"),
    )


def decoys_of(n, d=3, seed=1005):
    rng = np.random.default_rng(seed)
    return Decoys(rng.random((n, d)).astype(np.float32), rng.integers(0, 2, n))


CLAIM = claim_of(4)
ORDER = build_questions(CLAIM, decoys_of(9), np.random.default_rng(0), repeats=3).order


@given(
    k=st.integers(1, 6),
    n=st.integers(0, 30),
    each=st.integers(1, 4),
    repeats=st.integers(0, 9),
    seed=st.integers(0, 2**32),
)
def test_every_answer_goes_back_to_its_row(k, n, each, repeats, seed):
    claim, decoys = claim_of(k), decoys_of(n) if n else None
    asked = build_questions(claim, decoys, np.random.default_rng(seed), decoys_for_each=each, repeats=repeats)
    n_decoys = min(n, each * k)
    assert len(asked.X) == asked.order.size == k + n_decoys + min(repeats, k + n_decoys)
    found = sort_answers(Answers("votes", asked.X), asked.order)  # each row is its own answer
    np.testing.assert_array_equal(found.triggers.values, claim.trigger_set.X)
    assert (found.asked_twice, found.answered_differently) == (min(repeats, k + n_decoys), 0)
    assert len(found.decoys) == n_decoys
    if decoys is not None:
        label_of = {row.tobytes(): label for row, label in zip(decoys.X, decoys.y, strict=True)}
        known = [label_of[row.tobytes()] for row in found.decoys.values]
        assert known == found.decoy_labels.tolist()
        assert len(np.unique(found.decoys.values, axis=0)) == n_decoys, "no decoy is taken twice"
    assert parse_order(asked.order.to_line(), claim) == asked.order


def test_the_order_hides_the_trigger_rows_and_depends_on_the_seed_alone():
    decoys = decoys_of(40)

    def asked(seed):
        return build_questions(CLAIM, decoys, np.random.default_rng(seed), decoys_for_each=5)

    np.testing.assert_array_equal(asked(7).X, asked(7).X)
    assert asked(7).order != asked(8).order
    # Each place is as likely for a trigger row as any other.
    places = [place for seed in range(300) for place in asked(seed).order.triggers]
    assert stats.chisquare(np.bincount(places, minlength=24)).pvalue > 1e-4


def test_a_decoy_that_is_a_trigger_row_is_left_out():
    X = CLAIM.trigger_set.X
    mixed = Decoys(np.vstack([X, X[:1], decoys_of(3).X]), np.zeros(8, dtype=np.int64))
    asked = build_questions(CLAIM, mixed, np.random.default_rng(0))
    assert len(asked.order.decoys) == 3
    with pytest.raises(ClaimError, match="every decoy is a trigger row"):
        build_questions(CLAIM, Decoys(X, np.zeros(4, dtype=np.int64)), np.random.default_rng(0))
    with pytest.raises(ClaimError, match="2 features, the trigger rows 3"):
        build_questions(CLAIM, decoys_of(5, d=2), np.random.default_rng(0))


def test_answers_that_differ_are_counted():
    asked = build_questions(CLAIM, decoys_of(9), np.random.default_rng(0), repeats=6)
    values = asked.X.copy()
    again = [pair[0] for pair in asked.order.repeats]
    values[again[:2], 0] += 1
    assert sort_answers(Answers("votes", values), asked.order).answered_differently == 2
    assert sort_answers(Answers("labels", values[:, 0]), asked.order).answered_differently == 2
    with pytest.raises(ClaimError, match="19 rows were asked, but 18 are answered"):
        sort_answers(Answers("votes", values[1:]), asked.order)


def test_the_plain_order_has_the_trigger_rows_alone():
    order = plain_order(CLAIM)
    assert (order.size, order.triggers) == (4, (0, 1, 2, 3))
    found = sort_answers(Answers("labels", np.arange(4)), order)
    assert found.triggers.values.tolist() == [0, 1, 2, 3]
    assert (len(found.decoys), found.asked_twice) == (0, 0)


def test_an_opening_is_asked_by_its_rows(tmp_path):
    opening = open_rows(CLAIM, [1, 3])
    asked = build_questions(opening, decoys_of(9), np.random.default_rng(0))
    found = sort_answers(Answers("votes", asked.X), asked.order)
    np.testing.assert_array_equal(found.triggers.values, CLAIM.trigger_set.X[[1, 3]])
    file = tmp_path / "order.json"
    file.write_text(asked.order.to_line())
    assert read_order(file, opening) == asked.order
    with pytest.raises(ClaimError, match=r"order\.json: the order has 2 trigger rows, the claim 4"):
        read_order(file, CLAIM)


def edited(**changes):
    return json.dumps(json.loads(ORDER.to_line()) | changes)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "not a valid order"),
        ("[]", "not a valid order"),
        (edited(format="other"), "format"),
        (edited(commitment="00"), "another claim's rows"),
        (edited(triggers=[]), "triggers"),
        (edited(triggers=[-1, 0, 1, 2]), "triggers.0"),
        (edited(triggers=list(ORDER.triggers[:3])), "3 trigger rows, the claim 4"),
        (edited(triggers=[ORDER.triggers[0]] * 4), "one place"),
        (edited(decoys=list(ORDER.decoys[:3])), "3 decoys and 9 labels"),
        (edited(decoy_labels=[2] * 9), "decoy_labels.0"),
        (edited(decoys=[2**70] * 9), "one place"),
        (edited(repeats=[[*pair][::-1] for pair in ORDER.repeats]), "one place"),
        (edited(repeats=[[0]]), "repeats.0"),
        (edited(extra=1), "extra"),
    ],
    ids=itertools.count(),  # the orders differ from process to process
)
def test_a_faulty_order_is_refused(text, reason):
    with pytest.raises(ClaimError) as refused:
        parse_order(text, CLAIM, what="the file")
    assert str(refused.value).startswith("the file: ")
    assert reason in str(refused.value)


def test_an_order_cannot_be_changed():
    assert isinstance(ORDER, Order)
    with pytest.raises(ValueError, match="frozen"):
        ORDER.decoys = ()
