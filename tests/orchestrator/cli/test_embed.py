"""`wm embed`: the owner's way from rows to a released forest and a secret claim."""

from __future__ import annotations

import csv
import hashlib
import json
import stat
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

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
    assert facts["trigger_size"] == len(claim["trigger_set"]["labels"]) == 7
    assert facts["matched_bits"] == facts["total_bits"] == 7 * 24
    assert facts["log10_p"] < -6
    assert 0.8 < facts["accuracy_watermarked"] <= 1
    assert 0.8 < facts["accuracy_standard"] <= 1
    assert claim["model_hash"] == Forest.load(model.forest).content_hash
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
    assert wm("verify", claim, "--model", "model/forest.npz").code == 0
    assert sorted(file.name for file in claim.parent.iterdir()) == ["claim.json", "forest.npz"]


def test_an_older_claim_is_not_lost_by_mistake(wm, quick_embed) -> None:
    claim = Path("model/claim.json")
    claim.parent.mkdir()
    claim.write_text("the only proof of a released model")
    ran = wm(*quick_embed, "-o", "model")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("wm: model/claim.json: exists")
    assert claim.read_text() == "the only proof of a released model"


def test_a_claim_that_cannot_be_written_leaves_no_trace(wm, quick_embed) -> None:
    Path("model/claim.json").mkdir(parents=True)
    ran = wm(*quick_embed, "--seed", 3, "-o", "model", "--force")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.splitlines()[-1].startswith("wm: model/claim.json: cannot be written")
    assert [file.name for file in Path("model").iterdir()] == ["claim.json"]


def test_a_seed_gives_the_same_model_again_and_none_gives_another(wm, quick_embed, model) -> None:
    assert wm(*quick_embed, "--seed", 3, "-o", "again").code == 0
    assert Path("again/forest.npz").read_bytes() == model.forest.read_bytes()
    again, first = _claim(Path("again")), model.content
    assert again["signature"] == first["signature"]
    assert again["trigger_set"] == first["trigger_set"]
    assert again["nonce"] != first["nonce"], "each nonce is new"
    for name in ("one", "two"):
        assert wm(*quick_embed, "-o", name).code == 0
    assert _claim(Path("one"))["signature"] != _claim(Path("two"))["signature"]
    assert _claim(Path("one"))["trigger_set"] != _claim(Path("two"))["trigger_set"]


def test_a_key_gives_the_same_signature_with_any_seed(wm, quick_embed) -> None:
    Path("key").write_bytes(bytes(range(16)))
    Path("other-key").write_bytes(bytes(range(1, 17)))

    def signature(seed: int, key: str, model_id: str) -> str:
        arguments = ("--seed", seed, "--key-file", key, "--model-id", model_id, "-o", "model", "--force")
        assert wm(*quick_embed, *arguments).code == 0
        claim = _claim(Path("model"))
        assert claim["model_id"] == model_id
        return str(claim["signature"])

    first = signature(1, "key", "first")
    assert first.count("1") == 12
    assert signature(2, "key", "first") == first
    assert signature(1, "key", "second") != first
    assert signature(1, "other-key", "first") != first


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
    assert _claim(Path("model"))["class_names"] == ["benign", "malignant"]
    assert len(_claim(Path("model"))["trigger_set"]["rows"][0]) == 30
    assert wm("verify", "model/claim.json", "--model", "model/forest.npz").code == 0
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
    ("--key-file", "short-key"),
    ("--key-file", "/dev/null"),
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
    monkeypatch.setattr("wm.api.honest_forest", train)
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


def test_held_out_rows_are_decoys_in_the_models_scale(wm, quick_embed) -> None:
    ran = wm(*quick_embed, "--seed", 3, "-o", "model", "--held-out", "rows.npz", "--json")
    assert ran.code == 0
    with np.load("rows.npz", allow_pickle=False) as arrays:
        X, y = arrays["X"], arrays["y"]
    assert (X.shape, X.dtype) == ((171, 30), np.float32)
    assert set(y) == {"malignant", "benign"}
    codes = (y == _claim(Path("model"))["class_names"][1]).astype(int)
    forest = Forest.load("model/forest.npz")
    assert forest.accuracy(X, codes) == ran.json()["accuracy_watermarked"]
    assert not set(map(bytes, X)) & set(map(bytes, np.float32(_claim(Path("model"))["trigger_set"]["rows"])))
