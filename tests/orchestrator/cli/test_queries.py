"""`wm queries`: the rows for a suspect that only answers questions."""

from __future__ import annotations

import csv
import json
import stat
from pathlib import Path

import numpy as np
import pytest

from wm.forest import Forest

ORDER = ("--order", "order.json")


@pytest.mark.parametrize("name", ["rows.txt", "rows", "no/such/rows.csv", "directory.npz", "/proc/rows.csv"])
def test_queries_go_nowhere_else(wm, model, name: str) -> None:
    Path("directory.npz").mkdir()
    ran = wm("queries", model.claim, "-o", name, *ORDER)
    assert (ran.code, ran.out) == (2, "")
    assert name in ran.err


def test_a_suspects_rows_are_not_replaced(wm, model) -> None:
    for name in ("rows.csv", "order.json"):
        Path(name).write_text("of another case")
        refusal = wm("queries", model.claim, "-o", "rows.csv", *ORDER).refusal()
        assert f"{name}: exists already: choose another name" in refusal
        assert [file.name for file in Path().iterdir()] == [name]
        Path(name).unlink()


def test_trigger_rows_are_hidden_among_controls(wm, model) -> None:
    words = ("--controls", 21, "--repeats", 4)
    ran = wm("queries", model.claim, *words, "-o", "rows.npz", *ORDER)
    assert (ran.code, ran.out, ran.err) == (0, "32 rows of 30 features: rows.npz\n", "")
    for name in ("rows.npz", "order.json"):
        assert stat.S_IMODE(Path(name).stat().st_mode) == 0o600
    order = json.loads(Path("order.json").read_text())
    assert order["commitment"] == model.content["commitment"]
    with np.load("rows.npz") as arrays:
        X, names = arrays["X"], arrays["feature_names"]
    assert names.tolist() == model.content["header"]["feature_names"]
    np.testing.assert_array_equal(X, model.read.X[order["asked"]])
    triggers = set(model.sample.draw.triggers)
    assert triggers <= set(order["asked"])
    assert (len(set(order["asked"])), len(order["asked"])) == (28, 32)
    # The claim does not foresee the judge's questions.
    assert wm("queries", model.claim, *words, "-o", "again.npz", "--order", "again.json").code == 0
    assert json.loads(Path("again.json").read_text())["asked"] != order["asked"]


def test_a_csv_file_has_a_header_and_gives_every_float_back(wm, model) -> None:
    assert wm("queries", model.claim, "-o", "rows.csv", *ORDER).code == 0
    assert stat.S_IMODE(Path("rows.csv").stat().st_mode) == 0o600
    with Path("rows.csv").open(newline="") as file:
        header, *rows = csv.reader(file)
    assert header == model.content["header"]["feature_names"]
    asked = json.loads(Path("order.json").read_text())["asked"]
    np.testing.assert_array_equal(np.float32(rows), model.read.X[asked])


def test_as_many_controls_as_the_level_needs(wm, model) -> None:
    def size(level: str) -> int:
        for name in ("rows.npz", "order.json"):
            Path(name).unlink(missing_ok=True)
        words = ("--level", level, "--repeats", 0)
        assert wm("queries", model.claim, *words, "-o", "rows.npz", *ORDER).code == 0
        return len(json.loads(Path("order.json").read_text())["asked"])

    assert size("0.05") <= size("1e-6") < size("1e-9") < 398
    for level in ("0", "-1", "1", "nan", "inf"):
        ran = wm("queries", model.claim, "--level", level, "-o", "other.npz", "--order", "other.json")
        assert (ran.code, ran.out) == (2, "")
        assert "--level" in ran.err


@pytest.mark.parametrize("kind", ["votes", "labels"])
def test_a_suspect_in_raw_units(wm, model, kind: str) -> None:
    """The suspect scales by itself, with the constants that it was trained with."""
    whole = ("--controls", 391, "--repeats", 0)
    assert wm("queries", model.claim, "-o", "raw.csv", *ORDER, "--units", "raw", *whole).code == 0
    raw = np.loadtxt("raw.csv", delimiter=",", skiprows=1, dtype=np.float32)
    assert raw[:, 3].max() > 500, "areas in their own unit"
    preparation = model.read.header.preparation
    X = ((raw.astype(np.float64) - preparation.low) / preparation.span).astype(np.float32)
    asked = json.loads(Path("order.json").read_text())["asked"]
    np.testing.assert_allclose(X, model.read.X[asked], atol=1e-5)
    forest = Forest.load(model.forest)
    values = forest.votes(X) if kind == "votes" else (forest.vote_shares(X)[:, [1]] >= 0.5).astype(int)
    np.savetxt("answers.csv", values, delimiter=",", fmt="%d")
    ran = wm("verify", model.claim, f"--{kind}", "answers.csv", *ORDER, *model.judge, "--level", "0.01")
    assert ran.code == 0, ran.out


def test_raw_units_need_a_preparation(wm) -> None:
    rng = np.random.default_rng(0)
    X = np.round(rng.random((300, 3)), 4)
    rows = np.column_stack([X, X[:, 0] + 0.4 * rng.random(300) > 0.7])
    np.savetxt("rows.csv", rows, delimiter=",", header="a,b,c,d", comments="")
    words = ("embed", "--path", "rows.csv", "--label", "d", "--scaling", "none", "--adjust", "artifact")
    assert wm(*words, "--trigger-rows", 7, "--seed", 1, "-o", "model").code == 0
    refusal = wm("queries", "model/claim.json", "-o", "raw.csv", *ORDER, "--units", "raw").refusal()
    assert "raw units already" in refusal


def test_queries_on_a_full_disk(wm, model, tmp_path: Path) -> None:
    (tmp_path / "rows.npz").symlink_to("/dev/full")
    ran = wm("queries", model.claim, "-o", "rows.npz", *ORDER)
    assert (ran.code, ran.out) == (2, ""), "a name that exists is refused, whatever is behind it"
