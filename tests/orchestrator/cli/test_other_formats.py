"""`wm predict`, `wm export` and `wm scrub` on models of other libraries, against these libraries."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import joblib
import lightgbm
import numpy as np
import pandas as pd
import pytest
import skops.io
import xgboost
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from wm.formats.reading import read_model
from wm.formats.scrubbing_sklearn import packed

NAMES = ["a", "b", "c", "d"]


def write_rows(X, names=NAMES, path="rows.csv"):
    with Path(path).open("w") as stream:
        writer = csv.writer(stream)
        writer.writerow(names)
        writer.writerows([["" if np.isnan(value) else repr(float(value)) for value in row] for row in X])


def answers(ran):
    assert ran.code == 0, ran.err
    return list(csv.reader(ran.out.splitlines()))[1:]


@pytest.fixture
def rows():
    """Rows on thresholds of float64 and with missing values, and labels."""
    X, y = load_breast_cancer(return_X_y=True)
    X = X[:, :4].copy()
    X[::7, 1] = np.nan
    return X, y


def test_lightgbm_reads_float64_rows_and_missing_values_as_itself(wm, rows) -> None:
    X, y = rows
    model = lightgbm.LGBMClassifier(n_estimators=8, num_leaves=7, verbose=-1, n_jobs=1)
    booster = model.fit(X, y, feature_name=NAMES).booster_
    booster.save_model("m.txt")
    forest = read_model("m.txt").forest
    inner = np.flatnonzero(~forest.is_leaf)[:40]
    tested = np.repeat(X[:1], 2 * len(inner), axis=0)
    # On each threshold, and one float64 step above: both are one number in float32.
    tested[np.arange(len(inner)), forest.feature[inner]] = forest.threshold[inner]
    above = np.nextafter(forest.threshold[inner], np.inf)
    tested[len(inner) + np.arange(len(inner)), forest.feature[inner]] = above
    tested = np.vstack([X, tested])
    write_rows(tested[:, ::-1], NAMES[::-1])  # found by name
    found = answers(wm("predict", "m.txt", "rows.csv", "--answer", "probabilities"))
    np.testing.assert_allclose(
        np.array(found, dtype=float)[:, 1], booster.predict(tested), rtol=1e-12, atol=0
    )
    labels = answers(wm("predict", "m.txt", "rows.csv"))
    assert [int(label) for (label,) in labels] == (booster.predict(tested) > 0.5).astype(int).tolist()


def test_xgboost_of_three_classes_and_a_regression(wm) -> None:
    X, y = load_iris(return_X_y=True)
    model = xgboost.XGBClassifier(n_estimators=4, max_depth=3, n_jobs=1).fit(X, y)
    model.save_model("m.ubj")
    np.savez("rows.npz", X=X)
    labels = answers(wm("predict", "m.ubj", "rows.npz"))
    assert [int(label) for (label,) in labels] == model.predict(X).tolist()
    number = xgboost.XGBRegressor(n_estimators=4, max_depth=3, n_jobs=1).fit(X, X[:, 0] * 2)
    number.save_model("r.json")
    found = np.array(answers(wm("predict", "r.json", "rows.npz")), dtype=float)[:, 0]
    np.testing.assert_array_equal(found.astype(np.float32), number.predict(X))
    assert "is a regression" in wm("predict", "r.json", "rows.npz", "--answer", "probabilities").err


def test_what_a_model_cannot_answer_is_refused_by_name(wm, rows) -> None:
    X, y = rows
    xgboost.XGBClassifier(n_estimators=2, n_jobs=1).fit(X, y).save_model("m.json")
    write_rows(X)
    refused = wm("predict", "m.json", "rows.csv", "--answer", "votes")
    assert refused.code == 2
    assert "add margins and do not vote" in refused.err
    filled = np.nan_to_num(X)
    joblib.dump(ExtraTreesClassifier(3, random_state=0).fit(filled, y), "e.joblib")
    model = joblib.load("e.joblib")
    write_rows(filled)
    labels = answers(wm("predict", "e.joblib", "rows.csv", "--trust-pickle"))
    assert [int(label) for (label,) in labels] == model.predict(filled).tolist()
    Path("bad.csv").write_text("a,b,c,d\n1,2,3,word\n")
    assert "text instead of numbers" in wm("predict", "m.json", "bad.csv").err


def test_a_pipeline_prepares_raw_rows_itself(wm, rows) -> None:
    X, y = rows
    frame = pd.DataFrame(X, columns=NAMES).assign(
        kind=np.array(["x", "y", None], dtype=object)[np.arange(len(y)) % 3]
    )
    columns = make_column_transformer(
        (make_pipeline(SimpleImputer(), StandardScaler()), NAMES),
        (OneHotEncoder(handle_unknown="ignore"), ["kind"]),
    )
    model = make_pipeline(columns, RandomForestClassifier(5, random_state=0)).fit(frame, y)
    joblib.dump(model, "p.joblib")
    frame.assign(label=y).sample(frac=1.0, axis=1, random_state=1).to_csv("rows.csv", index=False)
    labels = answers(wm("predict", "p.joblib", "rows.csv", "--trust-pickle"))
    assert [int(label) for (label,) in labels] == model.predict(frame).tolist()
    votes = answers(wm("predict", "p.joblib", "rows.csv", "--trust-pickle", "--answer", "votes"))
    prepared = model[:-1].transform(frame)
    expected = np.stack([tree.predict(prepared) for tree in model[-1].estimators_], axis=1)
    np.testing.assert_array_equal(np.array(votes, dtype=float), expected)
    Path("few.csv").write_text("a,b\n1,2\n")
    refused = wm("predict", "p.joblib", "few.csv", "--trust-pickle")
    assert refused.code == 2
    assert "the pipeline cannot prepare these rows" in refused.err


@pytest.mark.parametrize("scaling", ["raw", "train"])
def test_an_exported_pipeline_of_raw_rows_is_judged(wm, scaling) -> None:
    X, y = load_breast_cancer(return_X_y=True)
    frame = pd.DataFrame(X[:, :5], columns=[*NAMES, "e"]).assign(
        kind=np.where(X[:, 6] > 0.1, "x", "y"), flag=np.arange(len(y)) % 2 == 0, label=y
    )
    frame.loc[::9, "a"] = np.nan
    frame.loc[::11, "kind"] = np.nan
    frame.to_csv("raw.csv", index=False)
    options = ("--path", "raw.csv", "--label", "label", "--categorical", "onehot", "--missing", "median")
    ran = wm(
        "embed", *options, "--scaling", scaling, "--trees", 24, "--trigger-rows", 6, "--seed", 3, "-o", "m"
    )
    assert ran.code == 0, ran.err
    wrote = wm("export", "m/forest.npz", "--to", "sklearn", "-o", "p.skops")
    assert wrote.code == 0, wrote.err
    assert wrote.err.count("--trust-type") == 2
    trusted = wrote.err.rpartition(" read it with ")[2].split()
    assert trusted == ["--trust-type", "numpy.dtype", "--trust-type", "sklearn.tree._tree.Tree"]
    for command in (("verify", "m/claim.json", "--model"), ("audit",)):
        refused = wm(*command, "p.skops", *trusted[2:]).refusal()
        assert f"not trusted: numpy.dtype: if you trust them, give {' '.join(trusted)} (in Python" in refused
    judged = wm("verify", "m/claim.json", "--model", "p.skops", *trusted, "--json")
    assert judged.code == 5, judged.err
    found = judged.json()
    assert "the pipeline prepared raw rows" in found["notes"]
    own = wm("verify", "m/claim.json", "--model", "m/forest.npz", "--json").json()
    assert found["tests"] == own["tests"]


def test_votes_of_another_format_are_exported_and_margins_are_not(wm, rows) -> None:
    X, y = np.nan_to_num(rows[0]), rows[1]
    joblib.dump(RandomForestClassifier(5, random_state=0, bootstrap=False).fit(X, y), "f.joblib")
    one = wm("scrub", "f.joblib", "--trust-pickle", "-o", "f.npz")
    assert one.code == 0, one.err
    assert wm("export", "f.npz", "--to", "onnx", "-o", "f.onnx").code == 0
    again = wm("export", "f.onnx", "--to", "xgboost-json", "-o", "f.json")
    assert again.code == 2
    assert "says where missing values go" in again.err
    back = wm("scrub", "f.onnx", "-o", "again.npz")
    assert back.code == 0, back.err
    np.testing.assert_array_equal(
        read_model("again.npz").forest.vote_codes(X), read_model("f.npz").forest.vote_codes(X)
    )
    xgboost.XGBClassifier(n_estimators=2, n_jobs=1).fit(X, y).save_model("m.json")
    refused = wm("export", "m.json", "--to", "onnx", "-o", "m.onnx")
    assert refused.code == 2
    assert "add margins and do not vote: a model of votes is exported" in refused.err


def test_scrubbed_files_predict_alike_and_show_nothing(wm, rows) -> None:
    X, y = rows
    lightgbm.LGBMClassifier(n_estimators=3, verbose=-1, n_jobs=1).fit(X, y).booster_.save_model("m.txt")
    assert "training-counts" in wm("audit", "m.txt", "--json").out
    assert wm("scrub", "m.txt", "-o", "m.npz").code == 2
    done = wm("scrub", "m.txt", "-o", "s.txt")
    assert done.code == 0, done.err
    assert "training-counts" not in wm("audit", "s.txt", "--json").out
    np.testing.assert_array_equal(
        lightgbm.Booster(model_file="s.txt").predict(X), lightgbm.Booster(model_file="m.txt").predict(X)
    )
    assert wm("scrub", "m.txt", "-o", "s.txt").code == 2  # it exists


@pytest.mark.parametrize("ending", ["joblib", "skops"])
def test_boosted_models_of_scikit_learn_are_scrubbed_to_the_same_class(wm, rows, ending) -> None:
    X, y = rows
    model = HistGradientBoostingClassifier(max_iter=3).fit(X, y)
    content = packed(model, f".{ending}")
    Path(f"m.{ending}").write_bytes(content)
    trust = ["--trust-pickle"]
    if ending == "skops":
        types = skops.io.get_untrusted_types(data=content)
        trust = [word for name in types for word in ("--trust-type", name)]
    assert {"training-counts", "training-notes"} <= names_in(wm("audit", f"m.{ending}", *trust, "--json"))
    done = wm("scrub", f"m.{ending}", *trust, "-o", f"s.{ending}")
    assert done.code == 0, done.err
    assert done.err.split()[-len(trust) :] == trust if ending == "skops" else done.err == ""
    assert names_in(wm("audit", f"s.{ending}", *trust, "--json")) == set()
    write_rows(X)
    before, after = (answers(wm("predict", f"{name}.{ending}", "rows.csv", *trust)) for name in "ms")
    assert before == after
    refused = wm("scrub", f"m.{ending}", *trust, "-o", "s.npz")
    assert refused.code == 2
    assert "the ending must be one of .skops, .joblib, .pkl" in refused.err


def names_in(ran) -> set[str]:
    """Return the names of an audit's findings."""
    return {each["name"] for each in json.loads(ran.out)["findings"]}
