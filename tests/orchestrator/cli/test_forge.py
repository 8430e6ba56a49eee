"""`wm forge`: what it prints, what it writes, and that it is true of the model."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier

from tests.pigeonholes import hopelessly_slow
from wm.forest import Forest
from wm.signature import Signature

START = ("--dataset", "breast-cancer", "--instances", "20")


def test_forged_rows_draw_the_signature_on_the_model(wm, model, tmp_path: Path) -> None:
    file = tmp_path / "forged.npz"
    ran = wm("forge", model.forest, *START, "--signatures", 2, "-o", file, "--json")
    assert (ran.code, ran.err) == (0, "")
    found = ran.json()
    forest = Forest.load(model.forest)
    with np.load(file) as arrays:
        forged = dict(arrays)
    assert len(forged["X"]) == sum(row["forged"] for row in found["signatures"]) > 0
    for row, label, number in zip(forged["X"], forged["y"], forged["signature"], strict=True):
        wrong = forest.votes(row[None])[0] != label
        assert wrong.astype(int).tolist() == forged["signatures"][number].tolist()
    assert [str(Signature.of(bits)) for bits in forged["signatures"]] == [
        row["bits"] for row in found["signatures"]
    ]
    away = np.abs(forged["X"].astype(np.float64) - forged["centre"]).max(axis=1)
    assert (away <= forged["distance"]).all()


def test_minimal_distances_agree_with_one_distance(wm, model) -> None:
    least = wm("forge", model.forest, *START, "--json").json()["instances"]
    for eps in (0.2, 0.6):
        asked = wm("forge", model.forest, *START, "--eps", eps, "--json").json()["instances"]
        assert [row["status"] == "forged" for row in asked] == [
            row["status"] == "forged" and row["distance"] <= eps for row in least
        ]


def test_certified_answers_are_marked(wm, model) -> None:
    rows = wm("forge", model.forest, *START, "--eps", 0.1, "--certify", "--json").json()["instances"]
    impossible = [row["reason"] for row in rows if row["status"] == "impossible"]
    assert impossible
    assert all("certified" in reason and "not certified" not in reason for reason in impossible)


def test_a_limit_that_strikes_sets_the_exit_code(wm) -> None:
    forest = hopelessly_slow()
    forest.save(Path("slow.npz"))
    np.savez("rows.npz", X=np.full((2, forest.n_features), [[0.5], [0.0]]), y=[1, -1])
    bits = "0" * forest.n_trees  # hopeless for the first row
    options = ("--rows", "rows.npz", "--engine", "sat", "--eps", 0.5, "--timeout", 0.5, "--json")
    ran = wm("forge", "slow.npz", *options, "--signature", bits)
    assert ran.code == 3
    (row,) = ran.json()["signatures"]
    assert row["timeout"] > 0
    assert row["forged"] + row["impossible"] + row["timeout"] == row["instances"] == 2


def test_options_of_an_engine_reach_it(wm, model, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = (*START, "--engine", "z3", "--instances", 3, "--eps", 0.1, "--json")
    rows = wm("forge", model.forest, *asked, "--engine-option", "margin=0.01").json()["instances"]
    assert {row["reason"] for row in rows if row["status"] == "impossible"} == {"solver, margin 0.01"}
    monkeypatch.setenv("WM_FORGE_ENGINE_OPTION", "margin=0.01")
    by_variable = wm("forge", model.forest, *asked).json()["instances"]
    assert [row["reason"] for row in by_variable] == [row["reason"] for row in rows]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ("--engine", "z3", "--engine-option", "margins=1"),
            "engine 'z3' has no option 'margins'; its options are: margin (a finite number, at least 0; "
            "default 0.0), rebuild (True or False; default False)",
        ),
        (
            ("--engine", "sat", "--engine-option", "certify=perhaps"),
            "option certify must be True or False, not 'perhaps'; options: certify (True or False; "
            "default False)",
        ),
        (("--engine-option", "certify=1"), "engine 'portfolio' has no option 'certify'; it has none"),
    ],
)
def test_an_unknown_option_of_an_engine_is_one_clear_line(wm, model, options, message) -> None:
    assert wm("forge", model.forest, *START, *options).refusal() == f"wm: {message}"


def test_rows_of_a_file_are_taken_as_they_are(wm, model, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    file = tmp_path / "rows.npz"
    np.savez(file, X=rng.random((8, 30)), y=np.arange(8) % 2)
    ran = wm("forge", model.forest, "--rows", file, "--eps", 0.5)
    assert ran.code == 0
    assert "impossible" in ran.out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "give either --rows or --dataset"),
        ((*START, "--certify"), "needs --eps as a number"),
        ((*START, "--eps", "2"), "'2' is neither a number from 0 to 1 nor the word minimal"),
        ((*START, "--signature", "0101"), "--signature has 4 bits, the model 24 trees"),
        ((*START, "-o", "forged.csv"), "forged.csv: the ending must be .npz"),
        ((*START, "--signature", "01" * 12, "--signatures", 3), "--signatures is for random signatures"),
        ((*START, "--signature", "01" * 12, "--ones-share", 0.2), "--ones-share is for random signatures"),
        ((*START, "--engine", "magic"), "'magic' is not one of"),
        ((*START, "--engine-option", "margin"), "'margin' is not of the form NAME=VALUE"),
    ],
)
def test_mistakes_are_reported(wm, model, arguments: tuple[str, ...], message: str) -> None:
    ran = wm("forge", model.forest, *arguments)
    assert (ran.code, ran.out) == (2, "")
    assert message in ran.err


def test_rows_of_another_width_are_refused(wm, model, tmp_path: Path) -> None:
    file = tmp_path / "rows.npz"
    np.savez(file, X=np.eye(4), y=np.arange(4) % 2)
    ran = wm("forge", model.forest, "--rows", file)
    assert (ran.code, ran.err) == (2, "wm: the instances have 4 features, the model 30\n")


def _read(file: Path) -> dict[str, np.ndarray]:
    with np.load(file) as arrays:
        return dict(arrays)


def _raw_model(tmp_path: Path, classes: list[str]) -> tuple[Path, Path]:
    """Write a forest trained on unscaled rows with classes of such names, and its rows."""
    X, y = load_breast_cancer(return_X_y=True)
    labels = np.array(classes)[y]
    model = RandomForestClassifier(12, max_depth=3, random_state=0).fit(X, labels)
    Forest.from_sklearn(model).save(tmp_path / "raw.npz")
    np.savez(tmp_path / "rows.npz", X=X, y=labels)
    return tmp_path / "raw.npz", tmp_path / "rows.npz"


@pytest.mark.parametrize("classes", [["a", "b"], ["b", "a"], ["0", "1"]], ids=["named", "mirrored", "codes"])
def test_a_model_of_raw_rows_is_forged_in_their_domain(wm, tmp_path: Path, classes: list[str]) -> None:
    model, rows = _raw_model(tmp_path, classes)
    file = tmp_path / "forged.npz"
    ran = wm("forge", model, "--rows", rows, "--instances", 12, "--signatures", 3, "-o", file, "--json")
    assert ran.code == 0
    assert ran.err.startswith("The model takes other units than 0 to 1")
    forest, forged = Forest.load(model), _read(file)
    assert len(forged["X"]) == sum(row["forged"] for row in ran.json()["signatures"]) > 0
    for row, label, number in zip(forged["X"], forged["y"], forged["signature"], strict=True):
        wrong = forest.votes(row[None])[0] != label
        assert wrong.astype(int).tolist() == forged["signatures"][number].tolist()
    X = _read(rows)["X"]
    assert (forged["X"] >= np.float32(X.min(axis=0))).all()
    assert (forged["X"] <= np.float32(X.max(axis=0))).all()
    span = np.where(np.ptp(X, axis=0) > 0, np.ptp(X, axis=0), 1)
    away = (np.abs(forged["X"] - forged["centre"]) / span).max(axis=1)
    assert (away <= forged["distance"] + 1e-6).all()


def test_classes_that_are_not_the_models_are_refused(wm, tmp_path: Path) -> None:
    model, rows = _raw_model(tmp_path, ["a", "b"])
    other = tmp_path / "other.npz"
    arrays = _read(rows)
    np.savez(other, X=arrays["X"], y=np.where(arrays["y"] == "a", "no", "yes"))
    assert "the model has classes a, b, the rows no, yes" in wm("forge", model, "--rows", other).refusal()


def test_instances_outside_the_domain_are_refused(wm, tmp_path: Path) -> None:
    model, rows = _raw_model(tmp_path, ["a", "b"])
    arrays = _read(rows)
    np.savez(tmp_path / "few.npz", X=arrays["X"][:20], y=arrays["y"][:20])
    refusal = wm("forge", model, "--rows", rows, "--domain", tmp_path / "few.npz").refusal()
    assert "of 569 instances lie outside the domain" in refusal


def test_a_model_that_is_wrong_on_most_rows_is_a_warning(wm, tmp_path: Path) -> None:
    model, rows = _raw_model(tmp_path, ["0", "1"])
    arrays = _read(rows)
    np.savez(rows, X=arrays["X"], y=1 - arrays["y"].astype(int))
    ran = wm("forge", model, "--rows", rows, "--instances", 5, "--eps", 0.1)
    assert "Warning: the model is right on only 0% of the instances" in ran.err
