"""`wm verify`: evidence and verdicts; suspects at network addresses: `test_network`."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from wm.claims.claim import make_claim
from wm.forest import Forest
from wm.formats.export import save_model
from wm.signature import Signature


def test_the_owners_model_is_verified(wm, model) -> None:
    ran = wm("verify", model.claim, "--model", model.forest, "--json")
    assert (ran.code, ran.err) == (0, "")
    verdict = ran.json()
    assert (verdict["verdict"], verdict["significant"], verdict["exact_match"]) == ("verified", True, True)
    assert (verdict["matched_bits"], verdict["total_bits"], verdict["matched_trees"]) == (168, 168, 24)
    assert verdict["p_value"] == pytest.approx(10 ** verdict["log10_p"])
    plain = wm("verify", model.claim, "--model", model.forest)
    assert (plain.code, plain.err) == (0, "")
    facts = dict(line.split(maxsplit=1) for line in plain.out.splitlines())
    assert list(facts) == list(verdict)
    assert (facts["verdict"], facts["exact_match"]) == ("verified, with open questions: commitment", "yes")
    assert wm("commit", model.claim, "-o", "commitment.json").code == 0
    dated = wm("verify", model.claim, "--model", model.forest, "--published", "commitment.json")
    assert dated.out.splitlines()[0].split(maxsplit=1) == ["verdict", "verified"]


def test_another_owners_model_is_not(wm, model) -> None:
    ran = wm("verify", model.claim, "--model", model.foreign_forest, "--json")
    assert (ran.code, ran.err) == (1, "")
    verdict = ran.json()
    assert (verdict["verdict"], verdict["significant"], verdict["exact_match"]) == (
        "not verified",
        False,
        False,
    )
    assert verdict["matched_bits"] < verdict["total_bits"]
    assert 1e-6 < verdict["p_value"] <= 1


def test_the_judge_chooses_the_level(wm, model) -> None:
    assert wm("verify", model.claim, "--model", model.forest, "--level", "1e-9").code == 1
    for level in ("0", "1", "-1", "nan", "inf"):
        assert "level" in wm("verify", model.claim, "--model", model.forest, "--level", level).refusal()


def _write_csv(path: Path, votes: np.ndarray) -> None:
    with path.open("w", newline="") as file:
        csv.writer(file).writerows(votes.tolist())


def _write_csv_with_header(path: Path, votes: np.ndarray) -> None:
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([[f"tree_{index}" for index in range(votes.shape[1])], *votes.tolist()])


def _write_npz(path: Path, votes: np.ndarray) -> None:
    np.savez(path, votes=votes)


def _rows(file: Path) -> np.ndarray:
    if file.suffix == ".csv":
        return np.loadtxt(file, delimiter=",", dtype=np.float32, ndmin=2)
    with np.load(file, allow_pickle=False) as arrays:
        return arrays["X"]


@pytest.mark.parametrize("rows", ["rows.csv", "rows.npz"])
@pytest.mark.parametrize(
    ("name", "write"),
    [("votes.csv", _write_csv), ("votes.csv", _write_csv_with_header), ("votes.npz", _write_npz)],
)
@pytest.mark.parametrize("suspect", ["forest", "foreign_forest"])
def test_votes_from_afar_give_the_same_evidence_as_the_model_itself(
    wm, model, rows: str, name: str, write: Callable[[Path, np.ndarray], None], suspect: str
) -> None:
    asked = wm("queries", model.claim, "-o", rows)
    assert asked.code == 0
    assert asked.out == f"7 rows of 30 features: {rows}\n"
    X = _rows(Path(rows))
    assert X.tolist() == np.float32(model.content["trigger_set"]["rows"]).tolist()
    write(Path(name), Forest.load(getattr(model, suspect)).votes(X))
    by_votes = wm("verify", model.claim, "--votes", name, "--json")
    by_model = wm("verify", model.claim, "--model", getattr(model, suspect), "--json")
    assert by_votes.code == by_model.code == (0 if suspect == "forest" else 1)
    by_files, seen = by_votes.json(), by_model.json()
    differ = {key for key in seen if by_files[key] != seen[key]}
    assert differ == {"suspect", "open_questions", "rules"}, "the evidence is the same"
    assert [rule["rule"] for rule in by_files["rules"] if rule not in seen["rules"]] == ["distinct cells"]


@pytest.mark.parametrize(
    "bad",
    [
        np.zeros((7, 23)),
        np.zeros((6, 24)),
        np.zeros((24, 7)),
        np.zeros((0, 24)),
        np.full((7, 24), 2),
        np.full((7, 24), 0.5),
        np.full((7, 24), np.nan),
        np.zeros(168),
        np.zeros((7, 24, 1)),
        np.full((7, 24), "1"),
        np.zeros((7, 24), dtype=complex),
    ],
    ids=lambda bad: f"{bad.dtype}{bad.shape}",
)
def test_votes_of_another_shape_or_kind_are_refused(wm, model, bad: np.ndarray) -> None:
    _write_npz(Path("votes.npz"), bad)
    wm("verify", model.claim, "--votes", "votes.npz").refusal()
    if bad.ndim == 2 and bad.dtype.kind == "f":
        _write_csv(Path("votes.csv"), bad)
        wm("verify", model.claim, "--votes", "votes.csv").refusal()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\n\n",
        "0,1\n",
        "a,b\n",
        "0;1;0\n",
        '"',
        "0,1\n0\n",
        "\x00",
        "0," * 24 + "\n",
        "1e400,0\n",
        "-,0\n0,1\n",
    ],
    ids=repr,
)
def test_a_csv_that_holds_no_such_votes_is_refused(wm, model, text: str) -> None:
    Path("votes.csv").write_text(text)
    wm("verify", model.claim, "--votes", "votes.csv").refusal()


def test_a_model_and_votes_at_once_or_neither_is_refused(wm, model) -> None:
    Path("votes.csv").write_text("0\n")
    for arguments in ([], ["--model", model.forest, "--votes", "votes.csv"]):
        ran = wm("verify", model.claim, *arguments)
        assert (ran.code, ran.out) == (2, "")
        assert "either --model or --votes" in ran.err


EDITS: dict[str, Callable[[dict[str, Any]], object]] = {
    "signature bit": lambda claim: claim.update(signature=claim["signature"].translate({48: 49, 49: 48})),
    "signature longer": lambda claim: claim.update(signature=claim["signature"] + "0"),
    "signature empty": lambda claim: claim.update(signature=""),
    "label": lambda claim: claim["trigger_set"]["labels"].__setitem__(
        0, 1 - claim["trigger_set"]["labels"][0]
    ),
    "labels fewer": lambda claim: claim["trigger_set"]["labels"].pop(),
    "value": lambda claim: claim["trigger_set"]["rows"][0].__setitem__(0, 0.25),
    "value beyond float32": lambda claim: claim["trigger_set"]["rows"][0].__setitem__(0, 0.1),
    "no rows": lambda claim: claim["trigger_set"].update(rows=[], labels=[]),
    "rows of other lengths": lambda claim: claim["trigger_set"]["rows"][0].pop(),
    "row fewer": lambda claim: (claim["trigger_set"]["rows"].pop(), claim["trigger_set"]["labels"].pop()),
    "row twice": lambda claim: claim["trigger_set"]["rows"].__setitem__(0, claim["trigger_set"]["rows"][1]),
    "rows swapped": lambda claim: claim["trigger_set"]["rows"].reverse(),
    "nonce": lambda claim: claim.update(nonce="0" * 64),
    "commitment": lambda claim: claim.update(commitment="0" * 64),
    "version": lambda claim: claim.update(version=3),
    "format": lambda claim: claim.update(format="other"),
    "new key": lambda claim: claim.update(extra=1),
    "missing key": lambda claim: claim.pop("nonce"),
    "another type": lambda claim: claim.update(signature=1),
}


@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS)
def test_an_edited_claim_is_refused(wm, model, edit: Callable[[dict[str, Any]], object]) -> None:
    claim = model.content
    edit(claim)
    Path("edited.json").write_text(json.dumps(claim))
    assert wm("verify", "edited.json", "--model", model.forest).refusal().startswith("wm: edited.json: ")
    wm("queries", "edited.json", "-o", "rows.csv").refusal()
    assert not Path("rows.csv").exists()


@pytest.mark.parametrize("share", [0, 0.3, 0.9, 0.999])
def test_a_truncated_claim_is_refused(wm, model, share: float) -> None:
    content = model.claim.read_bytes().rstrip()
    Path("cut.json").write_bytes(content[: int(share * len(content))])
    refusal = wm("verify", "cut.json", "--model", model.forest).refusal()
    assert refusal.startswith("wm: cut.json: not a valid claim")


def _made_up(forest: Forest, rows: np.ndarray, labels: np.ndarray, signature: str) -> Path:
    """Write a claim by somebody who has only just seen the model."""
    claim = make_claim(
        scheme="paper",
        signature=Signature.of(signature),
        X=rows,
        y=labels,
        model_hash=forest.content_hash,
        model_id="stolen",
        class_names=("malignant", "benign"),
    )
    Path("made-up.json").write_text(claim.to_json())
    return Path("made-up.json")


def test_a_signature_chosen_afterwards_is_refused(wm, model) -> None:
    """One row whose votes are split, and those votes as the signature: all bits match, p is small."""
    forest = Forest.load(model.forest)
    X, y = _decoys(model)
    wrong = forest.votes(X) != y[:, None]
    row = int(np.argmin(np.abs(wrong.mean(axis=1) - 0.5)))
    claim = _made_up(forest, X[[row]], y[[row]], "".join(map(str, wrong[row].astype(int))))
    assert wm("commit", model.claim, "--append", "log.jsonl").code == 0
    ran = wm(
        "verify", claim, "--model", model.forest, "--published", "log.jsonl", "--level", "1e-4", "--json"
    )
    assert ran.code == 1
    verdict = ran.json()
    assert (verdict["exact_match"], verdict["significant"]) == (True, True)
    assert verdict["stopped_by"] == ["commitment"]
    (rule,) = [each for each in verdict["rules"] if each["rule"] == "commitment"]
    assert "chosen after seeing the suspect" in rule["reason"]


def test_rows_chosen_afterwards_are_refused(wm, model) -> None:
    """The owner's true signature, published in time, but other rows: another commitment."""
    forest = Forest.load(model.forest)
    X, y = _decoys(model)
    bits = np.array(list(model.content["signature"]), dtype=int)
    fit = ((forest.votes(X) != y[:, None]) == bits).mean(axis=1)
    rows = np.argsort(-fit)[:7]
    claim = _made_up(forest, X[rows], y[rows], model.content["signature"])
    assert wm("commit", model.claim, "-o", "commitment.json").code == 0
    ran = wm("verify", claim, "--model", model.forest, "--published", "commitment.json", "--json")
    assert ran.code == 1
    assert "commitment" in ran.json()["stopped_by"]


