"""Scheme lineup from the command line: commit, train, ask, judge."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier

from tests import lineups, witness
from tests.suspects import Suspect
from wm.claims.keys import new_key, to_pem
from wm.claims.reading import read_whole_claim
from wm.forest import Forest
from wm.formats.reading import read_model
from wm.verification.answer_files import read_rows
from wm.verification.lineup.judgement import UNKNOWN_ROWS

SETTINGS = ("--scheme", "lineup", "--trees", 10, "--max-depth", 5)
FEW = ("--mixups", 100, "--boundary", 100, "--leaning", 50)
LATER = ("--suspect-since", "2025-06-30")


def _write_rows(path: Path, seed: int = 0, count: int = 200) -> None:
    X, y = lineups.rows_of(seed, count)
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([*(f"x{number}" for number in range(6)), "risk"])
        labels = np.where(y == 1, "yes", "no")
        writer.writerows([*row, label] for row, label in zip(X.tolist(), labels.tolist(), strict=True))


def _commit(wm, *more: object) -> None:
    Path("owner.key").write_bytes(to_pem(new_key()))
    Path("trust.json").write_text(witness.TRUST.to_json())
    files = ("--key", "owner.key", "-o", "claim.json", "--commitment", "commitment.json")
    ran = wm("claim", "new", "--path", "rows.csv", "--label", "risk", *SETTINGS, *files, *more)
    assert ran.code == 0, ran.err
    Path("receipt.json").write_text(witness.witness(read_whole_claim("claim.json")).to_json())


@pytest.fixture
def owned(wm, tmp_path, monkeypatch) -> None:
    """A claim, its forest, and the judge's trust in the current folder."""
    monkeypatch.chdir(tmp_path)
    _write_rows(Path("rows.csv"))
    _commit(wm)
    made = wm("embed", "--claim", "claim.json", "--receipt", "receipt.json", "-o", "model")
    assert made.code == 0, made.err


def _mistake(ran) -> str:
    """Return the message of a user's mistake."""
    assert (ran.code, ran.out) == (2, "")
    return ran.err.splitlines()[-1]


VERIFY = ("verify", "model/claim.json", "--trust", "trust.json", *LATER)


def test_from_a_commitment_to_a_verdict(wm, owned) -> None:
    shown = wm("claim", "show", "claim.json", "--json").json()
    assert (shown["scheme"], shown["mode"], shown["trees"]) == ("lineup", "retrained", 10)
    found = wm(*VERIFY, "--model", "model/forest.npz", *FEW, "--json")
    assert found.code == 0, found.err
    facts = found.json()
    assert (facts["verdict"], facts["log10_p"] < -10) == ("verified", True)
    assert [each["name"] for each in facts["tests"]] == [
        "line-up in order",
        "line-up out of order",
        "line-up by shares",
    ]
    assert wm("verify", "model/claim.json", "--model", "model/forest.npz", *FEW).code == 5
    honest = wm("embed", "--path", "rows.csv", "--label", "risk", *SETTINGS, "-o", "other")
    assert honest.code == 0, honest.err
    assert wm(*VERIFY, "--model", "other/forest.npz", *FEW).code == 1


def test_answers_in_files_are_judged_with_their_order(wm, owned) -> None:
    ran = wm("queries", "model/claim.json", "-o", "rows.npz", "--order", "order.json", *FEW)
    assert ran.code == 0, ran.err
    forest, X = Forest.load("model/forest.npz"), read_rows("rows.npz")
    np.savetxt("p.csv", forest.vote_shares(X)[:, 1], fmt="%.2f")
    np.savetxt("labels.csv", forest.predict(X), fmt="%d")
    judge = (*VERIFY, "--order", "order.json")
    assert wm(*judge, "--probabilities", "p.csv").code == 0
    by_labels = wm(*judge, "--labels", "labels.csv", "--json").json()
    assert by_labels["log10_p"] < -0.5
    assert "repeated" not in by_labels["reason"]
    assert "--order" in _mistake(wm(*VERIFY, "--labels", "labels.csv"))


