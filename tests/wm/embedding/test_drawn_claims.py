"""The estimator with claims of version 3: what a beacon drew is trained, and a judge verifies it."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier

import wm
from tests.pools import JUDGE, OWNER, TRUST, own_receipt, owners, receipt_of
from wm.claims.keys import public_hex
from wm.embedding.claimed import commit_pool
from wm.embedding.estimator import WatermarkedForestClassifier
from wm.errors import FitError
from wm.verification.judgement import VerdictKind
from wm.verification.samples import ordered_receipts

TREES = 30


def committed(X, y, names, *, trees=TREES, witnessed=True, **options):
    """Return a claim of raw rows, drawn by the notary of the tests: the same one whenever it is asked."""
    claim = commit_pool(
        owners(X.astype(np.float32), y, names),
        trees=trees,
        ones_share=0.5,
        trigger_size=options.pop("trigger_size", 7),
        owner=public_hex(OWNER),
        model_id="forest",
        **({"seed": 1} | options),
    )
    return claim.model_copy(update={"receipts": (receipt_of(claim, value=1),) if witnessed else ()})


def estimator(**options):
    return WatermarkedForestClassifier(TREES, max_depth=8, random_state=1, **options)


@pytest.fixture(scope="module")
def claim(breast_cancer):
    return committed(breast_cancer.X_train, breast_cancer.y_train, ("0", "1"))


def test_a_drawn_claim_is_trained_and_verified(breast_cancer, claim):
    X, y = breast_cancer.X_train, breast_cancer.y_train
    model = estimator().fit(X, y, claim=claim)
    assert model.claim_ is claim
    found = wm.verify(model.claim_, model, trust=TRUST, requirements=JUDGE)
    assert (found.verdict, found.open_questions) == (VerdictKind.VERIFIED, ())
    assert model.verify().exact_match
    assert model.score(breast_cancer.X_test, breast_cancer.y_test) > 0.85
    honest = RandomForestClassifier(TREES, random_state=0).fit(X, y)
    assert wm.verify(claim, honest, trust=TRUST, requirements=JUDGE).verdict == VerdictKind.NOT_VERIFIED
    # Another beacon's value draws other rows.
    other = claim.model_copy(update={"receipts": ordered_receipts(claim, [receipt_of(claim)])})
    assert not np.array_equal(estimator().fit(X, y, claim=other).forest_.feature, model.forest_.feature)


def test_rows_in_another_order_and_with_weights_are_the_same_rows(breast_cancer, claim):
    X, y = breast_cancer.X_train, breast_cancer.y_train
    order = np.random.default_rng(0).permutation(len(y))
    model = estimator().fit(X[order], y[order], np.full(len(y), 2.0), claim)
    assert model.verify().exact_match


def test_several_classes_have_one_claim():
    X, y = load_iris(return_X_y=True)
    names = np.array(["a", "b", "c"])
    X = X + np.random.default_rng(0).normal(0, 0.01, X.shape)
    claim = committed(X, y, ("a", "b", "c"), trigger_size=5)
    model = estimator().fit(X, names[y], claim=claim)
    assert model.verify().exact_match
    found = wm.verify(claim, model, trust=TRUST, requirements=JUDGE)
    assert found.verdict is VerdictKind.VERIFIED
    honest = RandomForestClassifier(TREES, random_state=0).fit(X, names[y])
    assert wm.verify(claim, honest, trust=TRUST, requirements=JUDGE).verdict is VerdictKind.NOT_VERIFIED


@pytest.mark.parametrize(
    ("change", "word"),
    [
        (
            lambda data, _: committed(data.X_train, data.y_train, ("0", "1"), trees=8),
            "the claim is of 8 trees",
        ),
        (lambda data, _: committed(data.X_test, data.y_test, ("0", "1")), "not among these training rows"),
        (lambda data, _: committed(data.X_train, data.y_train, ("no", "yes")), "of classes 'no' and 'yes'"),
        (
            lambda data, _: committed(data.X_train, data.y_train, ("0", "1"), witnessed=False),
            "holds no beacon's receipt",
        ),
        (lambda _, claim: [claim], "not one of version 3"),
        (lambda *_: [], "not one of version 3"),
        (lambda *_: "claim.json", "not one of version 3"),
        (
            lambda _, claim: claim.model_copy(update={"receipts": (own_receipt(),) * 3}),
            "3 receipts",
        ),
    ],
)
def test_other_claims_are_refused_in_one_line(breast_cancer, claim, change, word):
    with pytest.raises(FitError, match=word) as refused:
        estimator().fit(breast_cancer.X_train, breast_cancer.y_train, claim=change(breast_cancer, claim))
    assert str(refused.value).isprintable()
