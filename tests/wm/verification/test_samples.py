"""What a judge sees of a claim: the draw, recomputed, of receipts that leave the claimant no choice."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from tests.pools import (
    NOTARY,
    STRANGER,
    TRUST,
    opening,
    own_receipt,
    pledge,
    receipt_of,
    rows_of,
    small_claim,
    witnessed,
)
from wm.claims.beacons.base import DrandChain, Receipt, Trust
from wm.claims.keys import public_hex
from wm.embedding import SCHEMES
from wm.errors import ClaimError
from wm.verification.randomization import row_floor
from wm.verification.samples import controls_needed, controls_to_open, drawn, ordered_receipts, sample_of
from wm.verification.schemes import EVIDENCE

X = rows_of(12)
PLEDGE = pledge(X, np.arange(12) % 2)
BOTH = Trust(notaries=(public_hex(NOTARY), public_hex(STRANGER)))


def test_a_claim_without_a_draw_shows_nothing():
    with pytest.raises(ClaimError, match="not drawn yet"):
        sample_of(PLEDGE)


def test_a_whole_claim_shows_all_rows():
    sample = sample_of(witnessed(PLEDGE), trust=TRUST)
    assert sample.indices.tolist() == list(range(12))
    assert tuple(np.flatnonzero(sample.is_trigger)) == sample.draw.triggers
    assert np.array_equal(sample.X, X)
    assert (sample.size, sample.challenge, sample.trusted_beacons) == (2, None, 1)
    assert sample.beacons[0].trusted


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"commitment": "ab" * 32}, "another commitment"),
        ({"owner": "cd" * 32}, "another owner"),
    ],
)
def test_receipts_of_others_are_refused(change, message):
    with pytest.raises(ClaimError, match=message):
        drawn(witnessed(PLEDGE, receipt_of(PLEDGE, **change)))


@pytest.mark.parametrize("scheme", ["", "Paper", "paper ", "my-own", "two\nlines", "x" * 10_000])
def test_a_scheme_that_nobody_can_judge_is_refused_by_name(scheme):
    """Its draw would be read as another scheme's."""
    with pytest.raises(ClaimError, match=r"of scheme .*, which cannot be judged; known are: ") as refused:
        sample_of(small_claim(scheme=scheme))
    assert str(refused.value).isprintable()
    assert len(str(refused.value)) < 200


def test_every_scheme_that_can_be_embedded_can_be_judged():
    assert {name for name, scheme in SCHEMES.items() if scheme.marks_rows} <= set(EVIDENCE)


# --- several receipts


@pytest.mark.parametrize("count", [2, 3, 40])
def test_a_receipt_given_again_is_refused(count):
    # One receipt would make as many draws as its claimant likes: R, H(R R), H(R R R) ...
    with pytest.raises(ClaimError, match="receipts"):
        drawn(witnessed(PLEDGE, *[receipt_of(PLEDGE)] * count))


def test_two_receipts_make_one_draw_whatever_their_order():
    receipts = receipt_of(PLEDGE), receipt_of(PLEDGE, notary=STRANGER)
    ordered = ordered_receipts(PLEDGE, receipts)
    assert ordered == ordered_receipts(PLEDGE, receipts[::-1])
    assert drawn(witnessed(PLEDGE, *ordered))
    with pytest.raises(ClaimError, match="ascending"):
        drawn(witnessed(PLEDGE, *ordered[::-1]))


def test_three_receipts_are_too_many():
    receipts = [own_receipt() for _ in range(3)]
    for order in permutations(receipts):
        with pytest.raises(ClaimError, match="3 receipts"):
            drawn(witnessed(PLEDGE, *order))


@pytest.mark.parametrize(
    ("trust", "count"),
    [
        (None, 0),
        (TRUST, 1),
        (BOTH, 2),
        (
            Trust(
                notaries=BOTH.notaries,
                timestamp_roots=("a root",),
                drand=(DrandChain(hash="h", public_key="k", scheme="s", genesis_time=0, period=3),),
            ),
            6,
        ),
    ],
)
def test_every_way_to_a_trusted_value_is_counted(trust, count):
    assert sample_of(witnessed(PLEDGE), trust=trust).trusted_beacons == count


@pytest.mark.parametrize(
    "content", ["", "{}", "[]", "null", '{"signatures": []}', "ab" * 31, "AB" * 32, "é" * 64]
)
@pytest.mark.parametrize("kind", ["none", "notary", "court", ""])
def test_damaged_receipts_are_refused(kind, content):
    with pytest.raises(ClaimError) as refused:
        drawn(witnessed(PLEDGE, Receipt(kind=kind, content=content)))
    assert str(refused.value).isprintable()


# --- how many controls


@given(
    st.integers(3, 400), st.data(), st.floats(-12, -0.5).map(lambda power: 10**power), st.integers(1, 10**6)
)
@examples(50)
def test_as_many_controls_as_the_level_needs_and_no_more(pool, data, level, number):
    size = data.draw(st.integers(1, min(pool - 1, 12)))
    claim = pledge(rows_of(pool), np.arange(pool) % 2, trigger_size=size)
    sample = sample_of(witnessed(claim, receipt_of(claim, number=number)))
    shown = data.draw(st.integers(1, size))
    count = controls_to_open(sample, level, shown=shown)
    goal = np.log10(level / (2 * number)) - 2
    assert 1 <= count <= pool - size
    assert count == pool - size or row_floor(shown + count, shown) <= goal
    assert count <= 5 * shown or row_floor(shown + count - 1, shown) > goal
    assert controls_needed(sample, level, shown=shown) == count


def test_an_opening_asks_no_more_controls_than_it_shows():
    sample = sample_of(opening(small_claim(40), shown=1, controls=3))
    assert controls_needed(sample, 1e-6) == 3
    assert controls_to_open(sample, 1e-6, shown=1) == 38
