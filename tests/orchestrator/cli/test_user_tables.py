"""Tables as users bring them: each ends in a watermark, or in one refusal that says what would help."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from orchestrator.cli.owner_data import data_of_claim, read_owner_data
from wm.claims.reading import read_whole_claim

ROWS = 60
SMALL = ("--trees", 4, "--trigger-rows", 1, "--level", 0.5)
_Made = Callable[[random.Random, int], str]


def _table(row: Callable[[random.Random, int], Sequence[object]], sep: str = ",", header: str = "") -> _Made:
    """Return a maker of a table: each row has the values for a class, 0 or 1."""

    def make(rng: random.Random, rows: int) -> str:
        lines = [sep.join(map(str, row(rng, number % 2))) for number in range(rows)]
        return "\n".join([header, *lines] if header else lines) + "\n"

    return make


def _near(rng: random.Random, label: int) -> str:
    return f"{rng.gauss(2.0 * label, 0.8):.3f}"


def _or_missing(rng: random.Random, cell: object, share: float = 0.3) -> object:
    return "?" if rng.random() < share else cell


ADULT = _table(
    lambda rng, y: [
        rng.randint(17, 60) + 20 * y,
        f" {rng.choice(['Private', 'State-gov', '?'])}",
        f" {rng.choice(['Bachelors', 'HS-grad'])}",
        f" {13 + y}",
        f" {rng.choice(['Male', 'Female'])}",
        f" {['<=50K', '>50K'][y]}",
    ]
)
BANKNOTE = _table(lambda rng, y: [*(_near(rng, y) for _ in range(4)), y])
GERMAN = _table(
    lambda rng, y: [
        f"A1{rng.randint(1, 4)}",
        rng.randint(6, 40) + 9 * y,
        f"A3{rng.randint(0, 4)}",
        "4",
        y + 1,
    ],
    sep=" ",
)
GLASS = _table(
    lambda rng, y: [rng.randint(1, 999), *(_near(rng, y) for _ in range(4)), 1 if y else rng.randint(2, 7)]
)
COLIC = _table(
    lambda rng, y: [
        *(_or_missing(rng, rng.randint(1, 5) + 3 * y) for _ in range(8)),
        rng.randint(1, 2),
        y + 1,
    ],
    sep=" ",
)
IONOSPHERE = _table(lambda rng, y: ["1", "0", *(_near(rng, y) for _ in range(4)), "bg"[y]])
WINE = _table(
    lambda rng, y: [*(_near(rng, y) for _ in range(4)), 5 + y],
    sep=";",
    header='"fixed acidity";"volatile acidity";"pH";"alcohol";"quality"',
)
IRIS = _table(lambda rng, y: [*(_near(rng, y) for _ in range(4)), ["Iris-setosa", "Iris-virginica"][y]])
MUSHROOM = _table(lambda rng, y: ["ep"[y], *(rng.choice("xbsnyw") for _ in range(6)), "tf"[y]])
AUTO = _table(
    lambda rng, y: [
        _near(rng, y),
        f" {rng.randint(3, 8)}",
        f"  {_near(rng, y)}",
        f' 1\t"car {rng.random()}"',
        y,
    ],
    sep="  ",
)
AIR = _table(
    lambda rng, y: ["10/03/2004", _near(rng, y).replace(".", ","), rng.randint(-200, 2000), "ny"[y], "", ""],
    sep=";",
    header="Date;CO(GT);PT08;alarm;;",
)
COLUMNS = _table(lambda rng, y: [_near(rng, y), "yes" if y else "no", "true", y], header="a,b,c,y")

GOOD = {
    "adult": (ADULT, "rows.data", "--label 5 --categorical onehot --missing drop"),
    "adult, imputed": (ADULT, "rows.csv", "--label -1 --categorical ordinal --missing median --no-header"),
    "banknote": (BANKNOTE, "rows.csv", "--label 4"),
    "german": (GERMAN, "rows.data", "--label -1 --categorical onehot"),
    "glass": (GLASS, "rows.data", "--label -1 --positive 1 --drop 0"),
    "horse colic": (COLIC, "rows.data", "--label -1 --missing median"),
    "ionosphere": (IONOSPHERE, "rows.data", "--label -1"),
    "wine": (WINE, "rows.csv", "--label quality"),
    "iris": (IRIS, "rows.csv", "--label 4 --positive Iris-setosa"),
    "mushroom": (MUSHROOM, "rows.csv", "--label 0 --categorical onehot"),
    "auto mpg": (AUTO, "rows.data", "--label -1 --drop 4"),
    "air quality": (AIR, "rows.csv", "--label alarm --drop Date"),
    "truth": (COLUMNS, "rows.csv", "--label y"),
}
BAD = {
    "adult": (ADULT, "--label 5", ["text of 2 values", "missing or NaN ('?')", "--categorical onehot"]),
    "german": (GERMAN, "--label -1", ["text of 4 values", "--categorical onehot or", "--drop column_0"]),
    "glass": (GLASS, "--label -1", ["7 classes", "--positive"]),
    "glass, no such class": (GLASS, "--label -1 --positive 9", ["--positive 9 is not one of the classes"]),
    "horse colic": (
        COLIC,
        "--label -1",
        ["missing or NaN ('?')", "give --missing median (", "rows lack nothing"],
    ),
    "horse colic, dropped": (COLIC, "--label -1 --missing drop --drop nothing", ["--drop nothing: no such"]),
    "iris, no label": (IRIS, "", ["say which column is the label with --label"]),
    "iris, unknown label": (IRIS, "--label species", ["no column 'species'", "column_4"]),
    "air quality": (AIR, "--label alarm", ["column 'Date': dates", "--drop Date"]),
    "uncertain": (
        _table(lambda rng, y: [_near(rng, y), "z", y], header="1,unit,3"),
        "--label -1",
        ["names or values? Say which with --header or --no-header"],
    ),
    "wrong separator": (WINE, "--label quality --sep ,", ["line 1: malformed csv"]),
}
_KEYS = ("positive =", "label =", "header =", "missing =", "categorical =", "drop =", "sep =")


def _written(make: _Made, name: str = "rows.csv", encoding: str = "utf-8") -> Path:
    path = Path(name)
    rng = random.Random(1)  # noqa: S311 - no secret
    path.write_bytes(make(rng, ROWS).encode(encoding))
    return path


@pytest.mark.parametrize("case", GOOD)
def test_a_table_becomes_a_watermarked_model(wm, case: str) -> None:
    make, name, options = GOOD[case]
    path = _written(make, name)
    ran = wm("embed", "--path", path, *options.split(), *SMALL, "--seed", 3, "-o", "model", "--json")
    assert ran.code == 0, ran.err
    assert ran.json()["matched_bits"] == ran.json()["total_bits"]


@pytest.mark.parametrize("case", BAD)
def test_a_table_is_refused_with_what_would_help(wm, case: str) -> None:
    make, options, parts = BAD[case]
    ran = wm("embed", "--path", _written(make), *options.split(), "-o", "model")
    assert (ran.code, ran.out) == (2, "")
    assert len(ran.err.splitlines()) <= 10
    assert all(line.startswith("wm: ") for line in ran.err.splitlines())
    assert [part for part in parts if part not in ran.err] == [], ran.err
    assert [key for key in _KEYS if key in ran.err] == [], ran.err


def test_what_is_not_certain_is_said(wm) -> None:
    path = _written(MUSHROOM, encoding="utf-16")
    options = ("--label", 0, "--categorical", "onehot")
    ran = wm("embed", "--path", path, *options, *SMALL, "--seed", 3, "-o", "model")
    assert ran.code == 0, ran.err
    assert "for values, not names; else give --header or --no-header" in ran.err
    assert " of text as " in ran.err


@pytest.mark.parametrize("case", ["adult", "adult, imputed", "air quality", "glass", "banknote"])
def test_a_claim_keeps_the_options_that_give_its_rows(wm, case: str) -> None:
    make, name, options = GOOD[case]
    path = _written(make, name)
    assert wm("key", "new", "-o", "owner.key").code == 0
    made = wm(
        *("claim", "new", "--path", path, *options.split(), *SMALL, "--json"),
        *("--key", "owner.key", "-o", "claim.json", "--commitment", "commitment.json"),
    )
    assert made.code == 0, made.err
    claim = read_whole_claim(Path("claim.json"))
    again = data_of_claim(claim, None)
    assert again.split.feature_names == claim.header.feature_names
    rows = {row.tobytes() for row in again.split.X_train}
    assert {row.tobytes() for row in claim.X} <= rows
    used = {"--header", "--no-header", "--sep", "--drop", "--missing", "--categorical"} & {*options.split()}
    of_tables = {"header", "sep", "drop", "missing", "categorical"}
    assert len(of_tables & (claim.source or {}).keys()) == len(used)


@pytest.mark.parametrize(
    "option", ["--header", "--sep=;", "--drop=a", "--missing=drop", "--categorical=onehot"]
)
def test_a_claim_fixes_how_its_rows_are_read(wm, model, option: str) -> None:
    ran = wm("embed", "--claim", model.claim, option, "-o", "model")
    assert ran.code == 2
    assert "is fixed by the claim" in ran.err


def test_forge_reads_the_same_tables(wm) -> None:
    path = _written(ADULT)
    options = ("--label", -1, "--categorical", "onehot", "--missing", "median")
    assert wm("embed", "--path", path, *options, *SMALL, "--seed", 3, "-o", "model").code == 0
    ran = wm("forge", "model/forest.npz", "--rows", path, *options, "--instances", 2, "--json")
    assert ran.code in (0, 3), ran.err
    assert len(ran.json()["instances"]) == 2
    raw = wm("forge", "model/forest.npz", "--rows", path, "--label", -1, "--instances", 2, "--json")
    assert [each["label"] for each in raw.json()["instances"]] == [
        each["label"] for each in ran.json()["instances"]
    ]


def _campaign(**options: str) -> None:
    lines = "\n".join(f"{name} = {value}" for name, value in options.items())
    dataset = f'[dataset]\npath = "rows.csv"\n{lines}\n'
    Path("c.toml").write_text(
        f'name = "table"\nseed = 1\n{dataset}[forest]\nn_estimators = 4\n[embedding]\ntrigger_share = 0.05\n'
    )


@pytest.mark.system
def test_campaigns_read_the_same_tables(wm) -> None:
    _written(ADULT)
    _campaign(label="5", header="false", sep='","', categorical='"onehot"', missing='"drop"', drop="[3]")
    ran = wm("campaign", "validate", "c.toml", "--json")
    assert ran.code == 0, ran.err
    assert "rows left out" in ran.err
    run = wm("campaign", "run", "c.toml", "--workers", 1)
    assert run.code == 0, run.err


def test_campaigns_name_keys_not_options(wm) -> None:
    _written(ADULT)
    _campaign(label="5")
    ran = wm("campaign", "validate", "c.toml")
    assert (ran.code, ran.out) == (2, "")
    assert "categorical = 'onehot'" in ran.err
    assert "--" not in ran.err
    _campaign(label="5", missing='"guess"', sep='":"')
    ran = wm("campaign", "validate", "c.toml")
    assert "dataset.missing: input should be 'refuse', 'drop' or 'median'" in ran.err


def test_an_old_claim_without_these_options_is_read(wm) -> None:
    _written(WINE)
    options = {
        "dataset": None,
        "path": Path("rows.csv"),
        "label": "quality",
        "positive": None,
        "model_id": "m",
    }
    defaults = {"header": None, "sep": None, "drop": (), "missing": "refuse", "categorical": "refuse"}
    data = read_owner_data({**options, **defaults, "test_share": 0.3, "scaling": "train", "seed": 1})
    assert set(data.source) == {"dataset", "path", "label", "positive", "test_share", "scaling", "split_seed"}
    assert np.isfinite(data.split.X_train).all()