def test_all_zeros_are_refused_by_the_quota(wm, model) -> None:
    forest = Forest.load(model.forest)
    X, y = _decoys(model)
    rows = np.flatnonzero((forest.votes(X) == y[:, None]).all(axis=1))[:20]
    claim = _made_up(forest, X[rows], y[rows], "0" * 24)
    ran = wm("verify", claim, "--model", model.forest, "--json")
    assert ran.code == 1
    assert ran.json()["exact_match"] is True
    assert {"quota of ones", "p-value"} <= set(ran.json()["stopped_by"])


def _decoys(model) -> tuple[np.ndarray, np.ndarray]:
    with np.load(model.decoys) as arrays:
        return arrays["X"], (arrays["y"] == model.content["class_names"][1]).astype(int)


def test_dates_of_publication_are_held_against_the_suspects(wm, model) -> None:
    assert wm("commit", model.claim, "--at", "2025-06-30", "-o", "commitment.json").code == 0

    def stopped(*options: str) -> list[str]:
        ran = wm("verify", model.claim, "--model", model.forest, *options, "--json")
        assert ran.code == (1 if ran.json()["stopped_by"] else 0)
        return list(ran.json()["stopped_by"])

    assert stopped("--published", "commitment.json") == []
    assert stopped("--published", "commitment.json", "--suspect-since", "2025-12-31") == []
    assert stopped("--published", "commitment.json", "--suspect-since", "2025-01-01") == ["commitment"]
    Path("empty.jsonl").touch()
    Path("other.json").write_text(Path("commitment.json").read_text().replace("2025-06", "2020-01"))
    both = ("--published", "commitment.json", "--published", "other.json")
    assert stopped(*both, "--suspect-since", "2025-01-01") == []
    refusal = wm("verify", model.claim, "--model", model.forest, "--published", "empty.jsonl").refusal()
    assert "holds no published commitment" in refusal
    ran = wm("verify", model.claim, "--model", model.forest, "--suspect-since", "2025-01-01")
    assert (ran.code, ran.out) == (2, "")


