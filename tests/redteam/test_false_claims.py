"""Claims on models that carry nothing: whatever the pool and its labels, no verdict is "verified".

Each claim is drawn by an honest notary. A test fails by chance once in a million verdicts.
"""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split

from tests.pools import JUDGE, TRUST, owners, pledge, receipt_of, rows_of, witnessed
from tests.redteam.conftest import answered, drawn_sample, judged
from wm.forest import Forest
from wm.verification.answers import Answers
from wm.verification.judgement import Response, VerdictKind, judge_sample
from wm.verification.samples import sample_of

INNOCENT = {VerdictKind.NOT_VERIFIED, VerdictKind.UNJUDGED}
DRAWS = 5
"""Beacon's values that each claim is tried with."""


def proxy_of(data):
    """Return the claimant's own model, which foresees every good model of the task."""
    X, y = data.X[data.own], data.y[data.own]
    return RandomForestClassifier(100, max_depth=8, random_state=9).fit(X[:150], y[:150])


def distinct(X, y):
    _, first = np.unique(X, axis=0, return_index=True)
    return X[np.sort(first)], y[np.sort(first)]


def mislabelled(data):
    """Rows of which all models are sure, half of them with flipped labels."""
    X, y = data.X[data.own], data.y[data.own].copy()
    sure = np.argsort(-proxy_of(data).predict_proba(X).max(axis=1))[:200]
    y[sure[::2]] = 1 - y[sure[::2]]
    return X[sure], y[sure]


def all_mislabelled(data):
    return data.X[data.own], 1 - data.y[data.own]


def border_rows(data):
    """Half of the pool lies where the claimant's model says one half, with labels at random."""
    rng = np.random.default_rng(0)
    X, y, proxy = data.X[data.own], data.y[data.own], proxy_of(data)
    found = []
    for _ in range(120):
        a, b = (X[rng.choice(np.flatnonzero(y == label))] for label in (0, 1))
        line = (a + np.linspace(0, 1, 51)[:, None] * (b - a)).astype(np.float32)
        found.append(line[np.argmin(np.abs(proxy.predict_proba(line)[:, 1] - 0.5))])
    border = np.array(found)
    return distinct(np.vstack([X[:120], border]), np.concatenate([y[:120], rng.integers(0, 2, len(border))]))


def near_duplicates(data):
    """One mislabelled row a hundred times, an ulp apart, among a hundred sure ones."""
    X, y = data.X[data.own], data.y[data.own]
    copies = np.repeat(X[:1], 100, axis=0)
    for number in range(100):
        for _ in range(number):
            copies[number, 5] = np.nextafter(copies[number, 5], np.float32(2))
    return np.vstack([X[1:101], copies]), np.concatenate([y[1:101], np.full(100, 1 - y[0])])


def one_label(data):
    own = data.own[data.y[data.own] == 1]
    return data.X[own], data.y[own]


def forged_rows(data):
    """Rows on which the trees of a known forest vote as the claimant likes, found by search."""
    X, y = data.X[data.own], data.y[data.own]
    known = Forest.from_sklearn(
        RandomForestClassifier(30, max_depth=8, random_state=0).fit(data.X[data.others], data.y[data.others])
    )
    rng = np.random.default_rng(1)
    tried = (X[rng.integers(0, len(X), 20_000)] + rng.normal(0, 0.2, (20_000, X.shape[1]))).astype(np.float32)
    divided = np.argsort(np.abs(known.vote_shares(tried)[:, 1] - 0.5))[:100]
    return distinct(np.vstack([X[:100], tried[divided]]), np.concatenate([y[:100], rng.integers(0, 2, 100)]))


def noisy_labels(data):
    rng = np.random.default_rng(2)
    return data.X[data.own], data.y[data.own] ^ (rng.random(len(data.own)) < 0.3)


POOLS = (mislabelled, all_mislabelled, border_rows, near_duplicates, one_label, forged_rows, noisy_labels)


@pytest.mark.parametrize("pool", POOLS)
def test_no_pool_makes_an_innocent_model_verified(pool, data, innocents):
    X, y = pool(data)
    claim = pledge(X, y, trees=30, ones=15, trigger_size=8)
    for _ in range(DRAWS):
        sample = drawn_sample(claim, receipt_of(claim))
        verdicts = {found.verdict for model in innocents for found in answered(sample, model)}
        assert verdicts <= INNOCENT


def test_a_pool_of_one_trigger_row_or_one_tree_is_never_proof(data, innocents):
    X, y = data.X[data.own], data.y[data.own]
    for setting in ({"trigger_size": 1, "trees": 30, "ones": 15}, {"trigger_size": 8, "trees": 1, "ones": 1}):
        sample = drawn_sample(pledge(X, y, **setting))
        assert {found.verdict for found in answered(sample, innocents[0])} <= INNOCENT


def test_the_best_copy_of_a_claim_with_one_trigger_row_cannot_be_judged(data):
    X, y = data.X[data.own], data.y[data.own]
    sample = drawn_sample(pledge(X, y, trees=10, ones=5, trigger_size=1))
    votes = y[:, None] ^ (sample.is_trigger[:, None] * sample.draw.signature.array)
    found = judge_sample(sample, Response({"votes": Answers("votes", votes)}, np.arange(len(y))), JUDGE)
    assert found.verdict == VerdictKind.UNJUDGED
    assert "cannot give p below" in found.reason
    assert "receipt 1 of this owner: 1; suspects and openings tried: 1" in found.reason
    assert found.needed == "more controls or trigger rows, or fewer corrections"


