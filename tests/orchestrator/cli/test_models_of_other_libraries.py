"""`wm forge`, `wm audit` and `wm verify` on models of other libraries; forged rows are replayed on these."""

from __future__ import annotations

import warnings
from pathlib import Path

import joblib
import lightgbm
import numpy as np
import pandas as pd
import pytest
import xgboost
from sklearn.datasets import load_breast_cancer
from sklearn.decomposition import PCA
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.pipeline import make_pipeline

from wm.forest import Forest
from wm.formats.assembling import centre_of
from wm.formats.export import to_sklearn
from wm.formats.reading import read_model

KINDS = np.random.default_rng(0).integers(0, 3, 569)
RAW, TRUTH = load_breast_cancer(return_X_y=True)
# Four measurements, a count, and a category as three columns of 0 and 1.
X = np.c_[RAW[:, :4], np.round(RAW[:, 5] * 100), np.eye(3)[KINDS]]
LABELS = (TRUTH + (KINDS == 2) * (RAW[:, 1] > 18)) % 2
THREE = np.digitize(RAW[:, 0], [12, 16])


@pytest.fixture(scope="module")
def models(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("models")
    boosted = xgboost.XGBClassifier(n_estimators=5, max_depth=3, colsample_bytree=0.6, random_state=0)
    boosted.fit(X, LABELS).save_model(folder / "two.json")
    boosted.fit(X, THREE).save_model(folder / "three.ubj")
    grown = lightgbm.LGBMClassifier(
        n_estimators=5, num_leaves=6, verbose=-1, colsample_bytree=0.6, random_state=0, n_jobs=1
    )
    grown.fit(X, LABELS).booster_.save_model(folder / "two.txt")
    joblib.dump(
        HistGradientBoostingClassifier(max_iter=4, max_leaf_nodes=6).fit(X, LABELS), folder / "h.joblib"
    )
    joblib.dump(
        make_pipeline(PCA(3), RandomForestClassifier(4, max_depth=3)).fit(X, LABELS), folder / "p.joblib"
    )
    np.savez(folder / "two.npz", X=X, y=LABELS)
    np.savez(folder / "three.npz", X=X, y=THREE)
    return folder


def signs(file, rows):
    """Each tree's sign by the library's own leaves."""
    model = read_model(file)
    margin, forest = model.margins.leaf, model.forest
    if file.suffix == ".txt":
        booster = lightgbm.Booster(model_file=str(file))
        found = booster.predict(rows, pred_leaf=True).astype(int)
    else:
        booster = xgboost.Booster(model_file=str(file))
        found = booster.predict(xgboost.DMatrix(rows), pred_leaf=True).astype(int).reshape(len(rows), -1)
    shown = np.empty(found.shape, dtype=int)
    for tree in range(forest.n_trees):
        nodes = np.arange(*forest.offset[tree : tree + 2])
        leaf = nodes[forest.is_leaf[nodes]]
        own = leaf if file.suffix == ".txt" else nodes
        shown[:, tree] = margin[own[found[:, tree]]] > centre_of(margin[leaf])
    return model, shown


def forged(wm, models, name, rows, *options):
    output = models / "out.npz"
    output.unlink(missing_ok=True)
    counts = () if "--signature" in options else ("--signatures", 4)
    arguments = (models / name, "--rows", models / rows, "--instances", 8, *counts, "--engine", "sat")
    ran = wm("forge", *arguments, *options, "-o", output, "--json")
    assert ran.code == 0, ran.err
    with np.load(output) as stored:
        return ran, ran.json(), dict(stored)


@pytest.mark.parametrize("name", ["two.json", "two.txt"])
def test_forged_rows_show_the_signature_in_the_library(wm, models, name):
    _, found, out = forged(wm, models, name, "two.npz")
    assert sum(row["forged"] for row in found["signatures"]) == len(out["X"]) > 0
    assert not any(row["error"] for row in found["signatures"])
    _, shown = signs(models / name, out["X"])
    bits = out["signatures"][out["signature"]]
    np.testing.assert_array_equal(shown, np.where(bits == 0, out["y"][:, None], 1 - out["y"][:, None]))
    assert not any("on the float32 grid" in row["reason"] for row in found["instances"])
    assert ("impossible_on_float32_grid" in found["signatures"][0]) == (name == "two.txt")


def _float64_stumps(file: Path, *thresholds: float) -> None:
    """Write a model of trees of one feature that vote 1 above their thresholds."""
    trees = len(thresholds)
    forest = Forest.from_arrays(
        offset=3 * np.arange(trees + 1),
        left=np.tile([1, -1, -1], trees),
        right=np.tile([2, -1, -1], trees),
        feature=np.tile([0, -1, -1], trees),
        threshold=np.kron(thresholds, [1.0, 0.0, 0.0]),
        value=np.tile([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]], (trees, 1)),
        n_features=1,
        classes=[0, 1],
        input_dtype="float64",
    )
    forest.save(file)


