"""Openings: opened rows lead to the commitment, closed rows stay secret, edited files are refused."""

from __future__ import annotations

import copy
import hashlib
import json
import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from wm.claims.opening import (
    check_opening,
    draw_rows,
    open_rows,
    parse_opening,
    read_claim_or_opening,
)

from wm.claims import commitment as commitments
from wm.claims.claim import NONCE_BYTES, make_claim, parse_claim
from wm.errors import ClaimError
from wm.signature import Signature

NONCE = bytes(range(NONCE_BYTES))


def claim_of(size=5, features=3, version=2):
    rows = np.random.default_rng(size).random((size, features)).astype(np.float32)
    return make_claim(
        scheme="paper",
        signature=Signature.of("01101"),
        X=rows,
        y=np.arange(size) % 2,
        model_hash="ab" * 32,
        model_id="forest-1",
        class_names=("no", "yes"),
        nonce=NONCE,
        version=version,
    )


CLAIM = claim_of()
OPENING = open_rows(CLAIM, [1, 3])
TEXT = OPENING.to_json()


def refusal(text):
    with pytest.raises(ClaimError) as refused:
        parse_opening(text, what="the file")
    line = str(refused.value)
    assert line.startswith("the file: ")
    assert line.isprintable()
    return line


# --- commitment of version 2


def sha(*parts):
    return hashlib.sha256(b"".join(parts)).digest()


def test_the_commitment_is_the_documented_tree():
    """Five rows and the header: six leaves, split as 4 + 2."""
    leaves = [
        sha(
            b"\x00treeproof/header/v2\x00",
            b"01101\x00",
            struct.pack("<qq", 5, 3),
            commitments.header_nonce(NONCE),
        )
    ]
    for index, (row, label) in enumerate(zip(CLAIM.trigger_set.rows, CLAIM.trigger_set.labels, strict=True)):
        content = struct.pack("<q3fB", index, *row, label)
        leaves.append(sha(b"\x00treeproof/row/v2\x00", content, commitments.row_nonce(NONCE, index)))
    ab, cd, ef = (sha(b"\x01", leaves[i], leaves[i + 1]) for i in (0, 2, 4))
    root = sha(b"\x01", sha(b"\x01", ab, cd), ef)
    assert CLAIM.commitment == root.hex()
    assert CLAIM.version == 2


@given(st.integers(1, 40))
def test_every_path_leads_to_the_root(count):
    leaves = [sha(bytes([number])) for number in range(count)]
    root = commitments.merkle_root(leaves)
    for place, leaf in enumerate(leaves):
        (path,) = commitments.merkle_paths(leaves, [place])
        assert commitments.root_from_path(leaf, place, count, path) == root
        assert commitments.root_from_path(leaf, place, count, [*path, leaf]) is None
        for other in range(count):
            if other != place:
                assert commitments.root_from_path(leaf, other, count, path) != root


def test_claims_of_both_versions_are_read():
    for version in (1, 2):
        claim = claim_of(version=version)
        assert parse_claim(claim.to_json()) == claim
    assert claim_of(version=1).commitment != CLAIM.commitment


# --- opening


@given(st.integers(1, 9), st.data())
def test_any_rows_can_be_opened_and_the_others_stay_closed(size, data):
    claim = claim_of(size)
    rows = data.draw(st.lists(st.integers(0, size - 1), min_size=1, unique=True))
    opening = open_rows(claim, rows)
    assert parse_opening(opening.to_json()) == opening
    assert [each.index for each in opening.opened] == sorted(rows)
    np.testing.assert_array_equal(opening.trigger_set.X, claim.trigger_set.X[sorted(rows)])
    assert opening.commitment == claim.commitment
    assert opening.bits == claim.bits
    text = opening.to_json()
    assert claim.nonce not in text
    for closed in set(range(size)) - set(rows):
        assert str(claim.trigger_set.rows[closed][0]) not in text
        assert commitments.row_nonce(NONCE, closed).hex() not in text


def test_two_openings_of_one_claim_have_one_commitment():
    first, second = open_rows(CLAIM, [0, 2]), open_rows(CLAIM, [4])
    assert first.commitment == second.commitment
    assert not set(first.trigger_set.rows) & set(second.trigger_set.rows)


def test_round_trip_through_a_file(tmp_path):
    path = tmp_path / "opening.json"
    path.write_text(TEXT)
    assert read_claim_or_opening(path) == OPENING
    with pytest.raises(ClaimError, match="cannot be read"):
        read_claim_or_opening(tmp_path / "none.json")


def test_an_old_claim_can_only_be_shown_whole():
    with pytest.raises(ClaimError, match="only be shown whole"):
        open_rows(claim_of(version=1), [0])


@pytest.mark.parametrize("rows", [[], [5], [-1], [1, 1]])
def test_indexes_that_are_not_in_the_claim_are_refused(rows):
    with pytest.raises(ClaimError, match="distinct numbers from 0 to 4"):
        open_rows(CLAIM, rows)


