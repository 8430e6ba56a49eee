"""Alignment in order: compared with brute force; the p-value keeps its level."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from wm.errors import ClaimError
from wm.signature import Signature, random_signature
from wm.verification.alignment import align_in_order


@given(st.data())
def test_the_alignment_is_the_best_of_all_subsets_in_order(data):
    places = data.draw(st.integers(1, 7))
    trees = data.draw(st.integers(1, places))
    rows = data.draw(st.integers(1, 3))
    bits = data.draw(st.lists(st.integers(0, 1), min_size=places, max_size=places))
    wrong = np.array(
        data.draw(
            st.lists(st.lists(st.booleans(), min_size=trees, max_size=trees), min_size=rows, max_size=rows)
        )
    )
    best = max(
        (wrong == np.array(bits)[list(chosen)]).sum()
        for chosen in itertools.combinations(range(places), trees)
    )
    found = align_in_order(wrong, Signature.of(bits), np.random.default_rng(0), draws=9)
    assert found.bits == pytest.approx(best / wrong.size)
    assert -1 <= found.log10_p <= 0


def test_the_p_value_keeps_its_level():
    rng = np.random.default_rng(5)
    found = []
    for _ in range(200):
        wrong = rng.random((3, 30)) < 0.3
        found.append(align_in_order(wrong, random_signature(40, 0.5, rng), rng, draws=19).log10_p)
    hits = int((np.array(found) <= np.log10(0.05) + 1e-9).sum())
    assert stats.binomtest(hits, 200).proportion_ci(0.999).low <= 0.05


def test_a_watermark_is_found_after_trees_are_dropped():
    rng = np.random.default_rng(6)
    signature = random_signature(60, 0.5, rng)
    kept = np.sort(rng.choice(60, 50, replace=False))
    found = align_in_order(np.tile(signature.array[kept] == 1, (4, 1)), signature, rng)
    assert (found.bits, found.log10_p) == (1.0, pytest.approx(-4.0))


def test_more_trees_than_bits_are_refused():
    with pytest.raises(ClaimError, match="3 trees cannot be aligned"):
        align_in_order(np.zeros((1, 3), dtype=bool), Signature.of("01"), np.random.default_rng(0))