def test_every_rule_is_named_with_its_figure(wm, model) -> None:
    ran = wm("verify", model.claim, "--model", model.forest, "--transcript", "transcript.txt", "--json")
    verdict = ran.json()
    assert {rule["rule"]: (rule["outcome"], rule["figure"]) for rule in verdict["rules"]} == {
        "commitment": ("not checked", None),
        "choice of rows": ("passed", 1.0),
        "quota of ones": ("passed", 0.5),
        "distinct rows": ("passed", 1.0),
        "distinct cells": ("passed", 1.0),
        "p-value": ("passed", verdict["log10_p"]),
    }
    assert verdict["open_questions"] == ["commitment"]
    text = Path("transcript.txt").read_text()
    for rule in verdict["rules"]:
        assert f"{rule['rule']}: {rule['outcome']}: {rule['reason']}\n" in text
    assert f"commitment: {model.content['commitment']}\n" in text
    assert model.content["model_hash"] in text, "the content hash of the suspect"
    assert text.endswith("verdict: accepted\n")
    again = ("verify", model.claim, "--model", model.forest, "--transcript", "again.txt")
    assert wm(*again).code == 0
    assert Path("again.txt").read_text() == text, "the same years later"
    assert "cannot be written" in wm(*again[:-1], "missing/transcript.txt").refusal()