# --- the judge's challenge


def test_the_challenge_decides_which_rows():
    drawn = {draw_rows(CLAIM.commitment, bytes([number]), 20, 5) for number in range(20)}
    assert len(drawn) > 15
    assert draw_rows(CLAIM.commitment, b"judge", 20, 5) == draw_rows(CLAIM.commitment, b"judge", 20, 5)
    assert draw_rows("00" * 32, b"judge", 20, 5) != draw_rows(CLAIM.commitment, b"judge", 20, 5)
    assert all(len(set(rows)) == 5 and max(rows) < 20 for rows in drawn)
    with pytest.raises(ClaimError, match="from 1 to 20"):
        draw_rows(CLAIM.commitment, b"judge", 20, 21)
    with pytest.raises(ClaimError, match="empty"):
        draw_rows(CLAIM.commitment, b"", 20, 2)


# --- edits


def edited(edit):
    content = copy.deepcopy(json.loads(TEXT))
    edit(content)
    return json.dumps(content)


def row_of_another_claim(content):
    other = json.loads(open_rows(claim_of(6), [1]).to_json())
    content["opened"][0] = other["opened"][0]


@pytest.mark.parametrize(
    ("edit", "reason"),
    [
        (lambda c: c.update(signature="11101"), "signature or number of rows"),
        (lambda c: c.update(trigger_size=6), "signature or number of rows"),
        (lambda c: c.update(trigger_size=2), "row 3 is opened"),
        (lambda c: c.update(header_nonce="00" * 32), "signature or number of rows"),
        (lambda c: c["header_path"].pop(), "signature or number of rows"),
        (lambda c: c["opened"][0].update(label=1 - c["opened"][0]["label"]), "row 1 does not lead"),
        (lambda c: c["opened"][0].update(index=2), "row 2 does not lead"),
        (lambda c: c["opened"][1]["row"].__setitem__(0, 0.5), "row 3 does not lead"),
        (lambda c: c["opened"][1]["path"].reverse(), "row 3 does not lead"),
        (lambda c: c["opened"][1].update(nonce="00" * 32), "row 3 does not lead"),
        (row_of_another_claim, "row 1 does not lead"),
        (lambda c: c["opened"].reverse(), "ascending order"),
        (lambda c: c["opened"].append(c["opened"][1]), "occurs twice"),
        (lambda c: c["opened"][1]["row"].pop(), "equally long"),
        (lambda c: c["opened"][1]["row"].__setitem__(0, 0.1), "not a float32"),
        (lambda c: c.update(commitment="0" * 64), "lead to the commitment"),
        (lambda c: c.update(commitment=c["commitment"].upper()), "lead to the commitment"),
        (lambda c: c.update(opened=[]), "opened"),
        (lambda c: c.update(version=1), "version"),
        (lambda c: c.pop("header_path"), "header_path"),
        (lambda c: c.update(nonce="x"), "nonce"),
        (lambda c: c["opened"][0]["path"].__setitem__(0, "zz"), "opened.0.path.0"),
        (lambda c: c.update(trigger_size=2**62), "trigger_size"),
    ],
)
def test_an_edited_opening_is_refused_with_the_reason(edit, reason):
    assert reason in refusal(edited(edit))


def test_a_whole_claim_is_no_opening():
    assert "not a valid opening" in refusal(CLAIM.to_json())


@settings(max_examples=300)
@given(st.lists(st.tuples(st.integers(0, len(TEXT) - 1), st.integers(0, 255)), min_size=1, max_size=3))
def test_damaged_bytes_are_refused_or_leave_the_committed_fields_unchanged(flips):
    damaged = bytearray(TEXT.encode())
    for position, value in flips:
        damaged[position] = value
    try:
        opening = parse_opening(bytes(damaged), what="the file")
    except ClaimError:
        refusal(bytes(damaged))
    else:
        assert (opening.signature, opening.opened) == (OPENING.signature, OPENING.opened)
        assert opening.commitment == OPENING.commitment
        check_opening(opening)


def test_claims_and_openings_are_recognised_by_their_format(tmp_path):
    file = tmp_path / "file.json"
    for shown in (CLAIM, claim_of(version=1), OPENING):
        file.write_text(shown.to_json())
        assert read_claim_or_opening(file) == shown
    for text, word in (
        ("", "not a valid claim"),
        ('{"format": 5}', "not a valid claim: format"),
        ('{"format": "treeproof-opening"}', "not a valid opening"),
        (CLAIM.to_json().replace("treeproof-claim", "treeproof-opening"), "not a valid opening"),
        (TEXT.replace("treeproof-opening", "treeproof-claim"), "not a valid claim"),
    ):
        file.write_text(text)
        with pytest.raises(ClaimError, match=word):
            read_claim_or_opening(file)
