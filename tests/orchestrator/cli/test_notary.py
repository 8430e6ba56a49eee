"""`wm notary`: receipts by hand and over HTTP, from one log."""

from __future__ import annotations

import contextlib
import json
import signal
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from tests import ending
from tests.pools import OWNER
from wm.claims.beacons import check_receipts
from wm.claims.beacons.asking import notary_receipt
from wm.claims.beacons.base import Trust, parse_receipt, read_trust
from wm.claims.beacons.notary import count_receipts, read_statement
from wm.claims.beacons.request import sign_request
from wm.errors import EndpointError

REQUEST = sign_request("c5" * 32, OWNER)
SERVE = ("serve", "--key", "notary.pem", "--port", "0", "--json")


@pytest.fixture
def notary(wm) -> str:
    """The public key of a notary whose private one is here, beside an owner's request."""
    Path("commitment.json").write_text(REQUEST.to_json())
    return wm("key", "new", "-o", "notary.pem", "--json").json()["public_key"]


@pytest.fixture
def signs(wm):
    return lambda output, *more: wm(
        "notary", "sign", "commitment.json", "--key", "notary.pem", "-o", output, *more
    )


@contextlib.contextmanager
def serving(*arguments):
    """A notary's service in a process of its own, and what it printed first."""
    command = [sys.executable, "-m", "orchestrator.cli", "notary", *(arguments or SERVE)]
    with ending.started(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        lines = []
        while not lines or lines[-1] != "}\n":
            lines.append(process.stdout.readline())
            assert lines[-1], process.communicate(timeout=60)[1]
        yield process, json.loads("".join(lines))


def test_a_receipt_is_signed_logged_and_checked(signs, notary) -> None:
    ran = signs("receipt.json", "--json")
    assert (ran.code, ran.err) == (0, "")
    receipt = parse_receipt(Path("receipt.json").read_text(), what="receipt.json")
    _, (value,) = check_receipts(
        [receipt], commitment=REQUEST.commitment, owner=REQUEST.owner, trust=Trust(notaries=(notary,))
    )
    assert value.trusted
    assert ran.json() == {
        "receipt": "receipt.json",
        "notary": notary,
        "commitment": REQUEST.commitment,
        "owner": REQUEST.owner,
        "number": 1,
        "time": value.time.isoformat(),
    }
    assert Path("notary.pem.log").read_text() == receipt.content + "\n"
    assert stat.S_IMODE(Path("notary.pem.log").stat().st_mode) == 0o600


def test_receipts_of_one_log_are_numbered(signs, notary) -> None:
    numbers = [signs(f"{turn}.json", "--log", "log", "--json").json()["number"] for turn in range(3)]
    assert numbers == [1, 2, 3]
    assert signs("other.json", "--log", "another log", "--json").json()["number"] == 1
    lines = tuple(Path("log").read_text().splitlines())
    assert count_receipts(lines, notary=notary, owner=REQUEST.owner) == 3


def test_nothing_is_counted_for_a_receipt_that_cannot_be_written(signs, notary) -> None:
    Path("receipt.json").write_text("an older one")
    assert "receipt.json: exists already" in signs("receipt.json").refusal()
    assert not Path("notary.pem.log").exists()


@pytest.mark.parametrize(
    ("file", "content", "reason"),
    [
        ("commitment.json", "{}", "commitment.json: not a commitment"),
        ("commitment.json", '{"version": 2, "version": 2}', "commitment.json: a key occurs twice"),
        ("notary.pem", "no key", "notary.pem: holds no private key"),
        ("notary.pem.log", "no receipt\n", "notary.pem.log: line 1: is no receipt"),
    ],
)
def test_faulty_files_are_named(wm, signs, notary, file, content, reason) -> None:
    Path(file).write_text(content)
    assert reason in signs("receipt.json").refusal()
    assert not Path("receipt.json").exists()
    if file != "commitment.json":
        assert reason in wm("notary", *SERVE).refusal()


@pytest.mark.system
def test_twenty_owners_at_once_get_twenty_numbers(signs, notary) -> None:
    with serving() as (process, started):
        assert started == {"address": started["address"], "notary": notary, "receipts": 0}
        with ThreadPoolExecutor(20) as pool:
            receipts = list(pool.map(lambda _: notary_receipt(started["address"], REQUEST), range(20)))
        numbers = [read_statement(each.content)[1].predicate.number for each in receipts]
        assert sorted(numbers) == list(range(1, 21))
        # By hand, while the service runs; then the service again.
        assert signs("receipt.json", "--json").json()["number"] == 21
        last = notary_receipt(started["address"], REQUEST)
        assert read_statement(last.content)[1].predicate.number == 22
        lines = tuple(httpx.get(started["address"] + "/log", trust_env=False, timeout=60).text.splitlines())
        assert count_receipts(lines, notary=notary, owner=REQUEST.owner) == 22
        assert len({json.loads(line)["payload"] for line in lines}) == 22
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=60)
        assert (process.returncode, out) == (0, "")
        assert err.count('"POST /receipts HTTP/1.1" 201 -\n') == 21
        assert err.endswith("stopped\n")
    with serving() as (_, started):
        assert started["receipts"] == 22


@pytest.mark.system
def test_a_token_and_a_port_in_use(wm, notary) -> None:
    Path("token").write_text("secret\n")
    with serving(*SERVE, "--token-file", "token") as (_, started):
        with pytest.raises(EndpointError, match="answered 401"):
            notary_receipt(started["address"], REQUEST)
        assert notary_receipt(started["address"], REQUEST, token=Path("token").read_text().strip())
        port = started["address"].rpartition(":")[2]
        refused = wm("notary", "serve", "--key", "notary.pem", "--port", port).refusal()
        assert refused == f"wm: 127.0.0.1:{port}: cannot listen (Address already in use)"
    Path("token").write_text("")
    assert "token is empty" in wm("notary", *SERVE, "--token-file", "token").refusal()


def test_a_judge_lists_whom_to_trust(wm, notary) -> None:
    Path("root.pem").write_text("-----BEGIN CERTIFICATE-----\n")
    assert (
        wm("notary", "trust", notary, "--root", "root.pem", "--drand", "quicknet", "-o", "t.json").code == 0
    )
    trust = read_trust("t.json")
    assert (trust.notaries, len(trust.timestamp_roots)) == ((notary,), 1)
    assert [chain.scheme for chain in trust.drand] == ["bls-unchained-g1-rfc9380"]
    for words, reason in (
        (["nobody"], "'nobody' is not a public key of 64 hex digits"),
        ([], "an empty list trusts nobody"),
        ([notary.upper()], "not a public key"),
    ):
        refused = wm("notary", "trust", *words, "-o", "other.json")
        assert (refused.code, refused.out) == (2, "")
        assert reason in refused.err
    assert wm("notary", "trust", notary, "-o", "t.json").code == 2, "nothing is overwritten"
