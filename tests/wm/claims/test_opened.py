"""Openings: a challenge draws the rows, the owner signs them, no field can be edited, the rest is hidden."""

from __future__ import annotations

import json
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from tests.pools import CHALLENGE, OWNER, STRANGER, opening, receipt_of, small_claim, witnessed
from wm.claims.keys import public_hex
from wm.claims.opened import challenged_rows, open_claim, parse_opened, signed_text
from wm.claims.pooled import PooledClaim
from wm.errors import ClaimError
from wm.verification.samples import drawn, sample_of

CLAIM = small_claim(13, trigger_size=3)
OPENED = opening(CLAIM, shown=2, controls=4)
TEXT = OPENED.to_json()


def refusal(text):
    with pytest.raises(ClaimError) as refused:
        sample_of(parse_opened(text, what="the file"))
    line = str(refused.value)
    assert line.isprintable()
    return line


def edited(**changes):
    return json.dumps(json.loads(TEXT) | changes)


def numbers(count, smallest=0):
    return st.lists(st.integers(smallest, count), unique=True, min_size=1)


# --- which rows


@given(st.integers(3, 40), st.data())
def test_a_challenge_draws_as_many_of_each_kind_as_are_asked(pool, data):
    triggers = data.draw(numbers(pool - 1).filter(lambda found: len(found) < pool))
    shown = data.draw(st.integers(1, len(triggers)))
    controls = data.draw(st.integers(1, pool - len(triggers)))
    challenge = data.draw(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=5))
    found = challenged_rows("ab" * 32, challenge, triggers, pool, shown=shown, controls=controls)
    assert list(found) == sorted(set(found))
    assert len(set(found) & set(triggers)) == shown
    assert len(set(found) - set(triggers)) == controls
    fewer = challenged_rows("ab" * 32, challenge, triggers, pool, shown=shown, controls=1)
    assert set(fewer) <= set(found)


@pytest.mark.parametrize(("shown", "controls"), [(0, 4), (4, 4), (2, 0), (2, 11), (-1, 4)])
def test_more_rows_than_there_are_cannot_be_opened(shown, controls):
    with pytest.raises(ClaimError, match="cannot be opened"):
        opening(CLAIM, shown=shown, controls=controls)


def test_over_challenges_every_row_of_its_kind_is_opened_equally_often():
    triggers, seen = (1, 4, 7), Counter()
    for number in range(3000):
        seen.update(challenged_rows("cd" * 32, str(number), triggers, 10, shown=1, controls=2))
    for row in range(10):
        # Six standard deviations of 3,000 draws.
        assert seen[row] == pytest.approx(1000 if row in triggers else 3000 * 2 / 7, abs=160)


# --- what is shown


@given(st.integers(1, 3), st.integers(1, 10), st.text("ab\n1,", min_size=1))
@examples(30)
def test_an_opening_shows_rows_of_the_claim_and_the_same_draw(shown, controls, challenge):
    found = opening(CLAIM, shown=shown, controls=controls, challenge=challenge)
    assert parse_opened(found.to_json()) == found
    whole, part = sample_of(CLAIM), sample_of(found)
    assert part.draw == whole.draw
    assert part.size == shown
    assert np.array_equal(part.X, whole.X[part.indices])
    assert np.array_equal(part.y, whole.y[part.indices])
    assert np.array_equal(part.is_trigger, whole.is_trigger[part.indices])


def test_neither_salt_nor_closed_rows_are_in_an_opening():
    closed = sorted(set(range(13)) - set(OPENED.indices))
    assert CLAIM.salt not in TEXT
    assert "salt" not in json.loads(TEXT)
    assert len(OPENED.X) == 6
    for row in CLAIM.X[closed]:
        assert row.tobytes() not in OPENED.X.tobytes()


# --- nothing can be edited


def leaves(value, place=()):
    parts = (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else None
    )
    if parts is None:
        yield place
        return
    for name, part in parts:
        yield from leaves(part, (*place, name))


PLACES = [place for place in leaves(json.loads(TEXT)) if place[0] != "proofs" or place[1] == 3]


@pytest.mark.parametrize("place", PLACES, ids=lambda place: ".".join(map(str, place)))
@given(data=st.data())
@examples(15)
def test_an_opening_with_any_field_edited_is_refused(place, data):
    document = json.loads(TEXT)
    part = document
    for name in place[:-1]:
        part = part[name]
    old = part[place[-1]]
    if isinstance(old, str):
        spot = data.draw(st.integers(0, len(old) - 1))
        letter = data.draw(st.sampled_from("0aAbQ/=. "))
        new = data.draw(st.sampled_from([old[:spot] + letter + old[spot + 1 :], old + "A", old[:-1], ""]))
    else:
        new = data.draw(
            st.one_of(st.integers(-2, 20), st.floats(-2, 2), st.sampled_from([True, "1", [], {}]))
        )
    if new == old and type(new) is not bool:
        return
    part[place[-1]] = new
    refusal(json.dumps(document))


