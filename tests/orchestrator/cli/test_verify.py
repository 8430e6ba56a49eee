"""`wm verify`: verdicts on claims of every version; suspects at network addresses: `test_network`."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests import witness
from wm.claims.beacons.base import Trust
from wm.claims.keys import new_key, public_hex
from wm.forest import Forest
from wm.formats.export import save_model

# --- the four verdicts and their exit codes


def test_the_owners_model_is_verified(wm, model) -> None:
    ran = wm("verify", model.claim, "--model", model.forest, *model.judge, "--json")
    assert (ran.code, ran.err) == (0, "")
    verdict = ran.json()
    assert (verdict["verdict"], verdict["open_questions"]) == ("verified", [])
    assert [each["name"] for each in verdict["tests"]] == ["bits", "rows by votes"]
    assert verdict["tests"][0]["figure"].startswith("168 of 168 votes")
    assert verdict["p_value"] == pytest.approx(10 ** verdict["log10_p"])
    assert verdict["log10_p"] < -6
    plain = wm("verify", model.claim, "--model", model.forest, *model.judge)
    assert (plain.code, plain.err) == (0, "")
    assert plain.out.startswith("✓ verified: ")


@pytest.mark.parametrize("stage", ["nobody trusted", "another notary", "age unknown", "suspect older"])
def test_what_is_open_makes_it_an_indication(wm, model, stage: str) -> None:
    Path("other.json").write_text(Trust(notaries=(public_hex(new_key()),)).to_json())
    options, reason = {
        "nobody trusted": (("--suspect-since", witness.LATER), "no beacon that you trust"),
        "another notary": (("--trust", "other.json", *model.judge[2:]), "no beacon that you trust"),
        "age unknown": (model.judge[:2], "when the suspect appeared is not given"),
        "suspect older": ((*model.judge[:2], "--suspect-since", "2024-12-31"), "not older than the suspect"),
    }[stage]
    ran = wm("verify", model.claim, "--model", model.forest, *options, "--json")
    assert (ran.code, ran.err) == (5, "")
    verdict = ran.json()
    assert verdict["verdict"] == "indication"
    assert any(reason in each for each in verdict["open_questions"])
    plain = wm("verify", model.claim, "--model", model.forest, *options)
    assert (plain.code, plain.out.startswith("? indication: ")) == (5, True)
    assert f"open: {verdict['open_questions'][0]}" in plain.out


def test_a_claim_that_nobody_witnessed_is_an_indication(wm, model) -> None:
    ran = wm("verify", model.foreign_claim, "--model", model.foreign_forest, *model.judge)
    assert ran.code == 5
    assert "no beacon: the owner chose" in ran.out


def test_another_owners_model_is_not_verified(wm, model) -> None:
    ran = wm("verify", model.claim, "--model", model.foreign_forest, *model.judge, "--json")
    assert (ran.code, ran.err) == (1, "")
    verdict = ran.json()
    assert verdict["verdict"] == "not verified"
    assert -6 < verdict["log10_p"] <= 0
    assert verdict["p_value"] <= 1
    plain = wm("verify", model.claim, "--model", model.foreign_forest, *model.judge)
    assert (plain.code, plain.out.startswith("✗ not verified: ")) == (1, True)


def test_a_suspect_that_guesses_cannot_be_judged(wm, model) -> None:
    _stump(n_features=30, classes=[0, 1], n_trees=24).save(Path("suspect.npz"))
    ran = wm("verify", model.claim, "--model", "suspect.npz", *model.judge, "--json")
    assert ran.code == 5
    assert ran.json()["verdict"] == "cannot be judged"
    assert "like a guess" in ran.json()["reason"]
    plain = wm("verify", model.claim, "--model", "suspect.npz", *model.judge)
    assert plain.out.startswith("? cannot be judged: ")
    assert "needed: " in plain.out


def test_the_judge_chooses_the_level(wm, model) -> None:
    suspect = ("--model", model.forest, *model.judge)
    assert wm("verify", model.claim, *suspect, "--level", "1e-30").code == 5, "no p-value is so small"
    for level in ("0", "1", "-1", "nan", "inf"):
        ran = wm("verify", model.claim, *suspect, "--level", level)
        assert (ran.code, ran.out) == (2, "")
        assert "level" in ran.err


def test_suspects_tried_and_receipts_multiply_the_p_value(wm, model) -> None:
    suspect = ("--model", model.forest, *model.judge, "--json")
    once, often = (wm("verify", model.claim, *suspect, "--tried", tried).json() for tried in (1, 10**9))
    assert (once["multiplicity"], often["multiplicity"]) == (1, 1e9)
    assert often["log10_p"] == pytest.approx(min(0, once["log10_p"] + 9))
    assert often["verdict"] != "verified"
    assert "suspects and openings tried: 1" in once["factors"]
    # The notary's log shows receipts that the owner got for other claims and kept to itself.
    found = model.read
    lines = [json.loads(model.receipt.read_text())["content"]]
    lines += [
        witness.witness(found.model_copy(update={"commitment": f"{number:064x}"})).content
        for number in range(9)
    ]
    Path("log.jsonl").write_text("\n".join(lines) + "\n")
    logged = wm("verify", model.claim, *suspect, "--log", "log.jsonl").json()
    assert logged["multiplicity"] == 10
    assert logged["log10_p"] == pytest.approx(once["log10_p"] + 1)


# --- suspects of every form


@pytest.mark.parametrize("ending", ["npz", "joblib", "pkl", "skops"])
@pytest.mark.parametrize("classes", [None, ["benign", "malignant"]], ids=["codes", "names"])
def test_a_suspect_of_any_form(wm, model, ending: str, classes: list[str] | None) -> None:
    forest = Forest.load(model.forest)
    if classes is not None:
        # The names' alphabetical order is the other way round than the claim's codes.
        forest = replace(forest, classes=np.array(classes), value=forest.value[:, ::-1])
    if ending == "skops":
        pytest.importorskip("skops.io", reason="the extra `skops` is not installed")
    save_model(forest, f"suspect.{ending}", trust_pickle=True)
    trust = {"npz": (), "skops": ("--trust-type", "sklearn.tree._tree.Tree")}.get(ending, ("--trust-pickle",))
    for claim in (model.claim, model.old_claim):
        ran = wm("verify", claim, "--model", f"suspect.{ending}", *trust, *model.judge, "--json")
        assert ran.code == (0 if claim == model.claim else 5), ran.err
        assert ran.json()["tests"][0]["figure"].startswith("168 of 168 votes")
        if trust:
            assert "trust" in wm("verify", claim, "--model", f"suspect.{ending}").refusal()


def _stump(*, n_features: int, classes: list[Any], n_trees: int) -> Forest:
    """A forest of lone leaves."""
    return Forest.from_arrays(
        offset=list(range(n_trees + 1)),
        left=[-1] * n_trees,
        right=[-1] * n_trees,
        feature=[-1] * n_trees,
        threshold=[0.0] * n_trees,
        value=[[1.0] + [0.0] * (len(classes) - 1)] * n_trees,
        n_features=n_features,
        classes=classes,
    )


@pytest.mark.parametrize(
    "forest",
    [
        _stump(n_features=30, classes=[1, 2], n_trees=24),
        _stump(n_features=30, classes=[0, 1, 2], n_trees=24),
        _stump(n_features=30, classes=["0", "1"], n_trees=24),
        _stump(n_features=30, classes=[0, 1], n_trees=23),
        _stump(n_features=29, classes=[0, 1], n_trees=24),
        _stump(n_features=31, classes=[0, 1], n_trees=24),
    ],
    ids=["classes 1 2", "three classes", "classes of text", "a tree fewer", "a feature fewer", "one more"],
)
def test_a_model_of_another_shape_is_no_mistake_and_no_proof(wm, model, forest: Forest) -> None:
    """A thief may have changed classes, trees and columns."""
    forest.save(Path("suspect.npz"))
    ran = wm("verify", model.claim, "--model", "suspect.npz", *model.judge, "--json")
    assert (ran.code, ran.json()["verdict"]) == (5, "cannot be judged"), ran.err


def test_a_model_of_one_class_is_refused(wm, model) -> None:
    _stump(n_features=30, classes=[0], n_trees=24).save(Path("suspect.npz"))
    assert "has 1 class" in wm("verify", model.claim, "--model", "suspect.npz").refusal()


# --- the record


def test_the_transcript_is_complete_and_the_same_years_later(wm, model) -> None:
    suspect = ("--model", model.forest, *model.judge)
    verdict = wm("verify", model.claim, *suspect, "--transcript", "transcript.txt", "--json").json()
    text = Path("transcript.txt").read_text()
    lines = text.splitlines()
    assert f"commitment: {model.content['commitment']}" in lines
    assert f"owner: {model.content['header']['owner']}" in lines
    trust = Path(model.judge[model.judge.index("--trust") + 1])
    for name, file in (("claim", Path(model.claim)), ("trust", trust)):
        assert f"{name}: {file}, SHA-256 {hashlib.sha256(file.read_bytes()).hexdigest()}" in lines
    (receipt,) = (line for line in lines if line.startswith("receipt 1: "))
    assert re.fullmatch(r"receipt 1: .*, trusted, \d{4}-.*, value [0-9a-f]{64}", receipt)
    assert any(line.startswith("suspect since: 2") for line in lines)
    assert Forest.load(model.forest).content_hash in text
    for test in verdict["tests"]:
        assert f"test {test['name']}: p = 10^{test['log10_p']:.2f}" in text
    for name, facts in (("factor", "factors"), ("note", "notes"), ("open", "open_questions")):
        assert all(f"{name}: {each}" in lines for each in verdict[facts])
    assert lines[-1] == f"verdict: verified: {verdict['reason']}"
    assert wm("verify", model.claim, *suspect, "--transcript", "again.txt").code == 0
    assert Path("again.txt").read_text() == text
    assert wm("verify", model.claim, *suspect, "--verbose").out == text


def test_a_transcript_is_replaced_by_force_only(wm, model, monkeypatch: pytest.MonkeyPatch) -> None:
    suspect = ("--model", model.forest, "--transcript", "transcript.txt")
    Path("transcript.txt").write_text("of another case")
    with monkeypatch.context() as patch:
        patch.setattr("wm.forest.Forest.vote_codes", None)  # the suspect is not asked in vain
        assert "transcript.txt: exists" in wm("verify", model.claim, *suspect).refusal()
    assert Path("transcript.txt").read_text() == "of another case"
    assert wm("verify", model.claim, *suspect, "--force").code == 5
    assert "verdict: indication" in Path("transcript.txt").read_text()
    refusal = wm("verify", model.claim, *suspect[:-1], "missing/transcript.txt").refusal()
    assert "cannot be written" in refusal


@pytest.mark.parametrize("which", ["claim", "old_claim"])
@pytest.mark.parametrize("suspect", ["forest", "foreign_forest"])
def test_a_verdict_takes_twelve_lines_at_most(wm, model, which: str, suspect: str) -> None:
    ran = wm("verify", getattr(model, which), "--model", getattr(model, suspect))
    assert 2 <= len(ran.out.splitlines()) <= 12
    assert len(wm("verify", model.claim, "--model", model.forest, *model.judge).out.splitlines()) <= 6
