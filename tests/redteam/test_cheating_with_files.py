"""Claims, receipts and openings that somebody edited, copied, repeated or picked, and what the judge says."""

from __future__ import annotations

import json
from datetime import timedelta

import numpy as np
import pytest

from tests.pools import (
    CHALLENGE,
    DRAWN,
    JUDGE,
    OWNER,
    SEEN,
    STRANGER,
    TRUST,
    opening,
    own_receipt,
    receipt_of,
    witnessed,
)
from tests.redteam.conftest import committed, judged
from wm.claims.beacons.base import Receipt
from wm.claims.keys import public_hex
from wm.claims.opened import open_claim, parse_opened, signed_text
from wm.claims.pooled import new_claim, parse_pooled
from wm.errors import ClaimError
from wm.verification.judgement import Requirements, VerdictKind
from wm.verification.samples import controls_to_open, drawn, ordered_receipts, sample_of

VERIFIED, INDICATION, NOT = VerdictKind.VERIFIED, VerdictKind.INDICATION, VerdictKind.NOT_VERIFIED


def edited(document, place, value):
    """Return a file's text with one field changed."""
    content = json.loads(document.to_json())
    part = content
    for name in place[:-1]:
        part = part[name]
    part[place[-1]] = value
    return json.dumps(content)


# --- edited claims


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("class_names", ["benign", "malignant"]),
        ("class_names", ["not x", "x"]),
        ("model_id", "Thief & Co"),
        ("owner", "ab" * 32),
        ("scheme", "whatever"),
        ("ones", 14),
        ("trees", 31),
        ("trigger_size", 6),
        ("preparation", None),
    ],
)
def test_a_claim_with_an_edited_header_is_refused(field, value, owned):
    with pytest.raises(ClaimError, match="does not fit"):
        parse_pooled(edited(owned.claim, ("header", field), value))


@pytest.mark.parametrize("field", ["salt", "secret", "commitment"])
def test_a_claim_with_another_secret_is_refused(field, owned):
    with pytest.raises(ClaimError, match="does not fit"):
        parse_pooled(edited(owned.claim, (field,), "cd" * 32))


# --- dates


def test_a_typed_date_is_no_proof(owned):
    """A receipt of the owner's own making says 2001, and so does a field that the owner adds."""
    typed = receipt_of(owned.claim, notary=STRANGER, now=DRAWN.replace(year=2001))
    claim = owned.claim.model_copy(update={"receipts": (typed,)})
    found = judged(sample_of(claim, trust=TRUST), owned.forest)
    assert found.verdict in (INDICATION, NOT)
    assert any("no beacon that you trust" in each for each in found.open_questions)
    with pytest.raises(ClaimError, match="created"):
        parse_pooled(edited(owned.claim, ("created",), "2001-01-01"))


@pytest.mark.parametrize("since", [DRAWN, DRAWN - timedelta(seconds=1), None])
def test_a_suspect_that_is_not_younger_than_the_draw_is_an_indication_at_best(since, owned, sample):
    assert judged(sample, owned.forest, Requirements(suspect_since=since)).verdict == INDICATION


def test_a_draw_of_the_owners_own_is_an_indication_at_best(owned, data):
    from tests.redteam.conftest import trained

    claim = committed(data)
    own = trained(data, claim, own_receipt())
    assert judged(sample_of(own.claim, trust=TRUST), own.forest).verdict == INDICATION


# --- receipts


def test_a_receipt_with_an_edited_time_or_value_is_refused(owned):
    content = owned.claim.receipts[0].content
    for new in (content.replace('"payload": "', '"payload": "A'), content.replace('"sig": "', '"sig": "A')):
        with pytest.raises(ClaimError, match=r"edited|DSSE"):
            drawn(owned.claim.model_copy(update={"receipts": (Receipt(kind="notary", content=new),)}))


def test_a_trusted_receipt_repeated_until_it_suits_is_refused(owned):
    for count in (2, 3, 50):
        repeated = owned.claim.model_copy(update={"receipts": owned.claim.receipts * count})
        with pytest.raises(ClaimError, match="receipts"):
            sample_of(repeated, trust=TRUST)