def test_test_rows_are_asked_only_if_the_claimant_cannot_have_chosen_them(wm, owned) -> None:
    """Rows on which the trees of two models share rare errors make any model look like a copy."""
    words = (*VERIFY, "--model", "model/forest.npz", *FEW)
    assert "--own-rows" in _mistake(wm(*words, "--natural", 50))
    kept, more = (wm(*words, *others, "--json") for others in ((), ("--natural", 50, "--own-rows")))
    assert (kept.code, more.code) == (0, 0)
    assert [", 250 queries" in str(ran.json()["notes"]) for ran in (kept, more)] == [True, False]
    asked = ("queries", "model/claim.json", "-o", "rows.npz", "--order", "order.json", *FEW, "--own-rows")
    assert wm(*asked).code == 0
    np.savetxt("p.csv", Forest.load("model/forest.npz").vote_shares(read_rows("rows.npz"))[:, 1], fmt="%.2f")
    judge = (*VERIFY, "--order", "order.json", "--probabilities", "p.csv")
    assert (wm(*judge).code, wm(*judge, "--own-rows").code) == (5, 0)


def test_a_verdict_can_be_repeated_by_the_judges_seed(wm, owned) -> None:
    words = (*VERIFY, "--model", "model/forest.npz", *FEW, "--judge-seed", "case 17", "--candidates", 5)
    first, second = wm(*words, "--verbose"), wm(*words, "--verbose")
    assert first.out == second.out
    assert "judge's seed 'case 17'" in first.out
    assert "5 retrained candidates for each of 10 positions" in first.out


def test_the_data_may_have_moved_and_must_be_the_same(wm, owned) -> None:
    Path("rows.csv").rename("elsewhere.csv")
    words = (*VERIFY, "--model", "model/forest.npz", *FEW)
    assert "rows.csv" in wm(*words).refusal()
    assert wm(*words, "--rows", "elsewhere.csv").code == 0
    _write_rows(Path("changed.csv"), seed=1)
    assert (
        "are not those that the claim's forest was trained on"
        in wm(*words, "--rows", "changed.csv").refusal()
    )


def test_a_claims_words_cannot_rule_the_terminal(wm, owned) -> None:
    claim = json.loads(Path("model/claim.json").read_text())
    claim["source"]["path"] = "/nowhere/\x1b[2J\x1b[1;1Hverified.csv"
    Path("model/claim.json").write_text(json.dumps(claim))
    ran = wm(*VERIFY, "--model", "model/forest.npz", *FEW)
    assert ran.code == 2
    assert "\x1b" not in ran.err
    assert "\\x1b[2J" in ran.err


def test_committed_candidates(wm, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    _write_rows(Path("rows.csv"))
    _commit(wm, "--committed", "candidates.npz", "--candidates", 8)
    words = ("embed", "--claim", "claim.json", "--receipt", "receipt.json", "-o", "model")
    assert "give their file" in wm(*words).refusal()
    made = wm(*words, "--committed", "candidates.npz", "--json")
    assert (made.code, made.json()["mode"]) == (0, "committed")
    judge = (*VERIFY, "--model", "model/forest.npz", *FEW)
    assert "--committed" in _mistake(wm(*judge))
    found = wm(*judge, "--committed", "candidates.npz", "--json")
    assert (found.code, found.json()["verdict"]) == (5, "indication")
    assert UNKNOWN_ROWS in found.json()["open_questions"]
    assert wm(*judge, "--committed", "candidates.npz", "--own-rows").code == 0
    untrusted = wm(
        "verify", "model/claim.json", "--model", "model/forest.npz", *FEW, "--committed", "candidates.npz"
    )
    assert untrusted.code == 5
    assert "cannot be judged" in untrusted.out
    assert "can commit to its trees among others afterwards" in untrusted.out


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (("--trigger-rows", 3), "--trigger-rows has no meaning for scheme lineup"),
        (("--pool", 30), "--pool has no meaning for scheme lineup"),
        (("--training", "paper"), "--training has no meaning for scheme lineup"),
        (("--max-features", "all"), "--max-features 'all' is neither sqrt, log2 nor a share below 1"),
        (("--max-features", "1.0"), "--max-features '1.0' is neither sqrt, log2 nor a share below 1"),
        (("--committed", "rows.csv"), "--committed needs --claim"),
        (("--subsample", 0.5), "subsample is for boosted models: choose boosting"),
        (("--boosting", "--bootstrap"), "bootstrap has no meaning for boosting"),
        (("--boosting", "--fit-share", 0.9), "--fit-share has no meaning for scheme lineup"),
    ],
)
def test_options_of_the_other_scheme_are_refused(wm, tmp_path, monkeypatch, words, named) -> None:
    monkeypatch.chdir(tmp_path)
    _write_rows(Path("rows.csv"))
    ran = wm("embed", "--path", "rows.csv", "--label", "risk", *SETTINGS, "-o", "model", *words)
    assert named in _mistake(ran)


