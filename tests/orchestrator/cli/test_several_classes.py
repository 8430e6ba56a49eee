"""Several classes, from rows to a verdict: one forest, one claim, every command on the result."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_wine

from wm.formats.reading import read_model


@pytest.fixture
def wines(wm) -> Path:
    """A model of wine's three classes by name, with its claim and held-out rows."""
    rows, codes = load_wine(return_X_y=True)
    names = np.array(["barbera", "barolo", "grignolino"])[codes]
    lines = [",".join([*map(str, row), name]) for row, name in zip(rows.tolist(), names, strict=True)]
    Path("wine.csv").write_text(
        "\n".join([",".join([f"x{place}" for place in range(13)] + ["kind"]), *lines]) + "\n"
    )
    options = (
        "--trees",
        24,
        "--trigger-rows",
        6,
        "--seed",
        3,
        "-o",
        "mine",
        "--json",
    )
    ran = wm("embed", "--path", "wine.csv", "--label", "kind", *options)
    assert ran.code == 0, ran.err
    assert "3 classes, 'barbera', 'barolo', 'grignolino': one model for all" in ran.err
    facts = ran.json()
    assert facts["matched_bits"] == facts["total_bits"] == 6 * 24
    assert facts["accuracy_watermarked"] > 0.85
    return Path("mine")


def test_a_model_of_three_classes_is_used_and_judged(wm, wines: Path) -> None:
    forest, claim = wines / "forest.npz", wines / "claim.json"
    assert json.loads(claim.read_text())["header"]["class_names"] == ["barbera", "barolo", "grignolino"]
    assert wm("audit", forest).code == 0
    predicted = wm("predict", forest, "wine.csv").out.split()[1:]
    truth = [line.rpartition(",")[2] for line in Path("wine.csv").read_text().split()[1:]]
    assert np.mean(np.array(predicted) == np.array(truth)) > 0.9
    assert wm("verify", claim, "--model", forest).out.startswith("? indication: ")
    forged = wm("forge", forest, "--rows", "wine.csv", "--label", "kind", "--instances", 6, "--json")
    assert forged.code == 0, forged.err
    other = wm(
        "embed",
        "--dataset",
        "iris",
        "--trees",
        24,
        "--trigger-rows",
        6,
        "--seed",
        4,
        "-o",
        "other",
    )
    assert other.code == 0, other.err
    assert wm("verify", claim, "--model", "other/forest.npz").code == 1


@pytest.mark.parametrize("kind", ["votes", "probabilities", "labels"])
def test_answers_in_files_are_of_all_classes(wm, wines: Path, kind: str) -> None:
    claim = wines / "claim.json"
    assert wm("queries", claim, "--controls", 90, "-o", "ask.csv", "--order", "order.json").code == 0
    answers = wm("predict", wines / "forest.npz", "ask.csv", "--answer", kind).out
    Path("answers.csv").write_text(answers)
    judged = wm("verify", claim, f"--{kind}", "answers.csv", "--order", "order.json", "--json")
    assert judged.code == (1 if kind == "labels" else 5), judged.err
    tests = {test["name"]: test["log10_p"] for test in judged.json()["tests"]}
    assert min(tests.values()) < (-6 if kind != "labels" else -1), tests
    if kind == "votes":
        Path("answers.csv").write_text(answers.replace("2", "3"))
        refused = wm("verify", claim, "--votes", "answers.csv", "--order", "order.json")
        assert refused.code == 2
        assert "is not a vote: 0 to 2" in refused.err


def test_exports_vote_alike_and_are_judged(wm, wines: Path) -> None:
    rows = load_wine().data.astype(np.float32)
    votes = read_model(wines / "forest.npz").forest.vote_codes(rows)
    trusted = ("--trust-type", "sklearn.tree._tree.Tree")
    for target, file, options in (("sklearn", "m.skops", trusted), ("onnx", "m.onnx", ())):
        wrote = wm("export", wines / "forest.npz", "--to", target, "--units", "model", "-o", file)
        assert wrote.code == 0, wrote.err
        names = [each.removeprefix("--trust-type") for each in options if not each.startswith("--")]
        np.testing.assert_array_equal(read_model(file, trusted=names).forest.vote_codes(rows), votes)
        assert wm("verify", wines / "claim.json", "--model", file, *options).code == 5
    refused = wm("export", wines / "forest.npz", "--to", "xgboost-json", "-o", "m.json")
    assert refused.code == 2
    assert "margins of two classes, this forest votes for 3" in refused.err


def test_what_needs_two_classes_says_so(wm, wines: Path) -> None:
    options = ("--path", "wine.csv", "--label", "kind")
    refused = wm("embed", *options, "--scheme", "lineup", "-o", "other")
    assert refused.code == 2
    assert "scheme lineup compares models of two classes, these rows have 3" in refused.err
    assert not Path("other/forest.npz").exists()
    one = wm("embed", *options, "--positive", "barolo", "--trigger-rows", 6, "--seed", 3, "-o", "one")
    assert one.code == 0, one.err
    header = json.loads(Path("one/claim.json").read_text())["header"]
    assert header["class_names"] == ["not barolo", "barolo"]