@given(spot=st.integers(0, len(TEXT) - 1), byte=st.characters(min_codepoint=32, max_codepoint=126))
@examples(300)
def test_an_opening_with_any_byte_edited_is_refused_or_means_the_same(spot, byte):
    try:
        read = parse_opened(TEXT[:spot] + byte + TEXT[spot + 1 :])
        sample_of(read)
    except ClaimError:
        return
    assert read.model_copy(update={"receipts": OPENED.receipts}) == OPENED
    assert sample_of(read).draw == sample_of(OPENED).draw


def test_a_path_of_another_length_or_another_row_is_refused():
    proofs = json.loads(TEXT)["proofs"]
    for path in (proofs[0]["path"][:-1], [*proofs[0]["path"], "00" * 32], proofs[1]["path"]):
        assert "does not lead" in refusal(edited(proofs=[proofs[0] | {"path": path}, *proofs[1:]]))
    assert "5 proofs for 6 rows" in refusal(edited(proofs=proofs[1:]))


def test_an_opening_that_somebody_else_made_smaller_is_refused():
    # The rows that are left are still those that the challenge draws first: only the signature tells.
    smaller = opening(CLAIM, shown=1, controls=2)
    assert set(smaller.indices) < set(OPENED.indices)
    text = smaller.model_copy(update={"signature": OPENED.signature}).to_json()
    assert "not signed" in refusal(text)
    assert parse_opened(smaller.to_json()) == smaller


# --- signature and key


@pytest.mark.parametrize("key", [STRANGER, OWNER])
def test_only_the_owner_of_the_claim_signs_openings(key):
    challenge = "another challenge"
    text = edited(
        signature=key.sign(signed_text(OPENED.commitment, challenge, OPENED.indices)).hex(),
        challenge=CHALLENGE,
    )
    assert "not signed" in refusal(text)


def test_an_opening_with_another_key_is_refused():
    with pytest.raises(ClaimError, match="not the one"):
        opening(CLAIM, key=STRANGER)
    header = json.loads(TEXT)["header"] | {"owner": public_hex(STRANGER)}
    signature = STRANGER.sign(signed_text(OPENED.commitment, CHALLENGE, OPENED.indices)).hex()
    assert "header does not lead" in refusal(edited(header=header, signature=signature))


@pytest.mark.parametrize("signature", ["00" * 64, "ff" * 64])
def test_an_unsigned_opening_is_refused(signature):
    assert "not signed" in refusal(edited(signature=signature))


@given(st.text("ab\n1,", max_size=6), st.text("ab\n1,", max_size=6), numbers(20), numbers(20))
def test_two_openings_have_two_signed_texts(first, second, rows, others):
    texts = [signed_text("ab" * 32, text, found) for text, found in ((first, rows), (second, others))]
    assert (texts[0] == texts[1]) == ((first, rows) == (second, others))


def test_an_empty_challenge_is_refused():
    with pytest.raises(ClaimError, match="empty"):
        open_claim(CLAIM, OWNER, "", [0, 1])
    assert "challenge" in refusal(edited(challenge=""))


# --- rows that were picked


def test_rows_that_the_challenge_does_not_draw_are_refused():
    found, _ = drawn(CLAIM)
    hidden = sorted(set(range(13)) - set(OPENED.indices) - set(found.triggers))
    first = next(index for index in OPENED.indices if index not in found.triggers)
    picked = sorted({*OPENED.indices, hidden[0]} - {first})
    assert "picked" in refusal(open_claim(CLAIM, OWNER, CHALLENGE, picked).to_json())


@pytest.mark.parametrize("kind", ["triggers", "controls"])
def test_an_opening_without_one_kind_of_rows_is_refused(kind):
    triggers = drawn(CLAIM)[0].triggers
    rows = triggers if kind == "triggers" else sorted(set(range(13)) - set(triggers))
    assert "cannot be opened" in refusal(open_claim(CLAIM, OWNER, CHALLENGE, rows).to_json())


def test_other_receipts_make_another_draw_and_the_opened_rows_are_refused():
    claim = small_claim(100, trigger_size=30)
    found = opening(claim, shown=15, controls=30)
    other = witnessed(claim, receipt_of(claim, number=2))
    text = found.model_copy(update={"receipts": other.receipts}).to_json()
    assert "picked" in refusal(text)


def test_an_opening_is_no_claim():
    with pytest.raises(ValueError, match="treeproof-claim"):
        PooledClaim.model_validate_json(TEXT)
