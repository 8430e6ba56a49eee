"""drand: recorded rounds of real networks are accepted; edited ones, other rounds and networks are not."""

from __future__ import annotations

import hashlib
import json
import struct
import sys
from datetime import UTC, datetime, timedelta

import pytest

from tests import ending
from tests.drand_rounds import ROUNDS, TESTNET
from tests.timestamp_authority import NOW, certify, stamp
from wm.claims.beacons import check_receipts
from wm.claims.beacons.base import Receipt, Trust
from wm.claims.beacons.bls import is_round_signed
from wm.claims.beacons.drand import CLOCK_ERROR_S, DEFAULT, QUICKNET, drand_receipt, first_round, round_time
from wm.claims.beacons.notary import sign_receipt
from wm.claims.beacons.rfc3161 import timestamp_receipt
from wm.claims.keys import new_key, public_hex
from wm.errors import ClaimError

OWNER, COMMITMENT = "0a" * 32, "c5" * 32
NOTARY = new_key()

TRUST = Trust(notaries=(public_hex(NOTARY),), drand=(QUICKNET, DEFAULT, TESTNET))


def proof_for(chain, number, *, before_s=1, **changes):
    """A notary's receipt, given `before_s` seconds before the last moment at which this round was due."""
    now = round_time(chain, number) - timedelta(seconds=CLOCK_ERROR_S + before_s)
    given = {"commitment": COMMITMENT, "owner": OWNER, "number": 3, "now": now}
    return sign_receipt(NOTARY, **given | changes)


def receipt_of(name, proof=None, **changes):
    chain, answer = ROUNDS[name]
    return drand_receipt(chain, json.dumps(answer | changes), proof or proof_for(chain, answer["round"]))


def check(receipt, trust=TRUST, commitment=COMMITMENT, **more):
    value, (found,) = check_receipts([receipt], commitment=commitment, owner=OWNER, trust=trust, **more)
    assert value == found.value
    return found


@pytest.mark.parametrize("name", ROUNDS)
def test_a_recorded_round_gives_the_network_s_randomness(name):
    chain, answer = ROUNDS[name]
    found = check(receipt_of(name))
    randomness = hashlib.sha256(bytes.fromhex(answer["signature"])).hexdigest()
    assert answer.get("randomness", randomness) == randomness == found.value.hex()
    assert (found.trusted, found.choices) == (True, 3)  # the third receipt of this owner
    assert found.time == round_time(chain, answer["round"])
    assert found.about.startswith(f"drand {chain.hash[:16]}, round {answer['round']}, after notary ")


@pytest.mark.parametrize(
    ("chain", "group_hash", "beacon"),
    [
        (QUICKNET, "f477d5c89f21a17c863a7f937c6a6d15859414d2be09cd448d4279af331c5d3e", "quicknet"),
        (DEFAULT, "176f93498eac9ca337150b46d21dd58673ea4e3581185f869672e59fa4cb390a", ""),
        (
            TESTNET,
            "65083634d852ae169e21b6ce5f0410be9ed4cc679b9970236f7875cff667e13d",
            "testnet-unchained-3s",
        ),
    ],
    ids=["quicknet", "default", "testnet"],
)
def test_the_networks_hashes_cover_their_keys_and_times(chain, group_hash, beacon):
    content = struct.pack(">Iq", chain.period, chain.genesis_time) + bytes.fromhex(
        chain.public_key + group_hash
    )
    assert hashlib.sha256(content + beacon.encode()).hexdigest() == chain.hash


@pytest.fixture(autouse=True)
def recursion_limit():
    """py_ecc raises the limit so far that nested JSON would end the process; the product sets it back."""
    depth = sys.getrecursionlimit()
    yield
    sys.setrecursionlimit(depth)


@pytest.mark.parametrize("name", ROUNDS)
@pytest.mark.parametrize("place", [0, 1, 40, -1])
def test_an_edited_signature_is_refused(name, place):
    signature = bytearray.fromhex(ROUNDS[name][1]["signature"])
    signature[place] ^= 1
    with pytest.raises(ClaimError, match="did not sign round"):
        check(receipt_of(name, signature=signature.hex()))


def test_the_other_sign_of_a_signature_is_refused():
    signature = bytearray.fromhex(ROUNDS["quicknet"][1]["signature"])
    signature[0] ^= 0x20
    with pytest.raises(ClaimError, match="did not sign round"):
        check(receipt_of("quicknet", signature=signature.hex()))


