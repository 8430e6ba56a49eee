"""Files of every kind of claim are recognized by what they say of themselves."""

from __future__ import annotations

import json

import numpy as np
import pytest

from tests import witness
from wm.claims.opened import open_claim
from wm.claims.pooled import Header, new_claim
from wm.claims.reading import read_any_claim, read_whole_claim
from wm.embedding.claimed import owner_key
from wm.errors import ClaimError


def claim_of():
    key = owner_key(1)
    header = Header(
        scheme="paper",
        trees=4,
        ones=2,
        trigger_size=2,
        pool_size=9,
        owner=key.public_key().public_bytes_raw().hex(),
        model_id="forest",
        class_names=("no", "yes"),
        feature_names=("a", "b", "c"),
        domain=((0.0, 1.0),) * 3,
        preparation=None,
    )
    rng = np.random.default_rng(0)
    undrawn = new_claim(header, rng.random((9, 3)).astype(np.float32), np.arange(9) % 2)
    return key, undrawn.model_copy(update={"receipts": (witness.witness(undrawn),)})


KEY, CLAIM = claim_of()
OPENING = open_claim(CLAIM, KEY, "case 17", [1, 4, 6])
OLD = witness.old_claim(CLAIM)


def test_claims_and_openings_are_recognised_by_their_format(tmp_path):
    file = tmp_path / "file.json"
    for shown in (CLAIM, OPENING, OLD):
        file.write_text(shown.to_json())
        assert read_any_claim(file) == shown
        assert read_any_claim(str(file)) == shown
        if shown is CLAIM:
            assert read_whole_claim(file) == shown
        else:
            with pytest.raises(ClaimError, match="not a whole claim"):
                read_whole_claim(file)


@pytest.mark.parametrize(
    ("kind", "what"),
    [
        ("commitment", "a commitment"),
        ("lineup-order", "the order of questions"),
        ("trust", "a list of trusted"),
    ],
)
def test_other_files_of_ours_are_named(tmp_path, kind, what):
    (tmp_path / "file.json").write_text(json.dumps({"format": f"treeproof-{kind}", "version": 3}))
    with pytest.raises(ClaimError, match=f"is {what}.*, not a claim"):
        read_any_claim(tmp_path / "file.json")


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("", "not a valid claim"),
        ("[]", "not a valid claim"),
        ('{"format": 5}', "not a valid claim: format"),
        ('{"version": 3}', "not a valid claim of version 3: header"),
        ('{"format": "treeproof-opening"}', "not a valid opening of version 3"),
        (CLAIM.to_json().replace("treeproof-claim", "treeproof-opening"), "not a valid opening"),
        (OPENING.to_json().replace("treeproof-opening", "treeproof-claim"), "not a valid claim"),
        (OLD.to_json().replace('"version": 2', '"version": 3'), "not a valid claim of version 3"),
        (CLAIM.to_json().replace('"version": 3', '"version": 2'), "not a valid claim"),
        (CLAIM.to_json().replace('"version": 3', '"version": 1e400'), "not a valid claim"),
    ],
    ids=range(10),  # each process of the tests makes other claims
)
def test_other_files_are_refused_with_their_name(tmp_path, text, word):
    file = tmp_path / "file.json"
    file.write_text(text)
    with pytest.raises(ClaimError) as refused:
        read_any_claim(file)
    assert str(refused.value).startswith(f"{file}: ")
    assert word in str(refused.value)


def test_a_missing_file_is_refused(tmp_path):
    with pytest.raises(ClaimError, match="cannot be read"):
        read_any_claim(tmp_path / "none.json")
