"""Timestamps: good tokens are accepted and give R; foreign, expired, misused and edited ones never are."""

from __future__ import annotations

import base64
import hashlib
import json
import sys
from datetime import timedelta
from pathlib import Path

import pytest
from cryptography.x509.oid import ExtendedKeyUsageOID
from hypothesis import example, given
from hypothesis import strategies as st

from tests import ending
from tests.timestamp_authority import DAY, NOW, certify, stamp, tlv, token_of, whole
from wm.claims.beacons import check_receipts
from wm.claims.beacons.base import Trust
from wm.claims.beacons.rfc3161 import MAX_TOKEN_BYTES, timestamp_receipt, timestamp_request
from wm.errors import ClaimError

OWNER, COMMITMENT = "0a" * 32, "c5" * 32
ROOT = certify("root")
SIGNER = certify("timestamps", ROOT)
RESPONSE = stamp(SIGNER, COMMITMENT)
TRUST = Trust(timestamp_roots=(ROOT.pem,))
OPENSSL = json.loads((Path(__file__).parent / "openssl_timestamp.json").read_text())
"""Response of `openssl ts -reply` (3.0, ECDSA P-256, accuracy 1 s) to a request by `timestamp_request`."""


def check(der, trust=TRUST, commitment=COMMITMENT):
    value, (found,) = check_receipts(
        [timestamp_receipt(der)], commitment=commitment, owner=OWNER, trust=trust
    )
    assert value == found.value
    return found


def test_a_good_token_gives_the_hash_of_its_signature():
    found = check(RESPONSE)
    # The signature, 256 bytes of RSA, ends the response.
    assert found.value == hashlib.sha256(RESPONSE[-256:]).digest()
    assert (found.time, found.trusted, found.choices) == (NOW, True, 1e6)
    assert found.about == "timestamp 4d of an authority"
    assert check(token_of(RESPONSE)) == found  # as `openssl ts -reply -token_out` writes it


def test_a_token_that_openssl_made_is_accepted():
    trust = Trust(timestamp_roots=(ROOT.pem, OPENSSL["root"]))
    der = base64.b64decode(OPENSSL["response"])
    found = check(der, trust, OPENSSL["commitment"])
    assert found.trusted
    assert found.time.isoformat() == "2026-11-29T03:53:00+00:00"  # 03:52:59, accurate to 1 s
    signature = der[der.rindex(b"\x30\x45\x02") :]  # ends the response: a SEQUENCE of two numbers, 71 bytes
    assert len(signature) == 71
    assert found.value == hashlib.sha256(signature).digest()


def test_a_request_is_for_sha256_of_the_commitment_with_certificates():
    request = timestamp_request(COMMITMENT)
    assert hashlib.sha256(bytes.fromhex(COMMITMENT)).digest() in request
    assert request.endswith(b"\x01\x01\xff")  # certReq TRUE
    assert timestamp_request(COMMITMENT) != request  # another nonce


def test_accuracy_is_added_to_the_time():
    accuracy = tlv(0x30, whole(2), b"\x80\x02\x01\xf4", b"\x81\x01\x07")  # 2 s, 500 ms, 7 us
    found = check(stamp(SIGNER, COMMITMENT, accuracy=accuracy))
    assert found.time == NOW + timedelta(seconds=2, milliseconds=500, microseconds=7)


@pytest.mark.parametrize(
    "trust",
    [
        Trust(),
        Trust(timestamp_roots=(certify("another").pem,)),
        Trust(timestamp_roots=(certify("root").pem,)),
    ],
    ids=["no root", "another root", "another root of that name"],
)
def test_a_foreign_authority_is_not_trusted_and_proves_no_time(trust):
    found = check(RESPONSE, trust)
    assert (found.trusted, found.time) == (False, None)
    assert found.about == "timestamp 4d of an authority that the judge does not trust"


@pytest.mark.parametrize("part", ["root", "signer"])
@pytest.mark.parametrize("valid", [(NOW - 3 * DAY, NOW - DAY), (NOW + DAY, NOW + 2 * DAY)])
def test_a_certificate_that_was_not_valid_at_the_token_s_time_is_not_trusted(part, valid):
    root = certify("root", valid=valid) if part == "root" else ROOT
    signer = certify("timestamps", root, valid=valid) if part == "signer" else certify("timestamps", root)
    found = check(stamp(signer, COMMITMENT), Trust(timestamp_roots=(root.pem,)))
    assert (found.trusted, found.time) == (False, None)


def test_certificates_may_have_expired_since():
    valid = (NOW - 1000 * DAY, NOW - 900 * DAY)
    root = certify("root", valid=valid)
    time = NOW - 950 * DAY
    found = check(
        stamp(certify("timestamps", root, valid=valid), COMMITMENT, time=time),
        Trust(timestamp_roots=(root.pem,)),
    )
    assert (found.trusted, found.time) == (True, time)


