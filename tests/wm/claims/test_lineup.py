"""Claims of scheme lineup: what they commit to, and the keys that a draw makes of them."""

from __future__ import annotations

import hashlib
import hmac
import json

import numpy as np
import pytest
from pydantic import ValidationError

from tests import lineups, witness
from wm.claims.lineup import LineupClaim, drawn_value, parse_lineup, with_receipts
from wm.claims.lineup_keys import place, tree_seed
from wm.claims.reading import read_any_claim, read_whole_claim
from wm.embedding.claimed import own_receipt
from wm.errors import ClaimError


@pytest.fixture(scope="module")
def claim() -> LineupClaim:
    return lineups.owner().claim


def test_a_file_is_read_again_as_it_was_written(claim, tmp_path):
    file = tmp_path / "claim.json"
    file.write_text(claim.to_json())
    assert read_any_claim(file) == read_whole_claim(file) == claim


@pytest.mark.parametrize(
    ("field", "value"),
    [("secret", "00" * 32), ("salt", "00" * 32), ("commitment", "00" * 32)],
)
def test_an_edited_claim_is_refused(claim, field, value):
    with pytest.raises(ClaimError, match="the commitment does not fit"):
        parse_lineup(claim.model_copy(update={field: value}).to_json())


@pytest.mark.parametrize("field", ["trees", "model_id", "context", "training", "environment", "class_names"])
def test_every_field_that_decides_is_committed(claim, field):
    other = {
        "trees": 11,
        "model_id": "another",
        "context": "00" * 32,
        "training": {**claim.header.training.model_dump(), "max_depth": 6},
        "environment": {"numpy": "1"},
        "class_names": ["yes", "no"],
    }
    text = json.loads(claim.to_json())
    text["header"][field] = other[field]
    with pytest.raises(ClaimError, match="the commitment does not fit"):
        parse_lineup(json.dumps(text))


def test_candidates_come_with_their_root(claim):
    header = claim.header.model_dump()
    with pytest.raises(ValidationError, match="committed candidates have a number and a root"):
        type(claim.header).model_validate(header | {"mode": "committed", "candidates": 3})


def _u64(number):
    return number.to_bytes(8, "little")


def test_keys_and_seeds_as_documented(claim):
    """Computed from the module's text with hashlib and hmac alone."""
    secret, commitment = bytes.fromhex(claim.secret), bytes.fromhex(claim.commitment)
    leaves = [
        hashlib.sha256(
            b"\0treeproof/lineup/v1\0"
            + json.dumps(
                json.loads(claim.to_json())["header"], sort_keys=True, separators=(",", ":")
            ).encode()
            + hmac.digest(bytes.fromhex(claim.salt), b"header", "sha256")
        ).digest()
    ]
    own = [hmac.digest(secret, b"position" + _u64(i), "sha256") for i in range(claim.header.trees)]
    leaves += [
        hashlib.sha256(b"\0treeproof/position/v1\0" + _u64(i) + each).digest() for i, each in enumerate(own)
    ]
    while len(leaves) > 1:  # RFC 6962: full pairs from the left, for 11 leaves as for any number
        pairs = [leaves[i : i + 2] for i in range(0, len(leaves), 2)]
        leaves = [
            hashlib.sha256(b"\1" + b"".join(each)).digest() if len(each) == 2 else each[0] for each in pairs
        ]
    assert leaves[0] == commitment

    value, _ = drawn_value(claim)
    keys = list(claim.keys(value).values())
    assert keys == [hmac.digest(each, commitment + value + _u64(i), "sha256") for i, each in enumerate(own)]
    context = bytes.fromhex(claim.header.context)
    wanted = hmac.digest(keys[3], b"lineup/v1" + context + _u64(3) + _u64(0), "sha256")
    assert tree_seed(keys[3], context, 3) == int.from_bytes(wanted[:8], "little") % 2**31
    wanted = hmac.digest(keys[3], b"slot" + context + b"customer 1", "sha256")
    assert place(keys[3], context, 7, "customer 1") == int.from_bytes(wanted[:8], "little") % 7


def test_another_draw_or_position_has_other_keys(claim):
    keys = claim.keys(bytes(32)).values()
    assert len(set(keys)) == claim.header.trees
    assert not set(keys) & set(claim.keys(b"\1" * 32).values())


def test_places_are_spread_evenly():
    counts = np.bincount([place(number.to_bytes(32, "big"), b"", 4) for number in range(4000)])
    assert counts.min() > 850


def test_receipts_in_any_order_make_one_draw(claim):
    bare = claim.model_copy(update={"receipts": ()})
    receipts = [witness.witness(bare), own_receipt(3)]
    both = with_receipts(bare, receipts)
    assert both == with_receipts(bare, receipts[::-1])
    value, beacons = drawn_value(both)
    assert value == hashlib.sha256(b"".join(each.value for each in beacons)).digest()
    swapped = both.model_copy(update={"receipts": both.receipts[::-1]})
    with pytest.raises(ClaimError, match="not in ascending order"):
        drawn_value(swapped)
    with pytest.raises(ClaimError, match="3 receipts, of which 2 can be combined"):
        drawn_value(bare.model_copy(update={"receipts": (own_receipt(1),) * 3}))
    with pytest.raises(ClaimError, match="no beacon's receipt"):
        drawn_value(bare)