def test_a_trusted_receipt_with_one_of_the_owners_that_suits_is_an_indication_at_best(owned):
    trusted = owned.claim.receipts[0]
    for own in (own_receipt(), receipt_of(owned.claim, notary=STRANGER)):
        both = ordered_receipts(owned.claim, [trusted, own])
        found = judged(sample_of(witnessed(owned.claim, *both), trust=TRUST), owned.forest)
        assert found.verdict != VERIFIED
        assert any("do not trust" in each for each in found.open_questions)


# --- replays


def test_a_claim_replayed_under_another_key_has_another_draw(owned, data):
    """The thief has seen the whole claim and commits to the same pool and secret in its own name."""
    mine = owned.claim
    header = mine.header.model_copy(update={"owner": public_hex(STRANGER)})
    replay = new_claim(
        header, mine.X, mine.y, salt=bytes.fromhex(mine.salt), secret=bytes.fromhex(mine.secret)
    )
    with pytest.raises(ClaimError, match="another commitment"):
        drawn(witnessed(replay, *mine.receipts))
    late = receipt_of(replay, now=SEEN + timedelta(days=1), value=3)
    found = judged(sample_of(witnessed(replay, late), trust=TRUST), owned.forest)
    assert found.verdict == NOT


def test_somebody_elses_opening_with_names_edited_is_refused(owned):
    part = opening(owned.claim, shown=4, controls=60)
    for field, value in (
        ("model_id", "Thief & Co"),
        ("owner", public_hex(STRANGER)),
        ("class_names", ["a", "b"]),
    ):
        content = json.loads(edited(part, ("header", field), value))
        signature = STRANGER.sign(signed_text(part.commitment, part.challenge, part.indices)).hex()
        for text in (content, content | {"signature": signature}):
            with pytest.raises(ClaimError, match=r"not signed|does not lead"):
                parse_opened(json.dumps(text))


# --- openings


def asked(**changes):
    return Requirements(**({"suspect_since": SEEN, "challenge": CHALLENGE, "opened": 4} | changes))


def part_of(owned, shown=4, controls=None, challenge=CHALLENGE):
    whole = sample_of(owned.claim)
    count = controls_to_open(whole, 1e-6, shown=shown) if controls is None else controls
    return sample_of(opening(owned.claim, shown=shown, controls=count, challenge=challenge), trust=TRUST)


def test_an_opening_as_the_judge_asked_is_verified(owned):
    assert judged(part_of(owned), owned.forest, asked()).verdict == VERIFIED


@pytest.mark.parametrize("shown", [1, 3, 5, 7])
def test_an_owner_who_opens_another_number_of_rows_gets_an_indication_at_best(shown, owned):
    found = judged(part_of(owned, shown=shown, controls=300), owned.forest, asked(controls=300))
    assert found.verdict != VERIFIED
    assert any("were asked for" in each for each in found.open_questions)


def test_an_opening_for_another_challenge_is_an_indication_at_best(owned):
    found = judged(part_of(owned, challenge="mine"), owned.forest, asked())
    assert found.verdict == INDICATION


def test_an_owner_who_picks_the_rows_is_refused(owned):
    triggers = drawn(owned.claim)[0].triggers
    others = [index for index in range(owned.claim.header.pool_size) if index not in triggers]
    for chosen in (others[:60], others[-60:]):
        part = open_claim(owned.claim, OWNER, CHALLENGE, sorted([*triggers[:4], *chosen]))
        with pytest.raises(ClaimError, match="picked"):
            sample_of(part, trust=TRUST)


def test_choosing_the_number_of_controls_does_not_make_a_false_claim_verified(owned, innocents):
    """An owner who knows the innocent suspect's answers opens every number of controls and shows the best."""
    from wm.verification.answers import Answers
    from wm.verification.judgement import Response, judge_sample

    smallest = 0.0
    for controls in range(20, 340, 10):
        part = part_of(owned, controls=controls)
        labels = {"labels": Answers("labels", innocents[0].predict(part.X).astype(np.int64))}
        found = judge_sample(part, Response(labels, np.arange(len(part.y))), asked())
        assert found.verdict != VERIFIED
        smallest = min(smallest, found.log10_p)
    assert smallest > -1


def test_the_openings_so_far_are_counted(owned):
    first, later = (judged(part_of(owned), owned.forest, asked(tried=tried)) for tried in (1, 20))
    assert later.log10_p == pytest.approx(first.log10_p + np.log10(20))
    assert JUDGE.tried == 1
