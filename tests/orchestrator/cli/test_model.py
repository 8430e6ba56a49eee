"""`wm embed`, `wm queries`, `wm verify`: the owner's way and the judge's."""

from __future__ import annotations

import csv
import hashlib
import json
import stat
from collections.abc import Callable
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


def _one_line(ran) -> str:
    """Return the only line of a refusal."""
    assert (ran.code, ran.out) == (2, "")
    (line,) = ran.err.splitlines()
    assert line.startswith("wm: ")
    return line


def test_embed_prints_facts_of_the_files_it_wrote(model) -> None:
    facts = model.embedded.json()
    assert facts["forest"] == str(model.forest)
    assert facts["claim"] == str(model.claim)
    claim = _claim(model.claim.parent)
    assert facts["commitment"] == claim["commitment"]
    assert facts["trigger_size"] == len(claim["trigger_set"]["labels"]) == 7
    assert facts["matched_bits"] == facts["total_bits"] == 7 * 24
    assert facts["log10_p"] < -6
    assert 0.8 < facts["accuracy_watermarked"] <= 1
    assert 0.8 < facts["accuracy_standard"] <= 1
    assert claim["model_hash"] == Forest.load(model.forest).content_hash
    assert "round 1: " in model.embedded.err


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
    assert (facts["verdict"], facts["exact_match"]) == ("verified", "yes")


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
        assert "level" in _one_line(wm("verify", model.claim, "--model", model.forest, "--level", level))


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
    assert X.tolist() == np.float32(_claim(model.claim.parent)["trigger_set"]["rows"]).tolist()
    write(Path(name), Forest.load(getattr(model, suspect)).votes(X))
    by_votes = wm("verify", model.claim, "--votes", name, "--json")
    assert by_votes == wm("verify", model.claim, "--model", getattr(model, suspect), "--json")
    assert by_votes.code == (0 if suspect == "forest" else 1)


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
    _one_line(wm("verify", model.claim, "--votes", "votes.npz"))
    if bad.ndim == 2 and bad.dtype.kind == "f":
        _write_csv(Path("votes.csv"), bad)
        _one_line(wm("verify", model.claim, "--votes", "votes.csv"))


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
    _one_line(wm("verify", model.claim, "--votes", "votes.csv"))


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
    claim = _claim(model.claim.parent)
    edit(claim)
    Path("edited.json").write_text(json.dumps(claim))
    assert _one_line(wm("verify", "edited.json", "--model", model.forest)).startswith("wm: edited.json: ")
    _one_line(wm("queries", "edited.json", "-o", "rows.csv"))
    assert not Path("rows.csv").exists()


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
    assert word in _one_line(wm("verify", model.claim, "--model", "suspect.npz"))


def test_a_model_that_always_says_the_same_proves_nothing(wm, model) -> None:
    _stump(n_features=30, classes=[0, 1], n_trees=24).save(Path("suspect.npz"))
    ran = wm("verify", model.claim, "--model", "suspect.npz", "--json")
    assert ran.code == 1
    assert ran.json()["p_value"] == pytest.approx(1)


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
    again, first = _claim(Path("again")), _claim(model.claim.parent)
    assert again["signature"] == first["signature"]
    assert again["trigger_set"] == first["trigger_set"]
    assert again["nonce"] != first["nonce"], "a nonce is drawn anew"
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
    monkeypatch.setattr("wm.training.honest_forest", train)
    output = () if option == "--output" else ("-o", "model")
    ran = wm(*quick_embed, *output, option, value)
    assert (ran.code, ran.out) == (2, "")
    assert "Traceback" not in ran.err
    assert not Path("model").exists()


def test_a_watermark_that_does_not_fit_says_how_far_it_came(wm, quick_embed) -> None:
    ran = wm(*quick_embed, "--seed", 3, "-o", "model", "--max-rounds", 1, "--weight-step", "0.001")
    assert (ran.code, ran.out) == (2, "")
    assert "miss" in ran.err.splitlines()[-1]
    assert list(Path("model").iterdir()) == [], "never a silent half watermark"


@pytest.mark.parametrize("name", ["rows.txt", "rows", "no/such/rows.csv", "directory.npz", "/proc/rows.csv"])
def test_queries_go_nowhere_else(wm, model, name: str) -> None:
    Path("directory.npz").mkdir()
    ran = wm("queries", model.claim, "-o", name)
    assert (ran.code, ran.out) == (2, "")
    assert name in ran.err


def test_queries_on_a_full_disk(wm, model, tmp_path: Path) -> None:
    (tmp_path / "rows.npz").symlink_to("/dev/full")
    assert wm("queries", model.claim, "-o", "rows.npz").code == 4
