"""The filter removes a claim's evidence, and its effect on ordinary users is counted."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.wm.attacks.suppression.planted import planted
from wm.attacks.divisions import disagreement, majority, repeats
from wm.attacks.suppression.filtering import filter_and_verify, filtered_codes
from wm.verification.evidence import verify


@given(st.integers(0, 2**32), st.data())
def test_the_filter_answers_with_the_majority_and_touches_nothing_else(seed, data):
    codes, _, _, _ = planted(seed, ordinary=10)
    spotted = np.array(data.draw(st.lists(st.booleans(), min_size=15, max_size=15)))
    after = filtered_codes(codes, spotted)
    assert np.array_equal(after[~spotted], codes[~spotted])
    assert (disagreement(after[spotted]) == 0).all()
    assert np.array_equal(majority(after), majority(codes))  # no user of the majority notices


def test_the_filter_removes_the_evidence_of_a_claim():
    codes, is_trigger, labels, signature = planted(3)
    result = filter_and_verify(codes, is_trigger, repeats(codes) > 0, labels, signature)
    before = verify(codes[is_trigger], labels, signature)
    assert before.exact_match
    assert result.log10_p_before == before.log10_p
    assert (result.triggers_spotted, result.log10_p_after) == (1.0, pytest.approx(0.0))
    nothing = filter_and_verify(codes, is_trigger, is_trigger & False, labels, signature)
    assert nothing.log10_p_after == nothing.log10_p_before == before.log10_p
    assert (nothing.ordinary_touched, nothing.ordinary_votes_changed) == (0.0, 0.0)


def test_the_filter_on_a_real_forest(published_owner):
    """The plainest threshold touches between 5% and 20% of ordinary queries."""
    queries = np.concatenate([published_owner.trigger_X, published_owner.data.X_test])
    codes, is_trigger = published_owner.watermarked.vote_codes(queries), np.arange(len(queries)) < 7
    result = filter_and_verify(
        codes,
        is_trigger,
        disagreement(codes) >= 0.3,
        published_owner.trigger_y,
        published_owner.signature,
    )
    assert result.triggers_spotted == 1.0
    assert 0.05 < result.ordinary_touched < 0.2
    assert result.ordinary_votes_changed < 0.1
    assert result.log10_p_before < -20
    assert result.log10_p_after > -0.01
