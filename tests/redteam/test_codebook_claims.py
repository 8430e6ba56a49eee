"""Claims of scheme codebook by whoever does not own the suspect: p-values are no smaller than they may be."""

from __future__ import annotations

import numpy as np
import pytest

from tests.pools import JUDGE, TRUST, pledge, receipt_of, rows_of, witnessed
from wm.verification.answers import Answers
from wm.verification.judgement import Requirements, Response, VerdictKind, judge_sample
from wm.verification.samples import sample_of

SIZE, TREES, DRAWS = 120, 18, 250


def claimed(y, **more):
    """Return a claim without a draw on rows with some labels."""
    return pledge(rows_of(SIZE), y, trees=TREES, ones=4, trigger_size=10, scheme="codebook", **more)


def honest(rng):
    """Return votes that err at random."""
    return rng.random((SIZE, TREES)) < 0.08


def agreeing(rng):
    """Return votes of trees that err together, on rows that the claimant has labelled wrongly."""
    return np.tile(rng.random((SIZE, 1)) < 0.25, TREES)


def divided(rng):
    """Return votes of which a quarter errs on every row, as a codebook's do."""
    return rng.random((SIZE, TREES)) < 0.25


def periodic(rng):
    """Return votes in which each tree is wrong on every fourth row, in turn."""
    return (np.arange(SIZE)[:, None] + np.arange(TREES)) % 4 == 0


@pytest.mark.parametrize("suspect", [honest, agreeing, divided, periodic])
def test_over_all_draws_an_innocent_suspect_is_seldom_significant(suspect):
    y = np.arange(SIZE) % 2
    claim = pledge(
        rows_of(SIZE), y, trees=TREES, ones=4, trigger_size=10, scheme="codebook", secret=bytes(32)
    )
    wrong = suspect(np.random.default_rng(5))
    response = Response({"votes": Answers("votes", y[:, None] ^ wrong)}, np.arange(SIZE))
    found = []
    for value in range(DRAWS):
        sample = sample_of(witnessed(claim, receipt_of(claim, value=value)), trust=TRUST)
        judgement = judge_sample(sample, response, JUDGE)
        found.append(min(each.log10_adjusted for each in judgement.tests))
    for level in (0.3, 0.1, 0.02):
        # Four standard deviations above the level.
        limit = level + 4 * np.sqrt(level * (1 - level) / DRAWS)
        assert np.mean(np.array(found) <= np.log10(level)) <= limit, level


def test_a_claimant_who_knows_the_suspect_but_not_the_draw_gains_nothing():
    # All rows of the pool are labelled wrongly, so that every tree errs on every row.
    y = np.arange(SIZE) % 2
    claim = claimed(y)
    response = Response({"votes": Answers("votes", np.tile(1 - y[:, None], TREES))}, np.arange(SIZE))
    sample = sample_of(witnessed(claim), trust=TRUST)
    found = judge_sample(sample, response, Requirements(suspect_since=JUDGE.suspect_since))
    assert found.verdict in (VerdictKind.NOT_VERIFIED, VerdictKind.UNJUDGED)
    assert found.log10_p > -2


def test_bits_of_another_draw_do_not_verify_a_copy():
    y = np.arange(SIZE) % 2
    claim = pledge(
        rows_of(SIZE), y, trees=TREES, ones=4, trigger_size=10, scheme="codebook", secret=bytes(32)
    )
    mine, other = (
        sample_of(witnessed(claim, receipt_of(claim, value=value)), trust=TRUST) for value in ("a", "b")
    )
    wrong = np.zeros((SIZE, TREES), dtype=bool)
    wrong[mine.is_trigger] = mine.draw.signature.array == 1
    copy = Response({"votes": Answers("votes", y[:, None] ^ wrong)}, np.arange(SIZE))
    assert judge_sample(mine, copy, JUDGE).verdict is VerdictKind.VERIFIED
    assert judge_sample(other, copy, JUDGE).verdict is VerdictKind.NOT_VERIFIED