@pytest.mark.parametrize(("scale", "offset"), [(1.0, 0.0), (3000.0, 1.6e9)])
@pytest.mark.parametrize("eps", ["minimal", 0.5])
def test_what_float32_shares_cannot_show_of_float64_models_is_named(wm, tmp_path, scale, offset, eps):
    low, high = np.array([0.3, 0.6]) * scale + offset
    rows, file = tmp_path / "rows.npz", tmp_path / "m.npz"
    np.savez(rows, X=np.array([[0.0], [1.0]]) * scale + offset, y=[0, 1])

    def outcome(bits):
        given = ("--rows", rows, "--instances", 2, "--eps", eps, "--signature", bits)
        ran = wm("forge", file, *given, "--json")
        assert ran.code == 0, ran.err
        found = ran.json()
        (row,) = [row for row in found["instances"] if row["label"] == 0]
        (counts,) = found["signatures"]
        assert sum(counts[key] for key in ("forged", "impossible", "impossible_on_float32_grid")) == 2
        return row, ran.err

    _float64_stumps(file, low, high)
    row, said = outcome("10")
    assert row["status"] == "forged"
    assert "float32" not in said
    assert outcome("01")[0]["status"] == "impossible"  # above the high one and not the low one: never

    _float64_stumps(file, low, np.nextafter(low, np.inf))  # one float64 number lies between
    row, said = outcome("10")
    assert row["status"] == "impossible_on_float32_grid"
    assert row["reason"].endswith("on the float32 grid")
    assert "impossible means on the float32 grid" in said
    assert wm("forge", file, "--rows", rows, "--signature", "10").out.count("impossible_on_float32_grid") == 1


def test_three_classes_by_their_own_labels(wm, models):
    _, _, out = forged(wm, models, "three.ubj", "three.npz", "--signature", "0" * 15)
    model, shown = signs(models / "three.ubj", out["X"])
    assert len(out["X"])
    np.testing.assert_array_equal(shown, model.margins.column == out["y"][:, None])


def test_rows_keep_their_meaning(wm, models):
    rules = ("--whole", 4, "--one-hot", "5,6,7")
    _, found, out = forged(wm, models, "two.json", "two.npz", *rules)
    rows = out["X"]
    assert len(rows)
    np.testing.assert_array_equal(rows[:, 4], np.round(rows[:, 4]))
    assert set(np.unique(rows[:, 5:]).tolist()) <= {0.0, 1.0}
    assert (rows[:, 5:].sum(axis=1) == 1).all()
    _, shown = signs(models / "two.json", rows)
    bits = out["signatures"][out["signature"]]
    np.testing.assert_array_equal(shown, np.where(bits == 0, out["y"][:, None], 1 - out["y"][:, None]))
    _, free, _ = forged(wm, models, "two.json", "two.npz")
    for with_rules, without in zip(found["instances"], free["instances"], strict=True):
        if with_rules["status"] == "forged":
            assert without["status"] == "forged"
            assert without["distance"] <= with_rules["distance"] + 1e-6