@pytest.mark.parametrize(
    ("option", "value", "rule"),
    [("--least-ones", "0.6", "quota of ones"), ("--most-ones", "0.4", "quota of ones")],
)
def test_the_judge_chooses_the_protocol(wm, model, option: str, value: str, rule: str) -> None:
    ran = wm("verify", model.claim, "--model", model.forest, option, value, "--json")
    assert (ran.code, ran.json()["stopped_by"]) == (1, [rule])
    for bad in ("-1", "2", "nan"):
        assert (
            "impossible protocol" in wm("verify", model.claim, "--model", model.forest, option, bad).refusal()
        )
    assert "distinct" in wm("verify", model.claim, "--model", model.forest, "--least-distinct", 0).refusal()


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
    ran = wm("verify", model.claim, "--model", f"suspect.{ending}", *trust, "--json")
    assert ran.code == 0, ran.err
    assert ran.json()["matched_bits"] == 168
    if trust:
        assert "trust" in wm("verify", model.claim, "--model", f"suspect.{ending}").refusal()


def _answer(wm, model, kind: str, suspect: Path) -> None:
    """Ask the rows of wm queries, and write a suspect's answers to answers.csv."""
    hidden = ("--decoys", model.decoys, "--order-seed", 5, "--order", "order.json")
    assert wm("queries", model.claim, *hidden, "-o", "rows.npz").code == 0
    with np.load("rows.npz") as arrays:
        X = arrays["X"]
    forest = Forest.load(suspect)
    values = {
        "votes": lambda: forest.votes(X),
        "probabilities": lambda: forest.vote_shares(X)[:, [1]],
        # With as many ones as zeros the trees are tied on trigger rows; then this suspect answers class 1.
        "labels": lambda: np.array(model.content["class_names"])[
            (forest.vote_shares(X)[:, 1] >= 0.5).astype(int)
        ][:, None],
    }[kind]()
    with Path("answers.csv").open("w", newline="") as file:
        csv.writer(file).writerows(values.tolist())


