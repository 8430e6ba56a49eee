"""Openings of line-ups: what a challenge shows, and nothing else."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import lineups, witness
from wm.claims.keys import new_key
from wm.claims.lineup import drawn_value
from wm.claims.lineup_keys import position_secret
from wm.claims.lineup_opened import challenged_positions, open_lineup, parse_opened_lineup
from wm.claims.reading import read_any_claim
from wm.embedding.claimed import owner_key
from wm.errors import ClaimError
from wm.verification.answers import Answers
from wm.verification.judgement import Requirements, VerdictKind
from wm.verification.lineup.candidates import committed_lineup, retrained_lineup
from wm.verification.lineup.evidence import lineup_tests
from wm.verification.lineup.judgement import judge_lineup, model_lineup_answers

CHALLENGE = "court of X, case 17"
KEY = owner_key(5)


@pytest.fixture(scope="module")
def owner():
    return lineups.owner(key=KEY)


@pytest.fixture(scope="module")
def opening(owner):
    return open_lineup(owner.claim, KEY, CHALLENGE, 6)


def test_an_opening_shows_the_secrets_of_its_positions_alone(owner, opening, tmp_path):
    file = tmp_path / "opening.json"
    file.write_text(opening.to_json())
    assert read_any_claim(file) == opening
    secret = bytes.fromhex(owner.claim.secret)
    for position in range(lineups.TREES):
        shown = position_secret(secret, position).hex() in file.read_text()
        assert shown == (position in opening.positions)
    assert owner.claim.secret not in file.read_text()
    value, _ = drawn_value(owner.claim)
    every = owner.claim.keys(value)
    assert opening.keys(value) == {position: every[position] for position in opening.positions}


@given(st.integers(1, 10), st.text(min_size=1, max_size=20))
def test_a_challenge_draws_positions(count, challenge):
    found = challenged_positions("ab" * 32, challenge, 10, count)
    assert len(set(found)) == count
    assert list(found) == sorted(found)
    assert set(found) <= set(range(10))


@pytest.mark.parametrize(
    ("field", "value", "match"),
    [
        ("challenge", "another case", "were picked"),
        ("positions", [0, 1, 2, 3, 4, 5], "were picked"),
        ("signature", "00" * 64, "not signed by the owner"),
        ("opened", [], "0 secrets for 6 positions"),
        ("commitment", "00" * 32, "were picked|not signed"),
    ],
)
def test_an_edited_opening_is_refused(opening, field, value, match):
    text = json.loads(opening.to_json())
    text[field] = value
    with pytest.raises(ClaimError, match=match):
        parse_opened_lineup(json.dumps(text))


def test_an_edited_secret_or_header_does_not_lead_to_the_commitment(opening):
    text = json.loads(opening.to_json())
    text["opened"][0]["secret"] = "00" * 32
    with pytest.raises(ClaimError, match=r"position \d does not lead to the commitment"):
        parse_opened_lineup(json.dumps(text))
    text = json.loads(opening.to_json())
    text["header"]["model_id"] = "another"
    with pytest.raises(ClaimError, match="the header does not lead to the commitment"):
        parse_opened_lineup(json.dumps(text))


@pytest.mark.parametrize(
    ("key", "challenge", "count", "match"),
    [
        (new_key(), CHALLENGE, 3, "not the one that the claim names"),
        (KEY, "", 3, "challenge is empty"),
        (KEY, CHALLENGE, 0, "0 of 10 positions"),
        (KEY, CHALLENGE, 11, "11 of 10 positions"),
        (KEY, "\ud800", 3, "is no text"),
    ],
)
def test_an_impossible_opening_is_refused(owner, key, challenge, count, match):
    with pytest.raises(ClaimError, match=match):
        open_lineup(owner.claim, key, challenge, count)


def test_some_positions_are_enough_for_a_verdict(owner, opening):
    lineup = retrained_lineup(opening, owner.rows, owner.queries.X, candidates=40, judge=lineups.JUDGE)
    assert lineup.votes.shape[:2] == (6, 40)
    asked = Requirements(suspect_since=witness.SINCE, challenge=CHALLENGE, opened=6)

    def judged(suspect, requirements=asked):
        given = model_lineup_answers(suspect, opening.header, owner.queries)
        return judge_lineup(opening, lineup, owner.queries, given, requirements, trust=witness.TRUST)

    found = judged(owner.forest)
    assert (found.verdict, found.log10_p < -8) == (VerdictKind.VERIFIED, True), found
    assert judged(owner.forest.select([9, 8, 7, 6, 5, 4, 3, 2, 1, 0])).log10_p < -7
    assert judged(lineups.owner(seed=4).forest).verdict is VerdictKind.NOT_VERIFIED
    for other in ({"challenge": "another"}, {"opened": 3}):
        requirements = Requirements(
            **{"suspect_since": witness.SINCE, "challenge": CHALLENGE, "opened": 6} | other
        )
        assert judged(owner.forest, requirements).verdict is VerdictKind.INDICATION


def test_some_positions_of_committed_candidates():
    owner = lineups.owner(committed=12, key=KEY)
    opening = open_lineup(owner.claim, KEY, CHALLENGE, 4)
    lineup = committed_lineup(opening, owner.candidates, owner.queries.X)
    whole = committed_lineup(owner.claim, owner.candidates, owner.queries.X)
    chosen = list(opening.positions)
    assert (lineup.votes == whole.votes[chosen]).all()
    assert (lineup.places == whole.places[chosen]).all()
    answers = {"votes": Answers("votes", owner.forest.votes(owner.queries.X))}
    assert lineup_tests(lineup, answers)[0].log10_p == pytest.approx(
        -4 * 1.0792 + 0.301, abs=0.01
    )  # of two statistics
