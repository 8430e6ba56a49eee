"""Claims and suspects that are made to cost the judge time or memory are judged, or refused with a line."""

from __future__ import annotations

import json

import numpy as np
import pytest

from tests.pools import JUDGE, TRUST, opening, pledge, rows_of, small_claim, witnessed
from wm.claims.opened import parse_opened
from wm.claims.pooled import parse_pooled
from wm.errors import ClaimError
from wm.signature import Signature
from wm.verification.answers import Answers
from wm.verification.judgement import Response, VerdictKind, judge_sample
from wm.verification.randomization import RowTruth, run_tests
from wm.verification.samples import sample_of


@pytest.mark.parametrize("stolen", [False, True])
def test_three_thousand_trees_and_trigger_rows_are_judged(stolen):
    size = 3000
    rng = np.random.default_rng(0)
    signature = Signature.of(rng.permutation(np.arange(size) % 2))
    labels, is_trigger = rng.integers(0, 2, 2 * size), rng.permutation(np.arange(2 * size) < size)
    wrong = rng.random((2 * size, size)) < 0.3
    if stolen:
        wrong[is_trigger] = signature.array
    votes = Answers("votes", labels[:, None] ^ wrong)
    for test in run_tests({"votes": votes}, RowTruth(labels, is_trigger, signature)):
        assert (test.log10_p < -500) == stolen
        assert test.log10_p >= test.log10_floor - 1e-6


def test_the_smallest_claim_is_read_and_cannot_be_judged():
    claim = witnessed(pledge(rows_of(2, 1), [0, 1], trees=1, ones=0, trigger_size=1))
    sample = sample_of(parse_pooled(claim.to_json()), trust=TRUST)
    response = Response({"votes": Answers("votes", np.zeros((2, 1), dtype=int))}, np.arange(2))
    assert judge_sample(sample, response, JUDGE).verdict == VerdictKind.UNJUDGED


@pytest.mark.parametrize(
    ("field", "value"), [("pool_size", 2**40), ("trees", 2**40), ("trigger_size", 2**40)]
)
def test_a_small_opening_of_a_huge_claim_is_refused_before_its_draw_is_computed(field, value):
    text = json.loads(opening(small_claim(12)).to_json())
    text["header"][field] = value
    with pytest.raises(ClaimError, match=r"header"):
        parse_opened(json.dumps(text))


def test_one_huge_text_is_refused():
    text = json.loads(small_claim(12).to_json()) | {"rows": "A" * 10**7}
    with pytest.raises(ClaimError, match="does not hold 12 rows"):
        parse_pooled(json.dumps(text))


def test_deep_nesting_is_refused():
    text = small_claim(12).to_json().replace('"source": null', '"source": ' + "[" * 10**6 + "]" * 10**6)
    with pytest.raises(ClaimError, match="recursion"):
        parse_pooled(text)
