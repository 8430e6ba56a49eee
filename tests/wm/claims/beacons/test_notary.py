"""Notaries: receipts of a commitment, an owner and a key; edited ones are refused; the log counts choices."""

from __future__ import annotations

import base64
import hashlib
import json
from datetime import UTC, datetime

import pytest
from securesystemslib.dsse import Envelope

from tests.timestamp_authority import NOW, certify, stamp
from wm.claims.beacons import check_receipts
from wm.claims.beacons.base import Receipt, Trust
from wm.claims.beacons.notary import PAYLOAD_TYPE, count_receipts, read_log, sign_receipt
from wm.claims.beacons.rfc3161 import timestamp_receipt
from wm.claims.keys import is_signed, new_key, public_hex
from wm.errors import ClaimError

OWNER, OTHER, COMMITMENT = "0a" * 32, "0b" * 32, "c5" * 32
KEY = new_key()
NOTARY = public_hex(KEY)
TRUST = Trust(notaries=(NOTARY,))
AT = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def sign(key=KEY, **changes):
    return sign_receipt(key, **{"commitment": COMMITMENT, "owner": OWNER, "number": 1, "now": AT} | changes)


def check(*receipts, trust=TRUST, **changes):
    return check_receipts(receipts, **{"commitment": COMMITMENT, "owner": OWNER, "trust": trust} | changes)


def edited(receipt, **changes):
    """Edit the receipt's statement and leave the signature."""
    envelope = json.loads(receipt.content)
    statement = json.loads(base64.b64decode(envelope["payload"]))
    statement["predicate"] |= changes
    envelope["payload"] = base64.b64encode(json.dumps(statement).encode()).decode()
    return Receipt(kind="notary", content=json.dumps(envelope))


def test_a_receipt_gives_time_and_the_hash_of_its_payload():
    receipt = sign(number=4)
    value, (found,) = check(receipt)
    payload = base64.b64decode(json.loads(receipt.content)["payload"])
    assert value == found.value == hashlib.sha256(payload).digest()
    assert (found.time, found.trusted, found.choices) == (AT, True, 4)
    assert found.about == f"notary {NOTARY[:16]}, receipt 4 of this owner"
    assert check(sign())[0] != check(sign())[0]  # fresh randomness


def test_a_notary_that_the_judge_does_not_trust_is_not_trusted():
    for trust in (None, Trust(), Trust(notaries=(public_hex(new_key()),))):
        assert not check(sign(), trust=trust)[1][0].trusted


@pytest.mark.parametrize(
    "changes",
    [{"number": 1}, {"time": "2020-01-01T00:00:00+00:00"}, {"randomness": "00" * 32}, {"owner": OTHER}],
)
def test_an_edited_payload_is_refused(changes):
    with pytest.raises(ClaimError, match="it was edited"):
        check(edited(sign(number=2), **changes))


def test_another_key_s_name_on_a_receipt_is_refused():
    envelope = json.loads(sign(new_key()).content)
    envelope["signatures"][0]["keyid"] = NOTARY
    with pytest.raises(ClaimError, match="it was edited"):
        check(Receipt(kind="notary", content=json.dumps(envelope)))


def test_receipts_of_another_commitment_and_owner_are_refused():
    with pytest.raises(ClaimError, match="of another commitment"):
        check(sign(commitment="c6" * 32))
    with pytest.raises(ClaimError, match="given to another owner's key"):
        check(sign(owner=OTHER))


@pytest.mark.parametrize(
    "change",
    [
        {"signatures": []},
        {"payloadType": "text/plain"},
        {"payload": "%"},
        {"payload": base64.b64encode(b"{}").decode()},
        {"signatures": [{"keyid": "zz", "sig": ""}]},
        {"signatures": 7},
    ],
)
def test_damaged_envelopes_are_refused(change):
    content = json.dumps(json.loads(sign().content) | change)
    with pytest.raises(ClaimError, match="a notary's receipt is not"):
        check(Receipt(kind="notary", content=content))


def test_a_signed_statement_of_another_type_is_refused():
    envelope = Envelope(b'{"_type": "https://in-toto.io/Statement/v1"}', PAYLOAD_TYPE, {})
    signed = base64.b64encode(KEY.sign(envelope.pae())).decode()
    content = envelope.to_dict() | {"signatures": [{"keyid": NOTARY, "sig": signed}]}
    with pytest.raises(ClaimError, match="is no in-toto statement: subject: Field required"):
        check(Receipt(kind="notary", content=json.dumps(content)))


@pytest.mark.parametrize("content", ["", "0A" * 32, "0a" * 33])
def test_a_value_without_a_beacon_is_32_bytes_of_hex(content):
    with pytest.raises(ClaimError, match="not 32 bytes of hex"):
        check(Receipt(kind="none", content=content))


