"""Resemblance of candidates, against an independent implementation in plain numpy that shares no code."""

from __future__ import annotations

import gc
import itertools
import weakref

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wm.verification.lineup import scores, scores_kernel
from wm.verification.lineup.bound import log10_bound
from wm.verification.lineup.scores import BANDS, Contrasts, by_shares, in_order, out_of_order


def plain_rows(votes):
    """Return p, the used queries, and every candidate's row, centred and weighted, one after another."""
    m, n, q = votes.shape
    p = [np.mean([votes[i][k][x] for i in range(m) for k in range(n)]) for x in range(q)]
    used = [x for x in range(q) if 0 < p[x] < 1]

    def row(answers):
        return np.array([(answers[x] - p[x]) / np.sqrt(p[x] * (1 - p[x]) + 0.02) for x in used])

    return p, used, row


def plain_in_order(votes, suspect):
    _, _, row = plain_rows(votes)
    m, n, _ = votes.shape
    found = np.zeros((m, n))
    for i, k in itertools.product(range(m), range(n)):
        a, b = row(suspect[:, i]), row(votes[i][k])
        found[i, k] = a @ b / (np.sqrt(a @ a) * np.sqrt(b @ b)) if a.any() and b.any() else 0
    return found


def plain_out_of_order(votes, suspect):
    m, n, _ = votes.shape
    trees = suspect.shape[1]
    every = np.array([plain_in_order(votes, suspect[:, [j] * m]) for j in range(trees)])  # (trees, m, N)
    best = every.max(axis=2)
    best = best - np.median(best, axis=0)
    small, large = (range(m), trees) if m <= trees else (range(trees), m)
    totals = {
        order: sum(best[j, i] if m <= trees else best[i, j] for i, j in zip(small, order, strict=True))
        for order in itertools.permutations(range(large), len(small))
    }
    order = max(totals, key=totals.__getitem__)
    found = np.zeros((m, n))
    for i, j in zip(small, order, strict=True):
        tree, position = (j, i) if m <= trees else (i, j)
        found[position] = every[tree, position]
    return found


def plain_by_shares(votes, shares):
    p, used, row = plain_rows(votes)
    m, n, _ = votes.shape
    C = np.array([row(votes[i][k]) for i in range(m) for k in range(n)])
    x = np.array([p[each] for each in used]) - 0.5
    s = np.array([shares[each] for each in used])
    design = np.stack([x**3, x**2, x, np.ones_like(x)], axis=1)
    rest = s - design @ np.linalg.pinv(design) @ s
    w = np.array([1 / np.sqrt(p[each] * (1 - p[each]) + 0.02) for each in used])
    K = C @ C.T / (m * n)
    ridge = 0.01 * np.linalg.eigvalsh(K)[-1]
    return np.linalg.solve(K + ridge * np.eye(m * n), C @ (w * rest)).reshape(m, n)


def case(seed, m=4, n=3, q=40, trees=None):
    """Return candidates' votes and those of a suspect that is like candidate 1 of each position."""
    rng = np.random.default_rng(seed)
    p = rng.uniform(-0.1, 1.1, size=q)
    votes = (rng.uniform(size=(m, n, q)) < p).astype(np.uint8)
    trees = m if trees is None else trees
    order = rng.permutation(m)[:trees] if trees <= m else np.concatenate([rng.permutation(m), [0]])
    suspect = votes[order, 1].T.astype(np.int64)
    noise = rng.uniform(size=suspect.shape) < 0.1
    return votes, np.where(noise, 1 - suspect, suspect)


@pytest.mark.parametrize("seed", range(5))
def test_in_order_as_by_the_second_implementation(seed):
    votes, suspect = case(seed)
    assert in_order(Contrasts.of(votes), suspect) == pytest.approx(plain_in_order(votes, suspect))


@pytest.mark.parametrize("trees", [2, 4, 5])
@pytest.mark.parametrize("seed", range(3))
def test_out_of_order_as_by_the_second_implementation(seed, trees):
    votes, suspect = case(seed, trees=trees)
    assert out_of_order(Contrasts.of(votes), suspect) == pytest.approx(plain_out_of_order(votes, suspect))


@pytest.mark.parametrize("queries", [12, 30, 200])
@pytest.mark.parametrize("seed", range(3))
def test_by_shares_as_by_the_second_implementation_with_few_queries_and_many(seed, queries):
    votes, suspect = case(seed, m=8, n=5, q=queries)
    for answers in (suspect.mean(axis=1), (suspect.mean(axis=1) > 0.5).astype(float)):
        found, plain = by_shares(Contrasts.of(votes), answers), plain_by_shares(votes, answers)
        # The power method finds the ridge to within a few per cent.
        assert np.corrcoef(found.ravel(), plain.ravel())[0, 1] > 0.999
        places = np.ones(8, dtype=np.int64)
        assert log10_bound(found, places) == pytest.approx(log10_bound(plain, places), abs=0.1)