def test_options_of_a_line_up_are_refused_for_other_claims(wm, model) -> None:
    words = ("verify", model.claim, "--model", model.forest)
    assert "--judge-seed is for claims of scheme lineup" in _mistake(wm(*words, "--judge-seed", "x"))
    ran = wm("embed", "--dataset", "breast-cancer", "-o", "m", "--bootstrap")
    assert "--bootstrap has no meaning for scheme paper" in _mistake(ran)


def test_a_leaker_is_traced_among_customers(wm, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    _write_rows(Path("rows.csv"))
    _commit(wm, "--committed", "candidates.npz", "--candidates", 8)
    words = ("embed", "--claim", "claim.json", "--receipt", "receipt.json", "--committed", "candidates.npz")
    for name in ("ann", "bob"):
        made = wm(*words, "--customer", name, "-o", name)
        assert made.code == 0, made.err
    judge = ("trace", "ann/claim.json", "--committed", "candidates.npz", *FEW, "--model")
    customers = ("--customer", "ann", "--customer", "bob", "--customer", "eve")
    found = wm(*judge, "bob/forest.npz", *customers, "--json")
    assert found.code == 0, found.err
    assert [each["customer"] for each in found.json() if each["accused"]] == ["bob"]
    assert wm(*judge, "bob/forest.npz", "--customer", "eve").code == 1


def test_a_seed_that_was_kept_is_an_indication(wm, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    _write_rows(Path("rows.csv"))
    X, y = lineups.rows_of(0)
    for seed in (2_718_281_828, 2_718_281_829):
        model = RandomForestClassifier(30, max_depth=5, random_state=seed).fit(X, y)
        Forest.from_sklearn(model).save(f"{seed}.npz")
    words = ("retro", "--path", "rows.csv", "--label", "risk", "--trees", 30, "--max-depth", 5)
    words = (*words, "--settings-tried", 100, "--candidates", 8, *FEW[:4], "--random-state", 2_718_281_828)
    found = wm(*words, "--model", "2718281828.npz", "--json")
    assert found.code == 5, found.err
    assert (found.json()["verdict"], found.json()["log10_p"] < -8) == ("indication", True)
    other = wm(*words, "--model", "2718281829.npz")
    assert other.code == 1
    assert "seeds to choose from: 4294967296" in other.out
    assert "many people use" in wm(*words[:-1], 42, "--model", "2718281828.npz").refusal()


def test_some_positions_are_opened_to_a_judge(wm, owned) -> None:
    words = ("--key", "owner.key", "--draw", 7, "--challenge", "case 17", "-o", "opening.json")
    ran = wm("open", "model/claim.json", *words, "--json")
    assert (ran.code, ran.json()["opened"]) == (0, 7), ran.err
    assert "--controls" in _mistake(wm("open", "model/claim.json", *words, "--controls", 3))
    judge = ("verify", "opening.json", "--model", "model/forest.npz", "--trust", "trust.json", *LATER, *FEW)
    assert "--challenge" in _mistake(wm(*judge))
    assert wm(*judge, "--challenge", "case 17", "--open", 7).code == 0
    assert wm(*judge, "--challenge", "case 18", "--open", 7).code == 5


def test_a_pipeline_is_given_the_raw_columns_of_a_line_up(wm, tmp_path, monkeypatch) -> None:
    """Between two rows a word is the nearer one's, so that the owner's own export can read it."""
    monkeypatch.chdir(tmp_path)
    X, y = lineups.rows_of(0)
    text = pd.DataFrame(X[:, :4], columns=list("abcd"))
    text["smokes"], text["job"] = (
        np.where(X[:, 4] > 0, "yes", "no"),
        np.array(list("xyz"))[np.arange(200) % 3],
    )
    text.assign(risk=y).to_csv("rows.csv", index=False)
    words = ("--path", "rows.csv", "--label", "risk", "--categorical", "onehot", *SETTINGS, "-o", "model")
    assert wm("embed", *words).code == 0
    assert wm("export", "model/forest.npz", "--to", "sklearn", "-o", "m.skops").code == 0
    trust = ("--trust-type", "numpy.dtype", "--trust-type", "sklearn.tree._tree.Tree")
    found = wm("verify", "model/claim.json", "--model", "m.skops", *trust, *FEW, "--json")
    assert found.json()["verdict"] == "indication", found.err
    assert "10 of 10 positions" in str(found.json()["tests"])
    asked = (
        "queries",
        "model/claim.json",
        "--units",
        "raw",
        *FEW,
        "-o",
        "asked.csv",
        "--order",
        "order.json",
    )
    assert wm(*asked).code == 0
    assert set(pd.read_csv("asked.csv")["smokes"]) == {"yes", "no"}
    assert wm("predict", "m.skops", "asked.csv", *trust, "-o", "labels.csv").code == 0


def test_a_forest_that_comes_out_otherwise_is_noted(wm, owned) -> None:
    words = ("--model", "model/forest.npz", *FEW, "--candidates", 3, "--verbose")
    assert "on another platform" not in wm(*VERIFY, *words).out
    claim = read_whole_claim("model/claim.json")
    Path("other.json").write_text(claim.model_copy(update={"released": "00" * 32}).to_json())
    found = wm("verify", "other.json", "--trust", "trust.json", *LATER, *words)
    assert "on another platform equal seeds may give other trees" in found.out


@pytest.fixture
def boosted(wm, tmp_path, monkeypatch) -> None:
    """The claim of a boosted line-up, its model, and the judge's trust in the current folder."""
    monkeypatch.chdir(tmp_path)
    _write_rows(Path("rows.csv"))
    _commit(wm, "--boosting", "--learning-rate", 0.2)
    made = wm("embed", "--claim", "claim.json", "--receipt", "receipt.json", "-o", "model", "--json")
    assert made.code == 0, made.err
    assert made.json()["model"] == str(Path("model/model.json"))
    figures = ("accuracy", "balanced_accuracy", "recall_0", "recall_1", "auc", "brier")
    assert all(0 < made.json()[name] <= 1 for name in figures)


def test_a_boosted_model_from_a_commitment_to_a_verdict(wm, boosted) -> None:
    assert not Path("model/forest.npz").exists()
    training = wm("claim", "show", "claim.json", "--json").json()["training"]
    assert (training["max_depth"], training["learning_rate"], training["subsample"]) == (5, 0.2, 0.5)
    found = wm(*VERIFY, "--model", "model/model.json", *FEW, "--json")
    assert found.code == 0, found.err
    assert [each["name"] for each in found.json()["tests"]] == [
        "line-up in order",
        "line-up out of order",
        "line-up by all trees",
        "line-up by probabilities",
    ]
    assert not any("another platform" in note for note in found.json()["notes"])
    other = wm("embed", "--path", "rows.csv", "--label", "risk", *SETTINGS, "--boosting", "-o", "other")
    assert other.code == 0, other.err
    assert wm(*VERIFY, "--model", "other/model.json", *FEW).code == 1


def test_probabilities_of_a_boosted_model_are_judged_with_their_order(wm, boosted) -> None:
    ran = wm("queries", "model/claim.json", "-o", "rows.npz", "--order", "order.json", *FEW)
    assert ran.code == 0, ran.err
    model = read_model("model/model.json")
    np.savetxt("p.csv", model.predict_proba(read_rows("rows.npz"))[:, 1], fmt="%.4f")
    judge = (*VERIFY, "--order", "order.json", "--probabilities", "p.csv", "--candidates", 40)
    assert wm(*judge, "--json").json()["log10_p"] < -4


def test_what_a_boosted_line_up_cannot_do_is_refused(wm, boosted) -> None:
    words = ("embed", "--claim", "claim.json", "--receipt", "receipt.json", "-o", "again")
    assert "--committed and --customer are for forests" in _mistake(wm(*words, "--customer", "ann"))
    opening = ("open", "model/claim.json", "--key", "owner.key", "--draw", 3, "--challenge", "x", "-o", "o")
    assert "is judged by its whole claim" in wm(*opening).refusal()
    judge = (*VERIFY, "--model", "model/model.json", *FEW)
    assert "--committed" in _mistake(wm(*judge, "--committed", "rows.csv"))
    ran = wm(
        "claim",
        "new",
        "--path",
        "rows.csv",
        "--label",
        "risk",
        "--scheme",
        "boosted",
        "--key",
        "owner.key",
        "-o",
        "c",
        "--commitment",
        "d",
        "--learning-rate",
        0.2,
    )
    assert "--learning-rate has no meaning for scheme boosted" in _mistake(ran)


CAMPAIGN = """\
name = "both"
seed = 3

[dataset]
path = "rows.csv"
label = "risk"

[forest]
n_estimators = 12
max_depth = 5

[embedding]
scheme = ["paper", "lineup"]
trigger_share = 0.03
candidates = 8

[[attack]]
kind = "modification"
modifications = ["shuffle", "collapse"]
strengths = [1.0]

[[attack]]
kind = "leakage"
"""


@pytest.mark.system
def test_a_campaign_puts_both_schemes_through_the_same_attacks(wm, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    _write_rows(Path("rows.csv"), count=300)
    Path("both.toml").write_text(CAMPAIGN)
    store = ("--store", "sqlite:///wm.db")
    ran = wm("campaign", "run", "both.toml", *store, "--workers", 1)
    assert ran.code == 0, ran.err
    rows = {
        (row["scheme"], row["modification"]): row
        for row in wm("results", "modification", "both", *store, "--json").json()
    }
    assert set(rows) == {(scheme, name) for scheme in ("paper", "lineup") for name in ("shuffle", "collapse")}
    assert rows["lineup", "shuffle"]["p_null"] == "lineup"
    assert rows["lineup", "shuffle"]["log10_p"] < -8 < rows["paper", "shuffle"]["log10_p"]
    report = wm("report", "both", *store, "-o", "both.md")
    assert report.code == 0, report.err
    assert "lineup" in Path("both.md").read_text()


@pytest.mark.parametrize("kind", ["votes", "probabilities", "labels"])
def test_a_suspect_at_an_address(wm, owned, monkeypatch, kind) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    forest = Forest.load("model/forest.npz")
    answer = {
        "votes": forest.votes,
        "probabilities": lambda rows: forest.vote_shares(rows)[:, 1],
        "labels": forest.predict,
    }[kind]
    with Suspect(lambda rows: {kind: answer(rows).tolist()}) as suspect:
        found = wm(*VERIFY, "--url", suspect.url, "--format", "v1", *FEW, "--json")
    assert found.code in (0, 1), found.err
    facts = found.json()
    assert facts["log10_p"] < {"votes": -6, "probabilities": -6, "labels": -0.5}[kind], "secrets are random"
    assert f"asked in format v1, answered by {kind}" in facts["notes"]
    assert "asked 255 rows" in facts["suspect"]  # 250, 5 of them twice