# --- suspects with structure


def test_a_predictable_suspect_is_not_verified(data):
    """Everybody trains this forest: public rows, the library's own split, random_state=42."""
    X, y = data.X, data.y
    Xt, Xs, yt, ys = train_test_split(X, y, random_state=42)
    suspect = Forest.from_sklearn(RandomForestClassifier(n_estimators=100, random_state=42).fit(Xt, yt))
    divided = np.argsort(np.abs(suspect.vote_shares(Xs)[:, 1] - 0.5))[:60]
    rows, labels = distinct(np.vstack([Xs[divided], Xt[:100]]), np.concatenate([ys[divided], yt[:100]]))
    claim = pledge(rows, labels, trees=100, ones=50, trigger_size=10)
    for _ in range(DRAWS):
        assert judged(drawn_sample(claim, receipt_of(claim)), suspect).verdict in INNOCENT


def test_a_forest_grown_over_a_drift_is_not_verified():
    """Its first half learned that feature 0 means the opposite for x1 > 0.7; the claimant knows."""
    rng = np.random.default_rng(1)
    U = rng.random((2000, 6)).astype(np.float32)
    old = (U[:, 0] > 0.5).astype(int)
    new = np.where(U[:, 1] > 0.7, 1 - old, old)
    model = RandomForestClassifier(35, warm_start=True, random_state=5).fit(U[:1000], old[:1000])
    model.n_estimators = 70
    suspect = Forest.from_sklearn(model.fit(U[1000:], new[1000:]))
    X = rng.random((300, 6)).astype(np.float32)
    X[:, 1] = 0.85
    claim = pledge(X, 1 - (X[:, 0] > 0.5).astype(int), trees=70, ones=35, trigger_size=20)
    for _ in range(DRAWS):
        assert judged(drawn_sample(claim, receipt_of(claim)), suspect).verdict in INNOCENT


def test_an_ensemble_that_repeats_five_trees_fourteen_times_is_not_verified(data):
    X, y = data.X[data.others], data.y[data.others]
    five = RandomForestClassifier(5, max_depth=6, random_state=1000).fit(X, y)
    suspect = Forest.from_sklearn(five).select([*range(5)] * 14)
    Xp, yp = border_rows(data)
    for size in (1, 8, 40):
        claim = pledge(Xp, yp, trees=70, ones=42, trigger_size=size)
        for _ in range(DRAWS):
            assert judged(drawn_sample(claim, receipt_of(claim)), suspect).verdict in INNOCENT


def test_votes_that_are_all_the_same_are_not_verified(data):
    sample = drawn_sample(pledge(data.X[data.own], data.y[data.own], trees=30, ones=15, trigger_size=8))
    for votes in (np.zeros((350, 30), int), np.ones((350, 30), int), np.tile(np.arange(30) % 2, (350, 1))):
        found = judge_sample(sample, Response({"votes": Answers("votes", votes)}, np.arange(350)), JUDGE)
        assert found.verdict in INNOCENT


# --- survey data: repeated answer patterns


def survey(rng, proto, w, c, size):
    usual, odd = proto[rng.integers(0, len(proto), size)], rng.random(size) < 0.15
    X = np.where(odd[:, None], rng.integers(0, 4, (size, 10)), usual)
    y = (c < X @ w).astype(int)
    return (X / 3).astype(np.float32), np.where(rng.random(size) < np.where(odd, 0.3, 0.01), 1 - y, y)


@pytest.mark.parametrize("seed", range(6))
def test_models_of_other_peoples_survey_rows_are_not_verified(seed):
    """Rows that occur once are odd ones; trigger rows and controls are both of that kind."""
    from wm.embedding.claimed import commit_pool

    rng = np.random.default_rng(seed)
    proto, w = rng.integers(0, 4, (40, 10)), rng.normal(size=10)
    c = np.median(proto @ w)
    X, y = survey(rng, proto, w, c, 1500)
    claim = commit_pool(
        owners(X, y),
        trees=20,
        ones_share=0.5,
        trigger_size=20,
        owner="ab" * 32,
        model_id="survey",
    )
    innocent = RandomForestClassifier(50, random_state=seed).fit(*survey(rng, proto, w, c, 1500))
    for _ in range(DRAWS):
        sample = drawn_sample(claim, receipt_of(claim))
        assert {found.verdict for found in answered(sample, innocent)} <= INNOCENT


# --- everything that the claimant repeats


def test_hundreds_of_equal_commitments_gain_what_is_counted(data, innocents):
    """The claimant gets hundreds of receipts and shows the best: its p is multiplied by their number."""
    X, y = data.X[data.own][:100], data.y[data.own][:100].copy()
    y[:30] = 1 - y[:30]
    claim = pledge(X, y, trees=10, ones=5, trigger_size=5)
    labels = {"labels": Answers("labels", innocents[0].predict(X).astype(np.int64))}
    smallest = 0.0
    for number in range(1, 201):
        sample = sample_of(witnessed(claim, receipt_of(claim, number=number, value=number)), trust=TRUST)
        found = judge_sample(sample, Response(labels, np.arange(100)), JUDGE)
        assert found.multiplicity == number
        smallest = min(smallest, found.log10_p)
    # Without the factor, one of 200 draws has p of about 1/200.
    assert smallest > -2


def test_duplicated_rows_are_refused(data):
    from wm.errors import ClaimError

    X = np.repeat(rows_of(10), 2, axis=0)
    with pytest.raises(ClaimError, match="twice"):
        pledge(X, np.arange(20) % 2)
