"""`wm embed`: the owner's way from rows to a released forest and a secret claim."""

from __future__ import annotations

import csv
import hashlib
import json
import re
import stat
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

from wm.claims.reading import read_whole_claim
from wm.forest import Forest


def _claim(folder: Path) -> dict[str, Any]:
    claim: dict[str, Any] = json.loads((folder / "claim.json").read_text())
    return claim


def _mode(file: Path) -> int:
    return stat.S_IMODE(file.stat().st_mode)


def test_embed_prints_facts_of_the_files_it_wrote(model) -> None:
    facts = model.embedded.json()
    assert facts["forest"] == str(model.forest)
    assert facts["claim"] == str(model.claim)
    claim = model.content
    assert facts["commitment"] == claim["commitment"]
    assert facts["trigger_size"] == claim["header"]["trigger_size"] == 7
    assert facts["pool"] == claim["header"]["pool_size"] == 398
    assert facts["matched_bits"] == facts["total_bits"] == 7 * 24
    assert facts["log10_p"] < -6
    assert 0.8 < facts["accuracy_watermarked"] <= 1
    assert 0.8 < facts["accuracy_standard"] <= 1
    for name in ("balanced_accuracy", "recall_0", "recall_1", "auc", "brier"):
        assert 0 <= facts[f"{name}_watermarked"] <= 1
    assert "round 1: " in model.embedded.err


@pytest.mark.parametrize("before", [None, 0o644, 0o400], ids=["new", "readable by all", "read-only"])
def test_only_its_owner_can_read_a_claim(wm, quick_embed, before: int | None) -> None:
    claim = Path("model/claim.json")
    if before is not None:
        claim.parent.mkdir()
        claim.write_text("an older one")
        claim.chmod(before)
    assert wm(*quick_embed, "--seed", 3, "-o", "model", "--force").code == 0
    assert _mode(claim) == 0o600
    assert wm("verify", claim, "--model", "model/forest.npz").code == 5
    assert _mode(Path("model/owner.key")) == 0o600
    assert sorted(file.name for file in claim.parent.iterdir()) == ["claim.json", "forest.npz", "owner.key"]


@pytest.mark.parametrize("name", ["model/claim.json", "model/forest.npz", "model/owner.key", "rows.npz"])
def test_nothing_older_is_lost_by_mistake(wm, quick_embed, name: str) -> None:
    Path("model").mkdir()
    Path(name).write_text("the only proof of a released model")
    words = (*quick_embed, "-o", "model", "--held-out", "rows.npz")
    refusal = wm(*words).refusal()
    assert refusal.startswith(f"wm: {name}: already exists")
    assert Path(name).read_text() == "the only proof of a released model"
    assert wm(*words, "--force").code == 0
    assert Path(name).read_bytes() != b"the only proof of a released model"


def test_an_owners_own_key_is_neither_written_nor_in_the_way(wm, quick_embed, model) -> None:
    Path("model").mkdir()
    key = Path("model/owner.key")
    key.write_bytes(model.key.read_bytes())
    assert wm(*quick_embed, "-o", "model", "--key", key).code == 0
    assert key.read_bytes() == model.key.read_bytes()
    assert _claim(Path("model"))["header"]["owner"] == model.content["header"]["owner"]


def test_a_claim_that_cannot_be_written_leaves_no_trace(wm, quick_embed) -> None:
    Path("model/claim.json").mkdir(parents=True)
    ran = wm(*quick_embed, "--seed", 3, "-o", "model", "--force")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.splitlines()[-1].startswith("wm: model/claim.json: cannot be written")
    assert [file.name for file in Path("model").iterdir()] == ["claim.json"]


def test_a_seed_gives_the_same_model_again_and_none_gives_another(wm, quick_embed, model) -> None:
    ran = wm(*quick_embed, "--seed", 4, "-o", "again")
    assert ran.code == 0
    assert "nobody" not in ran.out
    assert "A rehearsal: whoever guesses the seed 4" in ran.err
    assert "no verdict on it is better than an indication" in ran.err
    assert Path("again/forest.npz").read_bytes() == model.foreign_forest.read_bytes()
    assert Path("again/claim.json").read_bytes() == model.foreign_claim.read_bytes()
    for name in ("one", "two"):
        assert wm(*quick_embed, "-o", name).code == 0
    one, two = (_claim(Path(name)) for name in ("one", "two"))
    for secret in ("salt", "secret", "commitment", "receipts", "rows"):
        assert one[secret] != two[secret]
    assert one["header"]["owner"] != two["header"]["owner"]