def test_a_suspect_is_found_whatever_the_order_of_its_trees():
    votes, suspect = case(7, m=6, n=8, q=300)
    places = np.ones(6, dtype=np.int64)
    contrasts = Contrasts.of(votes)
    assert log10_bound(out_of_order(contrasts, suspect), places) < -4
    assert log10_bound(out_of_order(contrasts, suspect[:, ::-1]), places) == pytest.approx(
        log10_bound(out_of_order(contrasts, suspect), places)
    )


def test_queries_on_which_all_agree_are_dropped():
    votes, suspect = case(8)
    agreed = np.zeros((*votes.shape[:2], 3), dtype=np.uint8)
    more = np.concatenate([votes, agreed], axis=2)
    asked = np.concatenate([suspect, np.ones((3, suspect.shape[1]), dtype=np.int64)])
    assert in_order(Contrasts.of(more), asked) == pytest.approx(in_order(Contrasts.of(votes), suspect))


def test_candidates_that_agree_everywhere_resemble_nothing_more_than_another():
    votes = np.ones((3, 4, 10), dtype=np.uint8)
    contrasts = Contrasts.of(votes)
    suspect = np.ones((10, 3), dtype=np.int64)
    for found in (
        in_order(contrasts, suspect),
        out_of_order(contrasts, suspect),
        by_shares(contrasts, suspect.mean(axis=1)),
    ):
        assert found == pytest.approx(np.zeros((3, 4)))
        assert log10_bound(found, np.zeros(3, dtype=np.int64)) == 0


@pytest.mark.parametrize("queries", [30, 200])
def test_by_shares_of_many_candidates_as_by_the_second_implementation(queries, monkeypatch):
    monkeypatch.setattr(scores, "MOST_FACTORISED", 100)
    votes, suspect = case(3, m=12, n=20, q=queries)
    for answers in (suspect.mean(axis=1), (suspect.mean(axis=1) > 0.5).astype(float)):
        found, plain = by_shares(Contrasts.of(votes), answers), plain_by_shares(votes, answers)
        assert np.corrcoef(found.ravel(), plain.ravel())[0, 1] > 0.999
        places = np.ones(12, dtype=np.int64)
        assert log10_bound(found, places) == pytest.approx(log10_bound(plain, places), rel=0.05)


def test_the_votes_of_many_candidates_are_kept_once(monkeypatch):
    """Those of each band, a copy, go as soon as a suspect is judged, not when a collector finds them."""
    monkeypatch.setattr(scores, "MOST_FACTORISED", 100)
    votes, suspect = case(3, m=12, n=20, q=900)
    contrasts = Contrasts.of(votes)
    gc.disable()
    try:
        left = []
        for _, band in contrasts.bands():
            by_shares(band, suspect.mean(axis=1))
            left.append(weakref.ref(band))
        del band
        assert len(left) >= 2
        assert [each() for each in left] == [None] * len(left)
    finally:
        gc.enable()


@given(seed=st.integers(0, 2**31), count=st.integers(0, 200), queries=st.integers(1, 90))
def test_a_pass_over_the_votes(seed, count, queries):
    rng = np.random.default_rng(seed)
    votes = rng.integers(0, 2, (count, queries)).astype(np.uint8)
    vector, offset = rng.standard_normal(queries).astype(np.float32), np.float32(rng.standard_normal())
    start = rng.standard_normal(queries)
    added = scores_kernel.squared(votes, vector, offset, total := start.copy())
    products = votes @ vector.astype(float) - offset
    assert added == pytest.approx(products.sum(), abs=1e-3)
    assert total == pytest.approx(start + products @ votes, abs=1e-3)


@pytest.mark.parametrize("factorised", [100, 1000])
def test_equal_candidates_are_equally_alike(factorised, monkeypatch):
    monkeypatch.setattr(scores, "MOST_FACTORISED", factorised)
    votes, suspect = case(4, m=12, n=20, q=200)
    votes[:, 10:] = votes[:, :10]
    found = by_shares(Contrasts.of(votes), suspect.mean(axis=1))
    assert found[:, 10:] == pytest.approx(found[:, :10], rel=1e-9, abs=1e-12)


def test_labels_are_judged_by_how_divided_candidates_are():
    rng = np.random.default_rng(9)
    p = np.repeat([0.5, 0.35, 0.1, 0.02], 150)
    contrasts = Contrasts.of((rng.uniform(size=(50, 40, 600)) < p).astype(np.uint8))
    kept = {name: np.flatnonzero(band.kept) for name, band in contrasts.bands()}
    assert list(kept) == list(BANDS)
    assert kept[""].max() < 300
    assert 150 <= kept[", not near ties"].min() < 300
    assert kept[", far from ties"].min() >= 300
    for _, band in contrasts.bands():
        assert np.array_equal(
            band.votes,
            contrasts.votes[..., np.isin(np.flatnonzero(contrasts.kept), np.flatnonzero(band.kept))],
        )
    few = Contrasts.of((rng.uniform(size=(5, 20, 300)) < 0.05).astype(np.uint8))
    assert [name for name, _ in few.bands()] == [", not near ties", ", far from ties"]
