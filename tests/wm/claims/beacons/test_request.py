"""Requests to notaries: strict documents."""

from __future__ import annotations

import json

import pytest

from wm.claims.beacons.request import MAX_REQUEST_BYTES, CommitmentRequest, parse_request, read_request
from wm.errors import ClaimError

REQUEST = CommitmentRequest(commitment="c5" * 32, owner="0a" * 32)


def test_a_request_is_read_as_written(tmp_path):
    file = tmp_path / "commitment.json"
    file.write_text(REQUEST.to_json())
    assert read_request(file) == REQUEST
    assert json.loads(REQUEST.to_json()) == {
        "format": "treeproof-commitment",
        "version": 2,
        "commitment": "c5" * 32,
        "owner": "0a" * 32,
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
        (REQUEST.to_line().replace("2", "1", 1), "not a commitment: version"),
        (REQUEST.to_line().replace("c5", "C5"), "not a commitment: commitment"),
        (REQUEST.to_line().replace("}", ', "more": 1}'), "not a commitment: more"),
        (b"\xff", "not JSON"),
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