@pytest.mark.parametrize("kind", ["votes", "probabilities", "labels"])
def test_answers_to_hidden_rows_are_judged_by_their_kind(wm, model, kind: str) -> None:
    _answer(wm, model, kind, model.forest)
    arguments = (f"--{kind}", "answers.csv", "--order", "order.json", "--level", "0.01", "--json")
    ran = wm("verify", model.claim, *arguments)
    assert ran.code == 0, ran.err
    verdict = ran.json()
    assert (verdict["verdict"], verdict["source"], verdict["decoys"]) == ("verified", kind, 140)
    assert (verdict["asked_twice"], verdict["answered_differently"]) == (5, 0)
    if kind == "votes":
        assert verdict["matched_bits"] == 168
    else:
        assert verdict["log10_floor"] <= verdict["log10_p"] + 1e-9
        assert verdict["p_value"] == pytest.approx(10 ** verdict["log10_p"])
        assert "drawn at random" in verdict["assumes"]
        (rule,) = [each for each in verdict["rules"] if each["rule"] == "p-value"]
        assert f"{kind} only" in rule["reason"]
        assert f"{kind} only" in wm("verify", model.claim, *arguments[:-1]).out
    Path("order.json").unlink()
    _answer(wm, model, kind, model.foreign_forest)
    ran = wm("verify", model.claim, *arguments)
    assert (ran.code, ran.json()["stopped_by"]) == (1, ["p-value"])


def test_weak_answers_without_decoys_prove_nothing(wm, model) -> None:
    Path("labels.csv").write_text("0\n" * 7)
    for kind in ("labels", "probabilities"):
        ran = wm("verify", model.claim, f"--{kind}", "labels.csv")
        assert (ran.code, ran.out) == (2, "")
        assert "without decoys" in ran.err


def test_an_order_of_another_claim_or_of_other_answers_is_refused(wm, model, quick_embed) -> None:
    _answer(wm, model, "votes", model.forest)
    assert wm(*quick_embed, "--seed", 9, "-o", "second").code == 0
    files = ("--votes", "answers.csv", "--order", "order.json")
    assert "another claim's rows" in wm("verify", "second/claim.json", *files).refusal()
    lines = Path("answers.csv").read_text().splitlines(keepends=True)
    Path("answers.csv").write_text("".join(lines[:-1]))
    assert "152 rows were asked, but 151 are answered" in wm("verify", model.claim, *files).refusal()
    ran = wm("verify", model.claim, "--model", model.forest, "--order", "order.json")
    assert (ran.code, ran.out) == (2, "")
    ran = wm("verify", model.claim, "--model", model.forest, "--decoys", model.decoys)
    assert (ran.code, ran.out) == (2, "")


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
    ("forest", "word"),
    [
        (_stump(n_features=30, classes=[1, 2], n_trees=24), "classes"),
        (_stump(n_features=30, classes=[0, 1, 2], n_trees=24), "classes"),
        (_stump(n_features=30, classes=["0", "1"], n_trees=24), "classes"),
        (_stump(n_features=30, classes=[0, 1], n_trees=23), "24 bits"),
        (_stump(n_features=29, classes=[0, 1], n_trees=24), "29"),
    ],
    ids=["classes 1 2", "three classes", "classes of text", "a tree fewer", "a feature fewer"],
)
def test_a_model_that_the_claim_cannot_be_about_is_refused(wm, model, forest: Forest, word: str) -> None:
    forest.save(Path("suspect.npz"))
    assert word in wm("verify", model.claim, "--model", "suspect.npz").refusal()


def test_a_model_with_constant_answers_proves_nothing(wm, model) -> None:
    _stump(n_features=30, classes=[0, 1], n_trees=24).save(Path("suspect.npz"))
    ran = wm("verify", model.claim, "--model", "suspect.npz", "--json")
    assert ran.code == 1
    assert ran.json()["p_value"] == pytest.approx(1)
