"""`wm forge` on pipelines: raw rows that the whole pipeline answers as wanted, if there are any."""

from __future__ import annotations

import itertools

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler

RAW, y = load_breast_cancer(return_X_y=True)
LABEL = np.where(y == 1, "good", "bad")
RNG = np.random.default_rng(3)
FRAME = pd.DataFrame({"radius": RAW[:, 0], "texture": RAW[:, 1] + 1.6e9}).assign(
    kind=np.array(["x", "y", None], dtype=object)[(RAW[:, 2] // 40).astype(int) % 3],
    size=np.array(["s", "m", "l"], dtype=object)[np.digitize(RAW[:, 3], [500, 800])],
    flag=RAW[:, 4] > 0.1,
    note="unused",
)
FRAME.loc[::9, "radius"] = np.nan
COLUMNS = make_column_transformer(
    (make_pipeline(SimpleImputer(strategy="median"), StandardScaler()), ["radius", "texture"]),
    (OneHotEncoder(handle_unknown="ignore"), ["kind"]),
    (OrdinalEncoder(categories=[["s", "m", "l"]]), ["size"]),
    ("passthrough", ["flag"]),
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pipelines")
    for name, model in (
        ("forest", RandomForestClassifier(6, max_depth=2, max_features=2, random_state=1)),
        ("boosted", HistGradientBoostingClassifier(max_iter=3, max_features=0.4, random_state=0)),
    ):
        joblib.dump(make_pipeline(COLUMNS, model).fit(FRAME, LABEL), folder / f"{name}.joblib")
    table = FRAME.assign(label=LABEL)
    table.to_csv(folder / "rows.csv", index=False)
    table.dropna(subset="radius").to_csv(folder / "full.csv", index=False)
    return folder


def forge(wm, folder, name, *options, rows="rows.csv"):
    given = (folder / f"{name}.joblib", "--trust-pickle", "--rows", folder / rows, "--label", "label")
    ran = wm("forge", *given, "--instances", 6, *options)
    assert ran.code == 0, ran.err
    return ran


def votes(pipeline, frame):
    """Each tree's class by the pipeline's own steps."""
    prepared = pipeline[:-1].transform(frame)
    codes = [tree.predict(prepared).astype(int) for tree in pipeline[-1].estimators_]
    return pipeline.classes_[np.stack(codes, axis=1)]


def test_forged_raw_rows_show_the_signature_on_the_whole_pipeline(wm, folder) -> None:
    file = folder / "forged.csv"
    ran = forge(wm, folder, "forest", "--signatures", 3, "-o", file, "--json")
    pipeline = joblib.load(folder / "forest.joblib")
    found = pd.read_csv(file, dtype={"signature": str, "kind": object})
    assert len(found) == sum(row["forged"] for row in ran.json()["signatures"]) > 0
    wrong = votes(pipeline, found[FRAME.columns]) != found["forged label"].to_numpy()[:, None]
    bits = np.array([[bit == "1" for bit in text] for text in found["signature"]])
    np.testing.assert_array_equal(wrong, bits)
    assert set(found["kind"].dropna()) <= {"x", "y"}
    assert set(found["size"]) <= {"s", "m", "l"}
    assert found["flag"].dtype == bool
    assert (found["note"] == "unused").all()
    assert found["radius"].between(FRAME["radius"].min(), FRAME["radius"].max()).mean() > 0.5
    rows = [row["row"] for row in ran.json()["instances"] if row["status"] == "forged"]
    assert rows[0]["texture"] == found["texture"][0]


def test_outcomes_are_those_of_all_raw_rows_that_differ(wm, folder) -> None:
    pipeline = joblib.load(folder / "forest.joblib")
    ran = forge(wm, folder, "forest", "--signatures", 12, "--json", rows="full.csv").json()
    # A number on each threshold and one beside it, in raw units; each value of every category.
    numbers = {}
    scaler = pipeline[0].named_transformers_["pipeline"][-1]
    for place, name in enumerate(["radius", "texture"]):
        trees = [tree.tree_ for tree in pipeline[-1].estimators_]
        cuts = np.concatenate([tree.threshold[tree.feature == place] for tree in trees])
        at = cuts * scaler.scale_[place] + scaler.mean_[place]
        middles = np.convolve(np.sort([FRAME[name].min(), *at, FRAME[name].max()]), [0.5, 0.5], "valid")
        numbers[name] = np.unique(middles)
    grid = pd.DataFrame(
        list(
            itertools.product(
                numbers["radius"], numbers["texture"], ["x", "y", None], ["s", "m", "l"], [False, True]
            )
        ),
        columns=["radius", "texture", "kind", "size", "flag"],
    ).assign(note="unused")
    wrong = {label: votes(pipeline, grid) != label for label in ("good", "bad")}
    statuses = set()
    for row in ran["instances"]:
        bits = np.array([bit == "1" for bit in ran["signatures"][row["signature"]]["bits"]])
        exists = bool((wrong[row["label"]] == bits).all(axis=1).any())
        assert row["status"] == ("forged" if exists else "impossible")
        statuses.add(row["status"])
    assert statuses == {"forged", "impossible"}


def test_missing_values_and_boosted_pipelines(wm, folder) -> None:
    ran = forge(wm, folder, "boosted", "--signatures", 4, "--may-miss", "all", "--json").json()
    forged = [row for row in ran["instances"] if row["status"] == "forged"]
    pipeline = joblib.load(folder / "boosted.joblib")
    assert forged
    frame = pd.DataFrame([row["row"] for row in forged])
    frame = frame.astype({"radius": float, "texture": float, "kind": object})
    trees = [tree for (tree,) in pipeline[-1]._predictors]
    rows = np.ascontiguousarray(pipeline[:-1].transform(frame), dtype=np.float64)
    none = np.zeros((0, 8), dtype=np.uint32), np.zeros(0, dtype=np.uint32)
    margins = np.stack([tree.predict(rows, *none, 1) for tree in trees], axis=1)
    centre = [np.median(np.unique(tree.nodes["value"][tree.nodes["is_leaf"] == 1])) for tree in trees]
    shown = np.where(margins > centre, "good", "bad")
    for row, votes_of_row in zip(forged, shown, strict=True):
        bits = ran["signatures"][row["signature"]]["bits"]
        assert [vote != row["label"] for vote in votes_of_row] == [bit == "1" for bit in bits]
    given = ("--trust-pickle", "--rows", folder / "rows.csv", "--label", "label", "--may-miss", "size")
    refusal = wm("forge", folder / "boosted.joblib", *given).refusal()
    assert "--may-miss: the pipeline takes no row without 'size'" in refusal


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--missing", "median"), "a pipeline prepares rows itself: leave --missing and --categorical out"),
        (("--certify", "--eps", 0.1), "--certify cannot be combined with --whole"),
        (("-o", "forged.npz"), "forged.npz: the ending must be .csv"),
        (("--drop", "kind"), "the rows lack the pipeline's column 'kind'"),
    ],
)
def test_mistakes_are_one_line(wm, folder, options, message) -> None:
    given = ("--rows", folder / "rows.csv", "--label", "label")
    ran = wm("forge", folder / "forest.joblib", "--trust-pickle", *given, *options)
    assert ran.code == 2
    assert message in ran.err.splitlines()[-1]


def test_rows_with_values_that_the_pipeline_does_not_know_are_left_out(wm, folder) -> None:
    FRAME.assign(kind="z", label=LABEL).iloc[17:22].to_csv(folder / "strange.csv", index=False)
    given = ("--trust-pickle", "--rows", folder / "strange.csv", "--label", "label")
    ran = wm("forge", folder / "forest.joblib", *given)
    assert ran.code == 2
    assert "5 of 5 rows have values that the pipeline does not know: left out" in ran.err
    assert "no row is left to start from" in ran.err
