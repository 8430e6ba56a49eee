"""Scheme boosted from the command line: commit, train, ask, judge; and where it is refused."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import brier_score_loss, roc_auc_score

from tests import witness
from wm.claims.keys import new_key, to_pem
from wm.claims.reading import read_whole_claim
from wm.formats.reading import read_model

SETTINGS = ("--scheme", "boosted", "--trees", 30, "--trigger-rows", 12)


@pytest.fixture
def rows(tmp_path, monkeypatch) -> None:
    """The owner's rows, in the current folder."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4)).astype(np.float32)
    with Path("rows.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["a", "b", "c", "d", "risk"])
        risky = X[:, 0] + X[:, 1] > 0
        writer.writerows(
            [*row, "yes" if label else "no"] for row, label in zip(X.tolist(), risky.tolist(), strict=True)
        )


def _mistake(ran) -> str:
    """Return the message of a user's mistake."""
    assert (ran.code, ran.out) == (2, "")
    return ran.err.splitlines()[-1]


@pytest.mark.usefixtures("rows")
def test_a_boosted_model_is_committed_trained_and_verified(wm):
    Path("owner.key").write_bytes(to_pem(new_key()))
    Path("trust.json").write_text(witness.TRUST.to_json())
    files = ("--key", "owner.key", "-o", "claim.json", "--commitment", "commitment.json")
    assert wm("claim", "new", "--path", "rows.csv", "--label", "risk", *SETTINGS, *files).code == 0
    Path("receipt.json").write_text(witness.witness(read_whole_claim("claim.json")).to_json())
    made = wm("embed", "--claim", "claim.json", "--receipt", "receipt.json", "-o", "model", "--json")
    assert made.code == 0, made.err
    facts = json.loads(made.out)
    assert facts["model"] == "model/model.json"
    assert facts["total_bits"] == 12 * 30
    assert not Path("model/forest.npz").exists()
    judge = ("verify", "model/claim.json", "--trust", "trust.json", "--suspect-since", "2025-06-30")
    judged = wm(*judge, "--model", "model/model.json", "--json")
    assert judged.code == 0, judged.err
    found = json.loads(judged.out)
    assert found["verdict"] == "verified"
    assert {"bits", "rows by sums"} <= {each["name"] for each in found["tests"]}
    # Probabilities of the model, as a server would give them.
    assert wm("queries", "model/claim.json", "-o", "asked.csv", "--order", "order.json").code == 0
    # Its header is not read as a row, though the classes are numbers.
    ask = ("predict", "model/model.json", "asked.csv", "--answer", "probabilities")
    assert wm(*ask, "-o", "answers.csv").code == 0
    by_file = wm(*judge, "--probabilities", "answers.csv", "--order", "order.json", "--json")
    names = {each["name"] for each in json.loads(by_file.out)["tests"]}
    assert names == {"rows by probabilities", "rows by rank", "rows by sums"}
    # As pandas writes a frame of probabilities: its numbered columns are no row either.
    _, *lines = Path("answers.csv").read_text().splitlines(keepends=True)
    Path("frame.csv").write_text("".join(["0,1\n", *lines]))
    by_frame = wm(*judge, "--probabilities", "frame.csv", "--order", "order.json", "--json")
    assert json.loads(by_frame.out)["tests"] == json.loads(by_file.out)["tests"]
    assert "frame.csv: has a line more than rows were asked: the first, 0,1, is its header" in by_frame.err
    Path("frame.csv").write_text("".join(["0,1\n", *lines[:-3]]))
    assert "if its first line, 0,1, is a header" in _mistake(
        wm(*judge, "--probabilities", "frame.csv", "--order", "order.json")
    )
    assert wm("audit", "model/model.json").code == 0
    assert "exists" in _mistake(
        wm("embed", "--path", "rows.csv", "--label", "risk", *SETTINGS, "-o", "model")
    )


@pytest.mark.usefixtures("rows")
def test_embed_says_what_the_watermark_of_a_boosted_model_costs(wm):
    held_out = ("--held-out", "rows.npz", "--seed", 1, "-o", "model")
    made = wm("embed", "--path", "rows.csv", "--label", "risk", *SETTINGS, *held_out, "--json")
    assert made.code == 0, made.err
    facts = made.json()
    with np.load("rows.npz") as rows:
        X, y = rows["X"], (rows["y"] == "yes").astype(int)
    shares = read_model("model/model.json").predict_proba(X)
    assert facts["auc_watermarked"] == pytest.approx(roc_auc_score(y, shares[:, 1]))
    assert facts["brier_watermarked"] == pytest.approx(brier_score_loss(y, shares[:, 1]))
    recalls = [facts["recall_0_watermarked"], facts["recall_1_watermarked"]]
    assert facts["balanced_accuracy_watermarked"] == pytest.approx(np.mean(recalls))
    assert {name.replace("watermarked", "standard") for name in facts} <= facts.keys()


@pytest.mark.usefixtures("rows")
def test_a_watermark_that_hurts_a_boosted_model_is_said(wm):
    given = ("--scheme", "boosted", "--trees", 30, "--trigger-rows", 60, "--seed", 1, "-o", "model")
    made = wm("embed", "--path", "rows.csv", "--label", "risk", *given, "--json")
    assert made.code == 0, made.err
    assert made.json()["warnings"]
    for each in made.json()["warnings"]:
        assert f"Warning: the watermark hurts: {each}. Fewer trigger rows would help." in made.err


@pytest.mark.usefixtures("rows")
def test_a_boosted_model_of_three_classes_is_released_asked_and_judged(wm):
    with Path("rows.csv").open() as file:
        header, *cells = list(csv.reader(file))
    grades = [["low", "middle", "high"][(float(row[0]) > 0) + (float(row[1]) > 0.5)] for row in cells]
    with Path("grades.csv").open("w", newline="") as file:
        graded = ([*row[:4], grade] for row, grade in zip(cells, grades, strict=True))
        csv.writer(file).writerows([header, *graded])
    made = wm("embed", "--path", "grades.csv", "--label", "risk", *SETTINGS, "-o", "model", "--json")
    assert made.code == 0, made.err
    facts = json.loads(made.out)
    assert facts["total_bits"] == 12 * 3 * 30
    assert facts["accuracy_watermarked"] > facts["accuracy_standard"] - 0.1 > 0.7
    assert 0.7 < facts["recall_2_watermarked"] <= 1
    judged = wm("verify", "model/claim.json", "--model", "model/model.json", "--json")
    assert judged.code == 5, judged.err
    assert json.loads(judged.out)["log10_p"] < -100
    assert wm("queries", "model/claim.json", "-o", "asked.csv", "--order", "order.json").code == 0
    ask = ("predict", "model/model.json", "asked.csv", "--answer", "probabilities")
    assert wm(*ask, "-o", "answers.csv").code == 0
    given = ("--probabilities", "answers.csv", "--order", "order.json")
    found = json.loads(wm("verify", "model/claim.json", *given, "--json").out)
    names = {each["name"] for each in found["tests"]}
    assert names == {"rows by probabilities", "rows by rank", "rows by sums"}


@pytest.mark.usefixtures("rows")
def test_options_of_other_schemes_and_impossible_ones_are_refused(wm):
    given = ("embed", "--path", "rows.csv", "--label", "risk", "-o", "model", *SETTINGS)
    assert "--adjust has no meaning for scheme boosted" in _mistake(wm(*given, "--adjust", "paper"))
    assert "--training has no meaning for scheme boosted" in _mistake(wm(*given, "--training", "paper"))
    assert "even number of trees" in _mistake(wm(*given, "--trees", 31))
    of_forest = ("embed", "--path", "rows.csv", "--label", "risk", "-o", "model")
    assert "--fit-share has no meaning for scheme paper" in _mistake(wm(*of_forest, "--fit-share", 0.9))


CAMPAIGN = """\
name = "c"
seed = 1
[dataset]
path = "rows.csv"
label = "risk"
[forest]
n_estimators = {trees}
[embedding]
scheme = ["paper", "boosted"]
trigger_share = 0.05
[embedding.boosted]
max_depth = 2
"""


@pytest.mark.usefixtures("rows")
def test_a_campaign_runs_boosted_models_beside_forests(wm):
    attacks = (
        '[[attack]]\nkind = "leakage"\n[[attack]]\nkind = "modification"\nstrengths = [0.5]\n'
        'modifications = ["shorten", "refit", "noise"]\nonly = {{ scheme = ["boosted"] }}\n'
    )
    Path("c.toml").write_text((CAMPAIGN + attacks).format(trees=12))
    ran = wm("campaign", "run", "c.toml", "--workers", 1)
    assert ran.code == 0, ran.err
    paper, boosted = json.loads(wm("results", "accuracy", "c", "--json").out)
    assert (boosted["scheme"], boosted["n_estimators"], boosted["max_depth"]) == ("boosted", 12, 2)
    assert boosted["cap_depth"] is None
    assert boosted["total_bits"] == 12 * boosted["trigger_size"]
    assert boosted["log10_p"] < -6 < -3 < boosted["log10_p_standard"]
    assert boosted["nodes"] < paper["nodes"]
    assert boosted["accuracy_standard"] != paper["accuracy_standard"]
    rows = json.loads(wm("results", "modification", "c", "--json").out)
    assert [(row["modification"], row["n_trees"]) for row in rows] == [
        ("shorten", 6),
        ("refit", 12),
        ("noise", 12),
    ]
    board = json.loads(wm("results", "schemes", "c", "--json").out)
    assert {row["attack"] for row in board if row["scheme"] == "boosted"} == {
        "none",
        "modification: shorten",
        "modification: refit",
        "modification: noise",
    }
    assert wm("report", "c", "-o", "report.html").code == 0


@pytest.mark.usefixtures("rows")
def test_a_campaign_refuses_attacks_that_need_votes_by_name_before_anything_runs(wm):
    attacks = (
        '[[attack]]\nkind = "suppression"\n'
        '[[attack]]\nkind = "modification"\nmodifications = ["drop", "regrow"]\n'
        '[[attack]]\nkind = "modification"\nmodifications = "refit"\nonly = {{ scheme = ["paper"] }}\n'
        '[[attack]]\nkind = "detection"\nonly = {{ scheme = ["paper"] }}\n'
    )
    Path("c.toml").write_text((CAMPAIGN + attacks).format(trees=13))
    ran = wm("campaign", "validate", "c.toml")
    assert ran.code == 2
    for part in (
        "forest: scheme boosted needs an even number of rounds",
        "attack.0: attack suppression is not for models of scheme boosted: it is made for trees that vote",
        "attack.1: attack modification is not for models of scheme boosted: regrow cannot change",
        "attack.2: attack modification is not for models of scheme paper: refit cannot change",
    ):
        assert part in ran.err
    assert "attack.3" not in ran.err
    Path("c.toml").write_text(
        CAMPAIGN.format(trees=12).replace("trigger_share", "ones_share = 0.25\ntrigger_share")
    )
    assert "ones_share of scheme boosted is 0.5" in wm("campaign", "validate", "c.toml").err
    Path("c.toml").write_text(CAMPAIGN.format(trees=12).replace('["paper", "boosted"]', '"paper"'))
    assert "boosted has no meaning without scheme boosted" in wm("campaign", "validate", "c.toml").err
