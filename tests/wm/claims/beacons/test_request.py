"""Requests to notaries: strict documents."""

from __future__ import annotations

import json

import pytest

from tests.pools import OWNER, STRANGER
from wm.claims.beacons.request import MAX_REQUEST_BYTES, parse_request, read_request, sign_request
from wm.claims.keys import public_hex
from wm.errors import ClaimError

REQUEST = sign_request("c5" * 32, OWNER)


def test_a_request_is_read_as_written(tmp_path):
    file = tmp_path / "commitment.json"
    file.write_text(REQUEST.to_json())
    assert read_request(file) == REQUEST
    assert json.loads(REQUEST.to_json()) == {
        "format": "treeproof-commitment",
        "version": 3,
        "commitment": "c5" * 32,
        "owner": public_hex(OWNER),
        "signature": REQUEST.signature,
    }


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ("[]", "not a commitment"),
        (
            REQUEST.to_line().replace('"owner"', '"commitment": "' + "00" * 32 + '", "owner"'),
            "a key occurs twice",
        ),
        (REQUEST.to_line().replace('"version": 3', '"version": 2'), "not a commitment: version"),
        (REQUEST.to_line().replace("c5", "C5"), "not a commitment: commitment"),
        (REQUEST.to_line().replace("}", ', "more": 1}'), "not a commitment: more"),
        (b"\xff", "not JSON"),
        # Somebody else's name, another commitment, and a signature of something else.
        (REQUEST.to_line().replace(REQUEST.owner, public_hex(STRANGER)), "is not signed by the owner"),
        (REQUEST.to_line().replace("c5", "c6"), "is not signed by the owner"),
        (REQUEST.to_line().replace(REQUEST.signature, "00" * 64), "is not signed by the owner"),
        (REQUEST.to_line().replace(REQUEST.owner, "00" * 32), "is not signed by the owner"),
    ],
)
def test_other_text_is_refused(text, reason):
    with pytest.raises(ClaimError, match=f"request: {reason}"):
        parse_request(text, what="request")


def test_a_file_is_bounded_and_must_exist(tmp_path):
    file = tmp_path / "commitment.json"
    with pytest.raises(ClaimError, match=r"commitment.json: cannot be read"):
        read_request(file)
    file.write_text(" " * (MAX_REQUEST_BYTES + 1))
    with pytest.raises(ClaimError, match="larger than the 4096 bytes that a commitment may have"):
        read_request(file)


def test_the_signed_bytes_are_those_of_the_documentation():
    text = f"treeproof/commitment/v3\n{'c5' * 32}\n{public_hex(OWNER)}".encode()
    OWNER.public_key().verify(bytes.fromhex(REQUEST.signature), text)
