"""The calibration's shortcuts give the product's p-values, and its bounds tell honest from dishonest ones."""

from __future__ import annotations

import numpy as np
import pytest

from research.calibration.__main__ import before_boosted, boosted_section, document, excess, ks_bound
from research.calibration.boosted import p_values as p_values_of_boosted
from research.calibration.pools import POOL, TREES, pools, suspects
from research.calibration.simulation import ONES, K, draw_subsets, p_values, row_p_values, simulate
from wm.claims.commitment import row_bytes
from wm.signature import Signature
from wm.verification.answers import Answers
from wm.verification.randomization import RowTruth, run_tests

POOLS, SUSPECTS = dict(pools()), suspects(4)


@pytest.mark.parametrize("name", POOLS)
def test_p_values_are_those_of_the_product(name):
    X, labels = POOLS[name]
    assert len(set(row_bytes(X))) == len(labels) == POOL
    rng = np.random.default_rng(0)
    for suspect in SUSPECTS:
        votes = suspect.votes(X).astype(np.int64)
        rows, marked = draw_subsets(rng, 1, POOL, K), draw_subsets(rng, 1, TREES, ONES)
        truth = RowTruth(
            labels, np.isin(np.arange(POOL), rows), Signature.of(np.isin(np.arange(TREES), marked) * 1)
        )
        answers = {
            "votes": Answers("votes", votes),
            "probabilities": Answers("probabilities", votes.mean(axis=1)),
            "labels": Answers("labels", (votes.mean(axis=1) > 0.5).astype(int)),
        }
        expected = {test.name: 10**test.log10_p for test in run_tests(answers, truth)}
        found = {name: each[0] for name, each in row_p_values(votes, labels, rows).items()}
        wrong = (votes != labels[:, None]).astype(int)
        found["bits"] = p_values(wrong[rows[0]].sum(axis=0), marked)[0]
        assert found == pytest.approx(expected, rel=1e-9)


def test_subsets_are_uniform():
    drawn = draw_subsets(np.random.default_rng(1), 20_000, 6, 2)
    counts = np.bincount(np.sort(drawn).dot([6, 1]), minlength=36)
    assert (counts > 0).sum() == 15
    assert counts[counts > 0] == pytest.approx(20_000 / 15, rel=0.15)


def test_honest_p_values_have_a_large_bound_and_others_a_small_one():
    p = simulate(POOLS["half mislabelled"], SUSPECTS, draws=200, seed=3)
    assert set(p) == {"rows by votes", "rows by probabilities", "rows by rank", "rows by labels", "bits"}
    assert min(ks_bound(each) for each in p.values()) > 1e-4
    even = (np.arange(1000) + 1) / 1000
    assert (excess(even), ks_bound(even)) == (pytest.approx(0, abs=1e-9), pytest.approx(1))
    assert ks_bound(even * 0.9) < 1e-8


def test_the_document_says_what_ran():
    text = document(4, 20)
    assert "Suspects are 4 honest forests of 70 trees" in text
    assert text.count("| half border rows |") == 5
    assert "144 verdicts on 24 real claims" in text
    assert "{" not in text


def test_boosted_models_have_a_section_of_their_own():
    text = boosted_section(3, 2)
    assert text.startswith("## Boosted models")
    assert "Suspects are 3 honest boosted models of 60 trees on each data set" in text
    assert text.count("| wine, 3 classes |") == text.count("| breast-cancer, 2 classes |") == 7
    assert "0 of 12 are at most" in text
    assert "{" not in text
    # It replaces itself, whatever else the document says.
    assert before_boosted("# Title\n\nForests.\n\n" + text) == before_boosted("# Title\n\nForests.\n")


def test_every_model_and_draw_has_a_p_value_of_each_test():
    found = p_values_of_boosted(3, 4)
    assert {len(p) for p in found.values()} == {12}
    assert all(((p > 0) & (p <= 1)).all() for p in found.values())