def test_values_left_out_make_more_rows_forgeable_and_nearer(wm, models):
    _, found, out = forged(wm, models, "two.json", "two.npz", "--may-miss", "all")
    _, kept, _ = forged(wm, models, "two.json", "two.npz")
    assert np.isnan(out["X"]).any()
    assert any(row["missing_values"] for row in found["instances"])
    _, shown = signs(models / "two.json", out["X"])
    bits = out["signatures"][out["signature"]]
    np.testing.assert_array_equal(shown, np.where(bits == 0, out["y"][:, None], 1 - out["y"][:, None]))
    for free, full in zip(found["instances"], kept["instances"], strict=True):
        if full["status"] == "forged":
            assert free["status"] == "forged"
            assert free["distance"] <= full["distance"] + 1e-6


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("two.json", ("--whole", "99"), "has no feature '99': give an index from 0 to 7"),
        ("two.json", ("--one-hot", "4,5"), "a one-hot feature is 0 or 1"),
        ("two.json", ("--engine", "search", "--whole", "4"), "take portfolio or sat"),
        (
            "p.joblib",
            ("--trust-pickle",),
            "p.joblib: the pipeline's PCA makes features that do not come of one",
        ),
        ("h.joblib", (), "say that you trust"),
    ],
)
def test_mistakes_are_one_line(wm, models, name, options, message):
    ran = wm("forge", models / name, "--rows", models / "two.npz", "--instances", 2, *options)
    assert ran.code == 2
    assert message in ran.err.splitlines()[-1]


def test_verify_judges_margins_of_two_classes_by_signs_and_probabilities(wm, models, model):
    for name, options in (("two.json", ()), ("h.joblib", ("--trust-pickle",))):
        ran = wm("verify", model.claim, "--model", models / name, *options, *model.judge)
        assert (ran.code, ran.err) == (1, "")
        assert "not verified" in ran.out
        assert "rows by probabilities" in ran.out


def test_an_onnx_file_of_the_owners_forest_is_verified(wm, model, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the converter, about itself
        from skl2onnx import to_onnx

        forest = Forest.load(model.forest)
        content = to_onnx(to_sklearn(forest), np.zeros((1, forest.n_features), dtype=np.float32))
    file = tmp_path / "model.onnx"
    file.write_bytes(content.SerializeToString())
    assert wm("verify", model.claim, "--model", file, *model.judge).code == 0
    assert wm("audit", file).code == 0


def test_columns_of_a_table_are_found_by_the_models_names(wm, tmp_path):
    frame = pd.DataFrame(RAW[:, :4], columns=list("abcd"))
    booster = xgboost.XGBClassifier(n_estimators=3, max_depth=3).fit(frame, TRUTH).get_booster()
    booster.feature_names = list(frame.columns)  # of some versions of pandas' frames it takes none
    booster.save_model(tmp_path / "m.json")
    labelled = frame.assign(y=TRUTH)
    tables = {
        "rows": labelled,
        "turned": labelled[list("ydcba")],
        "more": labelled.assign(z=1.0),
        "domain": frame,
        "domain-turned": frame[list("dcba")],
        "others": labelled.rename(columns=dict(zip("abcd", "pqrs", strict=True))),
        "lacking": labelled.rename(columns={"d": "e"}),
    }
    for name, table in tables.items():
        table.to_csv(tmp_path / f"{name}.csv", index=False)

    def forge(rows: str, domain: str):
        given = ("--rows", tmp_path / f"{rows}.csv", "--label", "y", "--domain", tmp_path / f"{domain}.csv")
        return wm("forge", tmp_path / "m.json", *given, "--instances", 6, "--signatures", 4, "--json")

    def found(ran):
        assert ran.code == 0, ran.err
        return [(each["label"], each["status"], each["distance"]) for each in ran.json()["instances"]]

    expected = found(forge("rows", "rows"))
    assert len({distance for _, _, distance in expected}) > 2
    for rows, domain in [
        ("turned", "rows"),
        ("rows", "turned"),
        ("rows", "domain"),
        ("more", "domain-turned"),
    ]:
        assert found(ran := forge(rows, domain)) == expected
        assert "by place" not in ran.err
    assert "the model does not use 'z'" in forge("more", "rows").err
    assert found(ran := forge("others", "domain")) == expected
    assert ran.err.count("columns are taken by place") == 1
    assert "lacking.csv: lacks 'd' of the model's 4 columns" in forge("lacking", "rows").refusal()
    assert "lacking.csv: lacks 'd' of the model's 4 columns" in forge("rows", "lacking").refusal()
