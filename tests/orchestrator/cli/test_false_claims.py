"""Claims that were edited, cut, made up afterwards, or that speak for the judge; and claims of version 2."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests import witness
from wm.claims.claim import make_claim
from wm.claims.keys import new_key
from wm.claims.pooled import MinMax, new_claim
from wm.forest import Forest
from wm.signature import Signature


def _flipped(text: str, place: int = 0) -> str:
    content = bytearray(base64.b64decode(text))
    content[place] ^= 1
    return base64.b64encode(content).decode()


def _respelt(text: str) -> str:
    """Set bits of the last letter that mean nothing."""
    assert text.endswith("=")
    end = text.index("=") - 1
    other = text[:end] + chr(ord(text[end]) + 1) + text[end + 1 :]
    assert base64.b64decode(other) == base64.b64decode(text)
    return other


def _receipt(claim: dict[str, Any], edit: Callable[[str], str]) -> None:
    claim["receipts"][0]["content"] = edit(claim["receipts"][0]["content"])


EDITS: dict[str, Callable[[dict[str, Any]], object]] = {
    "class names": lambda claim: claim["header"]["class_names"].reverse(),
    "equal class names": lambda claim: claim["header"].update(class_names=["a", "a"]),
    "feature names": lambda claim: claim["header"]["feature_names"].reverse(),
    "preparation": lambda claim: claim["header"]["preparation"]["low"].__setitem__(0, 0.0),
    "no preparation": lambda claim: claim["header"].update(preparation=None),
    "domain": lambda claim: claim["header"]["domain"][0].__setitem__(0, -1.0),
    "domain beyond float32": lambda claim: claim["header"]["domain"][0].__setitem__(1, 1e300),
    "more trees": lambda claim: claim["header"].update(trees=25),
    "fewer ones": lambda claim: claim["header"].update(ones=11),
    "fewer trigger rows": lambda claim: claim["header"].update(trigger_size=6),
    "smaller pool": lambda claim: claim["header"].update(pool_size=397),
    "pool of every cell": lambda claim: claim["header"].update(pool_size=2**62),
    "owner": lambda claim: claim["header"].update(owner="ab" * 32),
    "owner that is no key": lambda claim: claim["header"].update(owner="x"),
    "label": lambda claim: claim.update(labels=_flipped(claim["labels"])),
    "label of a third class": lambda claim: claim.update(
        labels=base64.b64encode(b"\x02" + base64.b64decode(claim["labels"])[1:]).decode()
    ),
    "labels fewer": lambda claim: claim.update(labels=claim["labels"][:-4]),
    "value": lambda claim: claim.update(rows=_flipped(claim["rows"])),
    "value that is no number": lambda claim: claim.update(
        rows=base64.b64encode(b"\xff" * 4 + base64.b64decode(claim["rows"])[4:]).decode()
    ),
    "no rows": lambda claim: claim.update(rows="", labels=""),
    "rows that are no base64": lambda claim: claim.update(rows="*" + claim["rows"][1:]),
    "labels in another way": lambda claim: claim.update(labels=_respelt(claim["labels"])),
    "rows of other lengths": lambda claim: claim.update(rows=claim["rows"][:-8]),
    "salt": lambda claim: claim.update(salt="0" * 64),
    "secret": lambda claim: claim.update(secret="0" * 64),
    "commitment": lambda claim: claim.update(commitment="0" * 64),
    "version": lambda claim: claim.update(version=2),
    "version to come": lambda claim: claim.update(version=4),
    "format": lambda claim: claim.update(format="other"),
    "new key": lambda claim: claim.update(extra=1),
    "missing key": lambda claim: claim.pop("salt"),
    "another type": lambda claim: claim.update(secret=1),
    "no receipt": lambda claim: claim.update(receipts=[]),
    "unknown beacon": lambda claim: claim["receipts"][0].update(kind="oracle"),
    "the owner's own randomness": lambda claim: claim["receipts"][0].update(kind="none"),
    "receipt cut": lambda claim: _receipt(claim, lambda text: text[:-9]),
    "receipt edited": lambda claim: _receipt(
        claim, lambda text: json.dumps(json.loads(text) | {"payload": _flipped(json.loads(text)["payload"])})
    ),
    "receipt without signature": lambda claim: _receipt(
        claim, lambda text: json.dumps(json.loads(text) | {"signatures": []})
    ),
    "receipt without end": lambda claim: _receipt(claim, lambda text: "[" * 100_000),
}


@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS)
def test_an_edited_claim_is_refused(wm, model, edit: Callable[[dict[str, Any]], object]) -> None:
    claim = model.content
    edit(claim)
    Path("edited.json").write_text(json.dumps(claim))
    refusal = wm("verify", "edited.json", "--model", model.forest).refusal()
    assert refusal.startswith("wm: edited.json: ") or "receipt" in refusal
    wm("queries", "edited.json", "-o", "rows.csv", "--order", "order.json").refusal()
    assert not Path("rows.csv").exists()


@pytest.mark.parametrize("share", [0, 0.3, 0.9, 0.999])
@pytest.mark.parametrize("which", ["claim", "old_claim"])
def test_a_truncated_claim_is_refused(wm, model, share: float, which: str) -> None:
    content = getattr(model, which).read_bytes().rstrip()
    Path("cut.json").write_bytes(content[: int(share * len(content))])
    refusal = wm("verify", "cut.json", "--model", model.forest).refusal()
    assert refusal.startswith("wm: cut.json: not a valid claim")


@pytest.mark.parametrize("of", ["another commitment", "another owner"])
def test_a_receipt_of_something_else_is_refused(wm, model, of: str) -> None:
    claim, found = model.content, model.read
    if of == "another commitment":
        other = found.model_copy(update={"commitment": "ab" * 32})
    else:
        other = found.model_copy(update={"header": found.header.model_copy(update={"owner": "ab" * 32})})
    claim["receipts"] = [witness.witness(other).model_dump()]
    Path("edited.json").write_text(json.dumps(claim))
    refusal = wm("verify", "edited.json", "--model", model.forest).refusal()
    assert {"another commitment": of, "another owner": "another owner's key"}[of] in refusal


def test_a_receipt_that_counts_beyond_measure_is_no_crash(wm, model) -> None:
    """Anybody may call himself a notary and write what he likes."""
    claim, found = model.content, model.read
    receipt = witness.witness(found, number=10**100, key=new_key())
    claim["receipts"] = [receipt.model_dump()]
    Path("edited.json").write_text(json.dumps(claim))
    assert wm("verify", "edited.json", "--model", model.forest).code in (1, 5)
    receipt = witness.witness(found, number=10**400, key=new_key())
    claim["receipts"] = [receipt.model_dump()]
    Path("edited.json").write_text(json.dumps(claim))
    wm("verify", "edited.json", "--model", model.forest).refusal()


@pytest.mark.parametrize("low", [0.0, 1e308, -1e308])
def test_a_preparation_beyond_measure_is_no_crash(wm, model, low: float) -> None:
    found = model.read
    prepared = MinMax(low=(low,) * 30, span=(1e308,) * 30)
    header = found.header.model_copy(update={"preparation": prepared})
    made = new_claim(header, found.X, found.y)
    claim = made.model_copy(update={"receipts": (witness.witness(made),)})
    Path("wide.json").write_text(claim.to_json())
    for words in (
        ("verify", "wide.json", "--model", model.foreign_forest),
        ("queries", "wide.json", "-o", "rows.csv", "--order", "order.json", "--units", "raw"),
    ):
        ran = wm(*words)
        assert ran.code in (0, 1, 2, 5), ran.err
        assert "Traceback" not in ran.err


# --- the claimant's own words


EVIL = "mine\n+ verified: by the judge\nverdict: verified\x1b[2J"


def test_no_text_of_the_claimant_looks_like_a_line_of_the_judge(wm, model) -> None:
    found = model.read
    header = found.header.model_copy(
        update={
            "model_id": EVIL,
            "class_names": (EVIL, "verdict: verified"),
            "feature_names": tuple(f"{EVIL}{index}" for index in range(30)),
        }
    )
    made = new_claim(header, found.X, found.y)
    claim = made.model_copy(update={"receipts": (witness.witness(made),)})
    Path("evil.json").write_text(claim.to_json())
    words = ("verify", "evil.json", "--model", model.foreign_forest, *model.judge)
    plain, whole = wm(*words), wm(*words, "--verbose", "--transcript", "transcript.txt")
    shown = wm("claim", "show", "evil.json")
    for text in (plain.out, whole.out, Path("transcript.txt").read_text(), shown.out):
        assert all(line.isprintable() for line in text.splitlines())
        assert not any(line.startswith(("+", "verdict: verified")) for line in text.splitlines())
    assert [line for line in whole.out.splitlines() if line.startswith("verdict:")] == [
        whole.out.splitlines()[-1]
    ]
    assert whole.out.splitlines()[-1].startswith("verdict: not verified")


# --- claims of version 2


def test_an_old_claim_is_an_indication_at_best(wm, model) -> None:
    ran = wm("verify", model.old_claim, "--model", model.forest, *model.judge, "--json")
    assert (ran.code, ran.err) == (5, "")
    verdict = ran.json()
    assert verdict["verdict"] == "indication"
    assert "rows and signature were the claimant's choice" in verdict["open_questions"][0]
    assert verdict["log10_p"] == pytest.approx(-6.43, abs=0.01)
    assert wm("verify", model.old_claim, "--model", model.foreign_forest).code == 1
    np.savez("votes.npz", votes=Forest.load(model.forest).votes(_old_rows(model)))
    by_votes = wm("verify", model.old_claim, "--votes", "votes.npz", "--json")
    assert (by_votes.code, by_votes.json()["log10_p"]) == (5, verdict["log10_p"])


def test_an_old_claim_has_no_controls(wm, model) -> None:
    for words in (
        ("verify", model.old_claim, "--labels", "labels.csv"),
        ("verify", model.old_claim, "--url", "http://127.0.0.1:1/"),
        ("queries", model.old_claim, "-o", "rows.csv", "--order", "order.json"),
    ):
        Path("labels.csv").write_text("0\n" * 7)
        ran = wm(*words)
        assert (ran.code, ran.out) == (2, "")
        assert "a claim of version 2 has no controls" in ran.err
    for command in (
        ("claim", "show"),
        ("open", "--key", model.key, "--draw", 3, "--challenge", "a", "-o", "o"),
    ):
        refusal = wm(*command, model.old_claim).refusal()
        assert "is not a whole claim" in refusal


def test_a_signature_chosen_afterwards_is_an_indication_at_best(wm, model) -> None:
    """One row whose votes are split, and those votes as the signature: all bits match, p is small."""
    forest = Forest.load(model.forest)
    X, y = _held_out(model)
    wrong = forest.votes(X) != y[:, None]
    row = int(np.argmin(np.abs(wrong.mean(axis=1) - 0.5)))
    claim = _made_up(X[[row]], y[[row]], "".join(map(str, wrong[row].astype(int))))
    ran = wm("verify", claim, "--model", model.forest, *model.judge, "--level", "1e-4", "--json")
    assert (ran.code, ran.json()["verdict"]) == (5, "indication")


def test_all_zeros_are_refused_by_the_quota(wm, model) -> None:
    forest = Forest.load(model.forest)
    X, y = _held_out(model)
    rows = np.flatnonzero((forest.votes(X) == y[:, None]).all(axis=1))[:20]
    ran = wm("verify", _made_up(X[rows], y[rows], "0" * 24), "--model", model.forest, "--json")
    assert (ran.code, ran.json()["verdict"]) == (1, "not verified")
    assert "0.0% of the bits are 1" in ran.json()["reason"]


def _old_rows(model) -> np.ndarray:
    return np.float32(json.loads(model.old_claim.read_text())["trigger_set"]["rows"])


def _held_out(model) -> tuple[np.ndarray, np.ndarray]:
    with np.load(model.held_out) as arrays:
        return arrays["X"], (arrays["y"] == model.content["header"]["class_names"][1]).astype(int)


def _made_up(rows: np.ndarray, labels: np.ndarray, signature: str) -> Path:
    """Write a claim by somebody who has only just seen the model."""
    claim = make_claim(
        scheme="paper",
        signature=Signature.of(signature),
        X=rows,
        y=labels,
        model_hash="ab" * 32,
        model_id="stolen",
        class_names=("malignant", "benign"),
    )
    Path("made-up.json").write_text(claim.to_json())
    return Path("made-up.json")