def test_a_point_outside_the_subgroup_does_not_pass_as_another_signature():
    # Its pairing equals the signature's: without the check of the subgroup an owner would have a choice.
    from py_ecc.bls.g2_primitives import G1_to_pubkey, pubkey_to_G1, subgroup_check
    from py_ecc.fields import optimized_bls12_381_FQ as FQ
    from py_ecc.optimized_bls12_381 import add, b, curve_order, field_modulus, is_inf, is_on_curve, multiply

    def point(x):
        y = pow(x**3 + b.n, (field_modulus + 1) // 4, field_modulus)
        return FQ(x), FQ(y), FQ(1)

    outside = next(
        small
        for candidate in map(point, range(1, 100))
        if is_on_curve(candidate, b) and not is_inf(small := multiply(candidate, curve_order))
    )
    _, answer = ROUNDS["quicknet"]
    shifted = add(pubkey_to_G1(bytes.fromhex(answer["signature"])), outside)
    assert not subgroup_check(shifted)
    with pytest.raises(ClaimError, match="did not sign round"):
        check(receipt_of("quicknet", signature=G1_to_pubkey(shifted).hex()))


@pytest.mark.parametrize(
    "signature", ["c0" + "00" * 47, "40" + "00" * 47, "ff" * 48, "00" * 48, "b7", "ab" * 96]
)
def test_points_at_infinity_and_bytes_that_are_no_point_are_refused(signature):
    with pytest.raises(ClaimError, match="did not sign round"):
        check(receipt_of("quicknet", signature=signature))


def test_another_round_is_refused():
    chain, answer = ROUNDS["quicknet"]
    number = answer["round"]
    with pytest.raises(ClaimError, match=f"of round {number}, not of {number + 1}, which was due"):
        check(receipt_of("quicknet", proof_for(chain, number, before_s=0)))
    with pytest.raises(ClaimError, match=f"of round {number}, not of {number - 1}, which was due"):
        check(receipt_of("quicknet", proof_for(chain, number, before_s=chain.period + 1)))
    assert check(receipt_of("quicknet", proof_for(chain, number, before_s=chain.period))).trusted
    # The right number with another round's signature.
    for other in (number - 1, number + 1):
        with pytest.raises(ClaimError, match=f"did not sign round {other}"):
            check(receipt_of("quicknet", proof_for(chain, other), round=other))


@pytest.mark.parametrize("chain", [QUICKNET, DEFAULT])
def test_the_first_round_is_later_than_the_proven_time_and_the_one_before_is_not(chain):
    genesis = round_time(chain, 1)
    assert genesis.timestamp() == chain.genesis_time
    for after_s in (*range(-100, 100), 10**9, 10**9 + 0.999999, 0.5):
        proven = genesis + timedelta(seconds=after_s)
        number = first_round(chain, proven)
        earliest = proven + timedelta(seconds=CLOCK_ERROR_S)
        assert round_time(chain, number) > earliest
        assert number == 1 or round_time(chain, number - 1) <= earliest


def test_another_previous_signature_and_a_missing_one_are_refused():
    previous = ROUNDS["default"][1]["previous_signature"]
    with pytest.raises(ClaimError, match="did not sign round"):
        check(receipt_of("default", previous_signature=previous[:-1] + "0"))
    given = json.loads(receipt_of("default").content)
    del given["previous_signature"]
    with pytest.raises(ClaimError, match="needs the previous round's signature"):
        check(Receipt(kind="drand", content=json.dumps(given)))
    given = json.loads(receipt_of("quicknet").content) | {"previous_signature": previous}
    with pytest.raises(ClaimError, match="must not give the previous round's signature"):
        check(Receipt(kind="drand", content=json.dumps(given)))


def test_another_network_is_refused_and_one_that_the_judge_does_not_trust_is_not_trusted():
    given = json.loads(receipt_of("quicknet").content)
    with pytest.raises(ClaimError, match=r"not of .*, which was due"):
        check(Receipt(kind="drand", content=json.dumps(given | {"chain": TESTNET.hash})))
    with pytest.raises(ClaimError, match="whose key is not known"):
        check(Receipt(kind="drand", content=json.dumps(given | {"chain": "ab" * 32})))
    with pytest.raises(ClaimError, match="whose key is not known"):
        check(receipt_of("testnet"), Trust())
    # With a key of their own, under a hash that the judge trusts, owners could sign any round.
    found = check(receipt_of("quicknet"), Trust(notaries=TRUST.notaries))
    assert (found.trusted, found.value.hex()) == (False, ROUNDS["quicknet"][1]["randomness"])


def test_a_proof_of_time_must_be_trusted_and_of_this_commitment():
    chain, answer = ROUNDS["quicknet"]
    assert not check(receipt_of("quicknet"), Trust(drand=TRUST.drand)).trusted
    with pytest.raises(ClaimError, match="of another commitment"):
        check(receipt_of("quicknet"), commitment="c6" * 32)
    with pytest.raises(ClaimError, match="another owner's key"):
        check(receipt_of("quicknet", proof_for(chain, answer["round"], owner="0b" * 32)))
    for kind in ("none", "drand", "mine"):
        with pytest.raises(ClaimError, match="needs a proof of time of kind notary or rfc3161"):
            check(receipt_of("quicknet", Receipt(kind=kind, content="")))


def test_a_timestamp_proves_the_time_and_leaves_its_own_choices():
    root = certify("root", valid=(datetime(2020, 1, 1, tzinfo=UTC), NOW))
    signer = certify("timestamps", root, valid=(datetime(2020, 1, 1, tzinfo=UTC), NOW))
    chain, answer = ROUNDS["quicknet"]
    time = round_time(chain, answer["round"]) - timedelta(seconds=CLOCK_ERROR_S + 1)
    receipt = receipt_of("quicknet", timestamp_receipt(stamp(signer, COMMITMENT, time=time)))
    found = check(receipt, Trust(drand=(QUICKNET,), timestamp_roots=(root.pem,)))
    assert (found.trusted, found.choices) == (True, 1e6)
    # Without the root the time is not known: nothing says that this round was due.
    found = check(receipt, Trust(drand=(QUICKNET,)))
    assert (found.trusted, found.value.hex()) == (False, answer["randomness"])


def test_the_notary_s_log_counts_the_choices():
    chain, answer = ROUNDS["quicknet"]
    log = tuple(proof_for(chain, answer["round"]).content for _ in range(5))
    assert check(receipt_of("quicknet"), log=log).choices == 5


@pytest.mark.parametrize(
    "content",
    ["", "[]", "{}", "null", '{"round": 1, "round": 2}', "[" * 100_000, '{"round": NaN}'],
)
def test_content_that_is_no_round_is_refused(content):
    with pytest.raises(ClaimError, match="a drand receipt: "):
        check(Receipt(kind="drand", content=content))
    with pytest.raises(ClaimError, match="the drand network's answer: "):
        drand_receipt(QUICKNET, content, proof_for(QUICKNET, 1))


@pytest.mark.parametrize(
    "change", [{"round": 0}, {"round": 2**63}, {"round": True}, {"signature": "AB"}, {"more": 1}]
)
def test_fields_are_strict(change):
    given = json.loads(receipt_of("quicknet").content) | change
    with pytest.raises(ClaimError, match="a drand receipt: not a round with a proof of time: "):
        check(Receipt(kind="drand", content=json.dumps(given)))


def test_a_chain_of_the_judge_may_be_faulty():
    for change, reason in (
        ({"scheme": "bls-of-mine"}, "an unknown scheme, 'bls-of-mine'; known: pedersen-bls-chained"),
        ({"public_key": "no hex"}, "is not hex"),
        ({"public_key": "ab" * 96}, "did not sign"),
        ({"genesis_time": 2**60}, "beyond the calendar|which was due"),
    ):
        with pytest.raises(ClaimError, match=reason):
            check(receipt_of("quicknet"), Trust(drand=(QUICKNET.model_copy(update=change),)))


def test_the_limit_of_recursion_stays_as_it_was():
    before = sys.getrecursionlimit()
    check(receipt_of("quicknet"))
    assert sys.getrecursionlimit() == before


def test_sizes_of_points_are_checked():
    assert not is_round_signed("pedersen-bls-chained", bytes(47), number=1, signature=bytes(96), previous=b"")


def test_without_py_ecc_the_extra_is_named():
    script = (
        "import sys; sys.modules['py_ecc'] = None\n"
        "from wm.claims.beacons.bls import *\n"
        "try: is_round_signed(sys.argv[1], bytes(48), number=1, signature=bytes(96), previous=b'')\n"
        "except ClaimError as reason: print(reason)\n"
    )
    ran = ending.run([sys.executable, "-c", script, DEFAULT.scheme])
    assert ran.stdout == (
        "a drand receipt cannot be checked: py-ecc is not installed: pip install 'treeproof[drand]'\n"
    )