@pytest.mark.parametrize("content", ["", "null", "[" * 100_000, "{}"])
def test_content_that_is_no_envelope_is_refused(content):
    with pytest.raises(ClaimError, match="not a DSSE envelope"):
        check(Receipt(kind="notary", content=content))
    if content != "null":
        with pytest.raises(ClaimError, match=r"is no receipt|not a DSSE"):
            count_receipts((content,), notary=NOTARY, owner=OWNER)


def test_the_log_counts_this_owner_s_receipts_of_this_notary():
    log = tuple(
        receipt.content
        for receipt in (
            *(sign(number=number) for number in (1, 2, 3)),
            sign(owner=OTHER),
            sign(new_key()),
            sign(commitment="c6" * 32, number=4),
        )
    )
    assert count_receipts(log, notary=NOTARY, owner=OWNER) == 4
    assert check(sign(number=2), log=log)[1][0].choices == 4
    assert check(sign(number=9), log=log)[1][0].choices == 9  # the log is older
    with pytest.raises(ClaimError, match="it was edited"):
        count_receipts((*log, edited(sign(), number=7).content), notary=NOTARY, owner=OWNER)


def test_only_lines_of_this_owner_are_checked_in_full(monkeypatch):
    # A log of 100,000 lines takes a second so, and half a minute if each signature is checked.
    others = [sign(owner=OTHER, number=number).content for number in range(1, 101)] * 1000
    log = (*others, *(sign(number=number).content for number in (1, 2, 3)))
    checked = []
    monkeypatch.setattr(
        "wm.claims.beacons.notary.is_signed", lambda *given: checked.append(given) or is_signed(*given)
    )
    assert check(sign(), log=log)[1][0].choices == 3
    assert len(checked) == 4  # the receipt and three lines


def test_two_beacons_are_combined_in_order():
    root = certify("root")
    timestamp = timestamp_receipt(stamp(certify("timestamps", root), COMMITMENT))
    receipt = sign(number=3)
    trust = Trust(notaries=(NOTARY,), timestamp_roots=(root.pem,))
    value, found = check(receipt, timestamp, trust=trust)
    assert value == hashlib.sha256(found[0].value + found[1].value).digest()
    assert [(each.trusted, each.choices, each.time) for each in found] == [
        (True, 3, AT),
        (True, 1e6, NOW),
    ]
    assert check(timestamp, receipt, trust=trust)[0] != value
    assert [each.trusted for each in check(receipt, timestamp)[1]] == [True, False]
    assert [
        each.trusted for each in check(receipt, Receipt(kind="none", content="00" * 32), trust=trust)[1]
    ] == [True, False]
    with pytest.raises(ClaimError, match="of another commitment"):
        check(receipt, timestamp_receipt(stamp(certify("timestamps", root), "c6" * 32)), trust=trust)


def test_no_receipt_and_an_unknown_kind_are_refused():
    with pytest.raises(ClaimError, match="holds no beacon's receipt"):
        check()
    with pytest.raises(
        ClaimError, match="unknown kind of beacon, 'moon'; known: drand, none, notary, rfc3161"
    ):
        check(Receipt(kind="moon", content=""))


def test_a_log_of_any_size_is_read_line_by_line(tmp_path, monkeypatch):
    monkeypatch.setattr("wm.claims.document.MAX_DOCUMENT_BYTES", 1000)
    own = [sign(number=number).content for number in (1, 2)]
    other = [sign(owner=OTHER, number=number).content for number in range(1, 40)]
    file = tmp_path / "notary.log"
    file.write_text("\n".join([own[0], *other, "", own[1]]) + "\n")
    assert file.stat().st_size > 30_000
    assert read_log(file, OWNER) == tuple(own)
    assert len(read_log(file, OTHER)) == 39
    assert read_log(file, "0c" * 32) == ()
    assert read_log(file, OWNER, own[1:]) == tuple(own)
    stranger = new_key()
    elsewhere = sign_receipt(stranger, commitment=COMMITMENT, owner=OWNER, number=1).content
    for text in ("", "\n".join(other), own[0], elsewhere):
        file.write_text(text)
        with pytest.raises(ClaimError, match="holds no receipt of this claim"):
            read_log(file, OWNER, own[1:])


@pytest.mark.parametrize(
    ("content", "word"),
    [
        (b"receipt\n", "line 1: a line of the notary's log is no receipt"),
        (b"\n{}\n", "line 2: a line of the notary's log is no receipt"),
        (b"\xff\xfe", "line 1: "),
        (b"x" * (2**16 + 1), "line 1 is longer than a receipt may be"),
    ],
)
def test_other_lines_of_a_log_are_named(tmp_path, content, word):
    file = tmp_path / "notary.log"
    file.write_bytes(content)
    with pytest.raises(ClaimError, match=word):
        read_log(file, OWNER)
    with pytest.raises(ClaimError, match="cannot be read"):
        read_log(tmp_path / "none.log", OWNER)