@pytest.mark.parametrize(
    "label", ["diagnosis", "2", "-29"], ids=["by name", "by index", "by index from the right"]
)
def test_rows_from_a_csv_with_the_label_anywhere(wm, quick_embed, label: str) -> None:
    X, y = load_breast_cancer(return_X_y=True)
    names = [f"feature_{index}" for index in range(X.shape[1])]
    with Path("rows.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([*names[:2], "diagnosis", *names[2:]])
        for row, code in zip(X.tolist(), y, strict=True):
            writer.writerow([*row[:2], "benign" if code else "malignant", *row[2:]])
    options = ("--positive", "malignant", *quick_embed[3:], "--seed", 3)
    ran = wm("embed", "--path", "rows.csv", "--label", label, *options, "-o", "model", "--json")
    assert ran.code == 0, ran.err
    assert ran.json()["accuracy_watermarked"] > 0.8
    header = _claim(Path("model"))["header"]
    assert header["class_names"] == ["benign", "malignant"]
    assert header["feature_names"] == names
    assert wm("verify", "model/claim.json", "--model", "model/forest.npz").code == 5
    digest = hashlib.sha256(Path("model/forest.npz").read_bytes()).hexdigest()
    assert wm("embed", "--path", "rows.csv", "--label", "diagnosis", *options, "-o", "other").code == 0
    assert hashlib.sha256(Path("other/forest.npz").read_bytes()).hexdigest() == digest


IMPOSSIBLE = [
    ("--trigger-share", "0"),
    ("--trigger-share", "1"),
    ("--trigger-share", "-0.5"),
    ("--trigger-share", "nan"),
    ("--trigger-share", "0.0001"),
    ("--ones-share", "0"),
    ("--ones-share", "1"),
    ("--ones-share", "0.001"),
    ("--ones-share", "0.999"),
    ("--ones-share", "2"),
    ("--ones-share", "-1"),
    ("--ones-share", "nan"),
    ("--test-share", "0"),
    ("--test-share", "1"),
    ("--test-share", "0.9999"),
    ("--test-share", "nan"),
    ("--trees", "1"),
    ("--trees", "1000000000"),
    ("--max-depth", "0"),
    ("--max-rounds", "0"),
    ("--weight-step", "0"),
    ("--weight-step", "-1"),
    ("--weight-step", "inf"),
    ("--weight-step", "1e308"),
    ("--seed", "-1"),
    ("--model-id", ""),
    ("--model-id", "two\nlines"),
    ("--model-id", "\udcff"),
    ("--key", "short-key"),
    ("--key", "/dev/null"),
    ("--trigger-rows", "0"),
    ("--trigger-rows", "398"),
    ("--trigger-rows", "2"),
    ("--pool", "7"),
    ("--pool", "8"),
    ("--pool", "399"),
    ("--level", "0"),
    ("--level", "nan"),
    ("--level", "1e-30"),
    ("--receipt", "short-key"),
    ("--claim", "short-key"),
    ("--label", "diagnosis"),
    ("--positive", "nobody"),
    ("--dataset", "no-such-data"),
    ("--path", "short-key"),
    ("--output", "short-key"),
    ("--output", "short-key/model"),
    ("--output", "/proc/model"),
]


@pytest.mark.parametrize(("option", "value"), IMPOSSIBLE, ids=lambda value: repr(value))
def test_the_impossible_is_refused_before_any_training(
    wm, quick_embed, option: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def train(*_: object, **__: object) -> None:
        raise AssertionError("training began")

    Path("short-key").write_bytes(b"fifteen bytes..")
    monkeypatch.setattr("wm.embedding.claimed.honest_forest", train)
    output = () if option == "--output" else ("-o", "model")
    ran = wm(*quick_embed, *output, option, value)
    assert (ran.code, ran.out) == (2, "")
    assert "Traceback" not in ran.err
    assert not Path("model").exists()


def test_a_watermark_that_does_not_fit_reports_its_progress(wm, quick_embed) -> None:
    ran = wm(*quick_embed, "--seed", 3, "-o", "model", "--max-rounds", 1, "--weight-step", "0.001")
    assert (ran.code, ran.out) == (2, "")
    assert "miss" in ran.err.splitlines()[-1]
    assert list(Path("model").iterdir()) == [], "never a silent half watermark"


def test_held_out_rows_are_in_the_models_scale(wm, quick_embed) -> None:
    ran = wm(*quick_embed, "--seed", 3, "-o", "model", "--held-out", "rows.npz", "--json")
    assert ran.code == 0
    with np.load("rows.npz", allow_pickle=False) as arrays:
        X, y = arrays["X"], arrays["y"]
    assert (X.shape, X.dtype) == ((171, 30), np.float32)
    assert set(y) == {"malignant", "benign"}
    claim = read_whole_claim("model/claim.json")
    codes = (y == claim.header.class_names[1]).astype(int)
    forest = Forest.load("model/forest.npz")
    assert forest.accuracy(X, codes) == ran.json()["accuracy_watermarked"]
    assert not set(map(bytes, X)) & set(map(bytes, claim.X))


@pytest.mark.parametrize(
    ("file", "told"),
    [
        ("none/rows.npz", "none/rows.npz: cannot be written (No such file or directory)"),
        ("rows.csv", "rows.csv: --held-out writes arrays: the ending must be .npz"),
    ],
)
def test_held_out_rows_have_a_place_before_any_training(
    wm, quick_embed, monkeypatch: pytest.MonkeyPatch, file: str, told: str
) -> None:
    def train(*_: object, **__: object) -> None:
        raise AssertionError("training began")

    monkeypatch.setattr("wm.embedding.claimed.honest_forest", train)
    ran = wm(*quick_embed, "--seed", 3, "-o", "model", "--held-out", file)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.splitlines()[-1] == f"wm: {told}"


def test_a_claim_that_can_never_be_verified_is_refused_with_what_would_do(wm, quick_embed) -> None:
    refusal = wm(*quick_embed, "--trigger-rows", 2, "-o", "model").refusal()
    assert "this claim can never be verified: 2 trigger rows in a pool of 398" in refusal
    found = re.search(r"(\d+) trigger rows in a pool of 398 would do", refusal)
    assert found is not None
    assert wm(*quick_embed, "--trigger-rows", found[1], "-o", "model").code == 0
    Path("few.csv").write_text("a,b\n" + "\n".join(f"{row * row},{row % 2}" for row in range(30)))
    few = ("embed", "--path", "few.csv", "--label", "b", *quick_embed[3:])
    assert "too few for any number of trigger rows" in wm(*few, "--trigger-rows", 3, "-o", "few").refusal()


def test_a_watermark_that_hurts_is_said(wm, quick_embed) -> None:
    """Accuracy hides it: with 2% of the rows in one class, nobody needs that class to be accurate."""
    rng = np.random.default_rng(0)
    y = (np.arange(3000) % 50 == 0).astype(int)
    X = np.round(rng.normal(size=(3000, 4)) + 1.5 * y[:, None], 6)
    with Path("fraud.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["a", "b", "c", "d", "fraud"], *np.column_stack([X, y]).tolist()])
    words = ("embed", "--path", "fraud.csv", "--label", "fraud", "--trees", "24", "--max-depth", "6")
    ran = wm(*words, "--trigger-share", 0.02, "--seed", 1, "-o", "model", "--json")
    assert ran.code == 0, ran.err
    facts = ran.json()
    assert facts["accuracy_standard"] - facts["accuracy_watermarked"] < 0.03
    hurt = [
        each
        for each in facts["warnings"]
        if each.startswith(("auc", "balanced accuracy", "recall of class '1'"))
    ]
    assert hurt
    for each in facts["warnings"]:
        assert f"Warning: the watermark hurts: {each}. Fewer trigger rows would help." in ran.err


def test_a_released_model_takes_the_rows_as_they_came(wm) -> None:
    """Nobody who has the model needs to know how its owner scaled."""
    options = (
        "--trees",
        24,
        "--max-depth",
        4,
        "--seed",
        3,
        "--held-out",
        "rows.npz",
        "-o",
        "model",
        "--json",
    )
    ran = wm("embed", "--dataset", "breast-cancer", *options)
    assert ran.code == 0, ran.err
    X, y = load_breast_cancer(return_X_y=True)
    forest = Forest.load("model/forest.npz")
    assert forest.accuracy(X, y) > 0.9
    with np.load("rows.npz") as arrays:
        assert set(map(bytes, arrays["X"])) <= set(map(bytes, X.astype(np.float32)))
    assert wm("verify", "model/claim.json", "--model", "model/forest.npz").out.startswith("? indication")
    assert wm("forge", "model/forest.npz", "--dataset", "breast-cancer", "--instances", 5).code == 0


def test_a_copy_that_takes_scaled_rows_is_judged_too(wm) -> None:
    assert wm("embed", "--dataset", "breast-cancer", "--seed", 3, "--trees", 24, "-o", "model").code == 0
    claim = json.loads(Path("model/claim.json").read_text())
    low, high = np.array(claim["header"]["domain"]).T
    forest = Forest.load("model/forest.npz")
    feature = np.maximum(forest.feature, 0)
    scaled = np.where(forest.is_leaf, 0, (forest.threshold - low[feature]) / (high - low)[feature])
    replace(forest, threshold=scaled).save("scaled.npz")
    ran = wm("verify", "model/claim.json", "--model", "scaled.npz")
    assert ran.out.startswith("? indication")
    assert "note: the suspect takes values scaled to [0, 1]" in ran.out
