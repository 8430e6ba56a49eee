"""Commitments: the Merkle tree is the documented one, and each path leads from its leaf alone to the root."""

from __future__ import annotations

import hashlib
import struct

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from wm.claims import commitment as commitments
from wm.claims.claim import NONCE_BYTES, make_claim, parse_claim
from wm.signature import Signature

NONCE = bytes(range(NONCE_BYTES))


def claim_of(version=2):
    rows = np.random.default_rng(5).random((5, 3)).astype(np.float32)
    return make_claim(
        scheme="paper",
        signature=Signature.of("01101"),
        X=rows,
        y=np.arange(5) % 2,
        model_hash="ab" * 32,
        model_id="forest-1",
        class_names=("no", "yes"),
        nonce=NONCE,
        version=version,
    )


CLAIM = claim_of()


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