@pytest.mark.parametrize(
    ("usage", "critical"),
    [
        (None, True),
        ((ExtendedKeyUsageOID.SERVER_AUTH,), True),
        ((ExtendedKeyUsageOID.EMAIL_PROTECTION,), True),
        ((ExtendedKeyUsageOID.TIME_STAMPING, ExtendedKeyUsageOID.EMAIL_PROTECTION), True),
        ((ExtendedKeyUsageOID.TIME_STAMPING,), False),
    ],
    ids=["none", "web server", "mail", "mail too", "not critical"],
)
def test_a_certificate_for_another_use_is_not_trusted(usage, critical):
    signer = certify("web server", ROOT, usage=usage, critical=critical)
    for enclosed in ((), (SIGNER,)):
        found = check(stamp(signer, COMMITMENT, enclosed=enclosed))
        assert (found.trusted, found.time) == (False, None)


def test_a_certificate_made_to_look_like_the_signer_s_does_not_lend_its_use():
    server = certify("web server", ROOT, usage=(ExtendedKeyUsageOID.EMAIL_PROTECTION,))
    twin = certify("web server", issuer_name="root", serial=server.certificate.serial_number)
    assert twin.certificate.issuer == server.certificate.issuer
    with pytest.raises(ClaimError, match="must enclose its signer's certificate, once"):
        check(stamp(server, COMMITMENT, enclosed=(twin,)))


def test_other_commitments_and_answers_are_refused():
    with pytest.raises(ClaimError, match="of another commitment"):
        check(RESPONSE, commitment="c6" * 32)
    with pytest.raises(ClaimError, match="of another commitment"):  # of the commitment, not of its hash
        check(stamp(SIGNER, COMMITMENT, imprint=bytes.fromhex(COMMITMENT)))
    with pytest.raises(ClaimError, match="did not grant"):
        check(stamp(SIGNER, COMMITMENT, status=2))
    with pytest.raises(ClaimError, match="with one signer"):
        check(stamp(SIGNER, COMMITMENT, signers=2))


@pytest.mark.parametrize(
    "der",
    [b"", b"\x30", b"\x30\x80\0\0", RESPONSE[:-1], RESPONSE + b"\0", b"\x30\x84\0\0\0\1\0", b"text" * 99],
    ids=range(7),  # each process of the tests makes another response
)
def test_bytes_that_are_no_token_are_refused(der):
    with pytest.raises(ClaimError, match="a timestamp is no DER of an RFC 3161 response or token"):
        timestamp_receipt(der)


def test_receipts_that_are_no_base64_or_too_large_are_refused():
    for content, reason in (("%", "not base64"), ("A" * (MAX_TOKEN_BYTES * 2), "larger than")):
        receipt = timestamp_receipt(RESPONSE).model_copy(update={"content": content})
        with pytest.raises(ClaimError, match=reason):
            check_receipts([receipt], commitment=COMMITMENT, owner=OWNER, trust=TRUST)


def test_a_faulty_root_of_the_judge_is_named():
    with pytest.raises(ClaimError, match="a trusted timestamp root is not a certificate in PEM"):
        check(RESPONSE, Trust(timestamp_roots=("no certificate",)))


@pytest.mark.filterwarnings("ignore:Parsed a serial number which wasn't positive")
@given(st.integers(0, len(RESPONSE) - 1), st.integers(1, 255))
@example(215, 1)  # a type of text that is unknown
def test_no_edit_gives_a_trusted_token_of_other_meaning(place, change):
    edited = bytearray(RESPONSE)
    edited[place] ^= change
    whole_token = check(RESPONSE)
    try:
        found = check(bytes(edited))
    except ClaimError:
        return
    assert not found.trusted or found == whole_token  # some bytes, such as the status's words, mean nothing


@pytest.mark.parametrize("place", [-1, -256, -300], ids=["signature", "its start", "signed attributes"])
def test_edited_tokens_are_refused(place):
    edited = bytearray(RESPONSE)
    edited[place] ^= 1
    with pytest.raises(ClaimError, match=r"not validly signed|no DER|no RFC 3161"):
        check(bytes(edited))


@pytest.mark.parametrize("trust", [TRUST, Trust()])
def test_an_edited_time_is_refused(trust):
    with pytest.raises(ClaimError, match="not validly signed"):
        check(RESPONSE.replace(b"20260301120000Z", b"20250301120000Z"), trust)


def test_without_the_library_the_extra_is_named():
    script = (
        "import sys; sys.modules['rfc3161_client'] = None\n"
        "from wm.claims.beacons.rfc3161 import *\n"
        "for call in (lambda: timestamp_request('c5' * 32), lambda: TimestampBeacon().check("
        "sys.argv[1], commitment='c5' * 32, owner='', trust=Trust(), log=())):\n"
        "    try: call()\n"
        "    except ClaimError as reason: print(reason)\n"
    )
    ran = ending.run([sys.executable, "-c", script, timestamp_receipt(RESPONSE).content])
    assert ran.stdout.count("pip install 'treeproof[timestamps]'") == 2, ran.stderr
