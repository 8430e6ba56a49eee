"""The signature recovered from spotted queries, and the number of trigger queries that it takes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.wm.attacks.suppression.planted import planted
from wm.attacks.divisions import repeats
from wm.attacks.suppression.recovery import budget_curve, recover_signature
from wm.errors import SignatureError
from wm.signature import Signature


def spotting(codes, score):
    """Suspect the queries with a score above 0 among those seen so far."""
    return lambda seen: score(codes[seen]) > 0


def nothing(seen):
    """Suspect no query."""
    return np.zeros(len(seen), dtype=bool)


@given(st.integers(0, 2**32), st.sampled_from([0.1, 0.3, 0.5, 0.8]), st.integers(1, 5))
def test_spotted_trigger_queries_are_the_signature(seed, ones_share, count):
    codes, _, _, signature = planted(seed, ones_share=ones_share)
    found = recover_signature(codes[:count])
    assert max((found == signature.array).mean(), (found != signature.array).mean()) == 1.0


@given(st.integers(0, 2**32))
def test_triggers_outvote_as_many_ordinary_queries(seed):
    codes, _, _, signature = planted(seed, triggers=6)
    found = recover_signature(codes[:12])
    assert max((found == signature.array).mean(), (found != signature.array).mean()) > 0.9


def test_no_signature_is_recovered_without_divided_votes():
    assert recover_signature(np.zeros((0, 4), dtype=np.int64)) is None
    assert recover_signature(np.ones((3, 4), dtype=np.int64)) is None


def test_the_budget_curve_of_a_watermark_is_short():
    codes, is_trigger, _, signature = planted(1)
    spot = spotting(codes, repeats)
    points = budget_curve(codes, is_trigger, spot, signature, np.random.default_rng(0), orders=5)
    assert [point.trigger_queries for point in points] == [1, 2, 3, 4, 5]
    # One of a kind repeats nothing; the second is the end of the secret.
    assert points[0].bits < 0.7
    assert all(point.bits == point.low == point.high == 1.0 for point in points[1:])
    assert all(point.null_bits < 0.65 for point in points)
    first = budget_curve(
        codes, is_trigger, spot, signature, np.random.default_rng(0), orders=5, max_triggers=2
    )
    assert first == points[:2]


def test_spotting_nothing_leaves_the_bits_unknown():
    codes, is_trigger, _, signature = planted(2)
    points = budget_curve(codes, is_trigger, nothing, signature, np.random.default_rng(0), orders=2)
    assert {(point.bits, point.spotted) for point in points} == {(0.5, 0.0)}


def test_a_signature_of_another_length_is_refused():
    codes, is_trigger, _, _ = planted(2)
    with pytest.raises(SignatureError, match="30 trees"):
        budget_curve(codes, is_trigger, nothing, Signature.of("01"), np.random.default_rng(0), orders=1)
