"""`wm beacon`: receipts from a notary, an authority and drand, by address and by files."""

from __future__ import annotations

import contextlib
import hashlib
import json
import threading
from collections.abc import Callable
from datetime import datetime, timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from tests.drand_rounds import ROUNDS
from tests.pools import OWNER
from tests.timestamp_authority import DAY, certify, stamp
from wm.claims.beacons import check_receipts
from wm.claims.beacons.base import Receipt, Trust, parse_receipt
from wm.claims.beacons.drand import CLOCK_ERROR_S, QUICKNET, round_time
from wm.claims.beacons.notary import sign_receipt
from wm.claims.beacons.request import sign_request
from wm.claims.beacons.rfc3161 import timestamp_receipt
from wm.claims.keys import new_key, public_hex

REQUEST = sign_request("c5" * 32, OWNER)
ROOT = certify("root")
SIGNER = certify("timestamps", ROOT)
ROUND = ROUNDS["quicknet"][1]
BEFORE_ROUND = round_time(QUICKNET, ROUND["round"]) - timedelta(seconds=CLOCK_ERROR_S + 1)
"""A time for which this round is due."""


@contextlib.contextmanager
def serving(answer: Callable[[str, bytes, str | None], bytes]):
    """A server whose replies are `answer` of path, body and content type; yields its address."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            content = answer(self.path, body, self.headers.get("Content-Type"))
            self.send_response(200)
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST  # noqa: N815 - the name that the library looks for

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.fixture
def ask(wm):
    """Ask for a receipt of the commitment that lies here."""
    Path("commitment.json").write_text(REQUEST.to_json())
    return lambda kind, *more: wm("beacon", kind, "commitment.json", *more)


def written(trust: Trust) -> tuple[Receipt, datetime | None, bool]:
    """The receipt that was written, and what a judge takes from it."""
    receipt = parse_receipt(Path("receipt.json").read_text(), what="receipt.json")
    _, (found,) = check_receipts([receipt], commitment=REQUEST.commitment, owner=REQUEST.owner, trust=trust)
    return receipt, found.time, found.trusted


def test_a_notary_is_asked(ask) -> None:
    key, asked = new_key(), []

    def answer(path: str, body: bytes, _: str | None) -> bytes:
        asked.append((path, json.loads(body)["commitment"]))
        return (
            sign_receipt(key, commitment=REQUEST.commitment, owner=REQUEST.owner, number=1).to_json().encode()
        )

    with serving(answer) as url:
        ran = ask("notary", "--url", url, "-o", "receipt.json", "--json")
        assert asked == [("/receipts", REQUEST.commitment)]
        assert ran.json() == {
            "receipt": "receipt.json",
            "kind": "notary",
            "commitment": REQUEST.commitment,
            "next": "wm embed --claim FILE --receipt receipt.json",
        }
        assert "exists already" in ask("notary", "--url", url, "-o", "receipt.json").refusal()
        assert len(asked) == 1, "receipts count: what cannot be written is not asked for"
    assert written(Trust(notaries=(public_hex(key),)))[2]


def test_an_authority_is_asked(ask) -> None:
    asked = []

    def answer(path: str, body: bytes, kind: str | None) -> bytes:
        asked.append((path, body, kind))
        return stamp(SIGNER, REQUEST.commitment)

    with serving(answer) as url:
        assert ask("timestamp", "--url", url + "/tsa", "-o", "receipt.json").code == 0
    ((path, body, kind),) = asked
    assert (path, kind) == ("/tsa", "application/timestamp-query")
    assert hashlib.sha256(bytes.fromhex(REQUEST.commitment)).digest() in body
    assert written(Trust(timestamp_roots=(ROOT.pem,)))[2]


def test_an_authority_is_asked_by_files(ask) -> None:
    ran = ask("query", "-o", "query.tsq", "--json")
    assert ran.json()["query"] == "query.tsq"
    assert Path("query.tsq").read_bytes()[:1] == b"\x30"
    Path("response.tsr").write_bytes(stamp(SIGNER, REQUEST.commitment))
    assert ask("timestamp", "--response", "response.tsr", "-o", "receipt.json").code == 0
    assert written(Trust(timestamp_roots=(ROOT.pem,)))[2]


def test_a_round_of_drand_follows_a_proof_of_time(ask) -> None:
    key = new_key()
    proof = sign_receipt(key, commitment=REQUEST.commitment, owner=REQUEST.owner, number=1, now=BEFORE_ROUND)
    Path("time.json").write_text(proof.to_json())
    asked = []

    def answer(path: str, _body: bytes, _kind: str | None) -> bytes:
        asked.append(path)
        return json.dumps(ROUND).encode()

    with serving(answer) as url:
        ran = ask("drand", "--time", "time.json", "--url", url + "/", "-o", "receipt.json")
    assert (ran.code, ran.err) == (0, "")
    assert asked == [f"/{QUICKNET.hash}/public/{ROUND['round']}"]
    judge = Trust(notaries=(public_hex(key),), drand=(QUICKNET,))
    receipt, time, trusted = written(judge)
    assert (receipt.kind, time, trusted) == ("drand", round_time(QUICKNET, ROUND["round"]), True)
    Path("receipt.json").unlink()
    Path("round.json").write_text(json.dumps(ROUND))
    assert ask("drand", "--time", "time.json", "--round", "round.json", "-o", "receipt.json").code == 0
    assert written(judge)[0] == receipt


def test_a_round_that_is_not_due_yet_is_awaited(ask, monkeypatch) -> None:
    proof = sign_receipt(new_key(), commitment=REQUEST.commitment, owner=REQUEST.owner, number=1)
    Path("time.json").write_text(proof.to_json())
    waited = []
    monkeypatch.setattr("time.sleep", waited.append)
    with serving(lambda *_: json.dumps(ROUND).encode()) as url:
        ran = ask("drand", "--time", "time.json", "--url", url, "-o", "receipt.json")
    assert (ran.code, ran.out) == (2, "")
    assert "is due in" in ran.err
    assert f"is of round {ROUND['round']}, not of" in ran.err, "the server gave another round"
    assert 0 < waited[0] < CLOCK_ERROR_S + QUICKNET.period + 2
    assert not Path("receipt.json").exists()


def test_a_round_after_a_timestamp_must_be_the_due_one(ask) -> None:
    valid = (BEFORE_ROUND - DAY, BEFORE_ROUND + DAY)
    root = certify("root of then", valid=valid)
    signer = certify("timestamps of then", root, valid=valid)
    Path("root.pem").write_text(root.pem)
    Path("round.json").write_text(json.dumps(ROUND))
    for time, code in ((BEFORE_ROUND, 0), (BEFORE_ROUND - timedelta(seconds=3), 2)):
        Path("time.json").write_text(
            timestamp_receipt(stamp(signer, REQUEST.commitment, time=time)).to_json()
        )
        ran = ask(
            "drand",
            "--time",
            "time.json",
            "--root",
            "root.pem",
            "--round",
            "round.json",
            "-o",
            f"{code}.json",
        )
        assert ran.code == code, ran.err
    assert f"is of round {ROUND['round']}, not of {ROUND['round'] - 1}" in ran.err


OTHER = sign_request("c6" * 32, OWNER)


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("timestamp", "-o", "receipt.json"), "give --url or --response"),
        (
            ("timestamp", "--response", "other.tsr", "--url", "http://h", "-o", "receipt.json"),
            "give --url or --response",
        ),
        (
            ("timestamp", "--response", "other.tsr", "-o", "receipt.json"),
            "other.tsr: the timestamp is of another",
        ),
        (("timestamp", "--response", "time.json", "-o", "receipt.json"), "time.json: "),
        (("drand", "--time", "none.json", "-o", "receipt.json"), "a receipt of kind none proves no time"),
        (
            ("drand", "--time", "time.json", "-o", "receipt.json"),
            "known only with its authority's root: give --root",
        ),
        (
            (
                "drand",
                "--time",
                "time.json",
                "--root",
                "root.pem",
                "--round",
                "time.json",
                "-o",
                "receipt.json",
            ),
            "time.json: the drand network's answer",
        ),
        (
            ("drand", "--time", "time.json", "--round", "time.json", "--url", "http://h", "-o", "r"),
            "give either --round or --url",
        ),
        (("notary", "--url", "http://127.0.0.1:9", "-o", "receipt.json"), "cannot be reached"),
    ],
    ids=lambda value: None if isinstance(value, str) else " ".join(value),
)
def test_mistakes_are_one_line(ask, words: tuple[str, ...], reason: str) -> None:
    Path("other.tsr").write_bytes(stamp(SIGNER, OTHER.commitment))
    Path("root.pem").write_text(ROOT.pem)
    Path("time.json").write_text(timestamp_receipt(stamp(SIGNER, REQUEST.commitment)).to_json())
    Path("none.json").write_text(Receipt(kind="none", content="00" * 32).to_json())
    ran = ask(*words)
    assert ran.code == (4 if reason == "cannot be reached" else 2)
    assert ran.out == ""
    assert reason in ran.err
    assert "Traceback" not in ran.err
    assert not Path("receipt.json").exists()
