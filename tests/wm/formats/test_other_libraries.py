"""Models of other libraries: every tree sends every row to the leaf that its own library names.

Rows lie on every threshold and one ulp to either side, in float32 and float64, with and without missing
values.
"""

from __future__ import annotations

import json

import catboost
import lightgbm
import numpy as np
import pytest
import xgboost
from sklearn.datasets import load_breast_cancer

from wm.errors import ModelError
from wm.formats import catboost_json, lightgbm_text, xgboost_file
from wm.formats.objects import model_of
from wm.formats.reading import read_model
from wm.testing import on_thresholds

ROWS, TRUTH = load_breast_cancer(return_X_y=True)
ROWS = np.c_[ROWS[:, :4], np.round(ROWS[:, 5] * 30) - 3, np.where(ROWS[:, 6] < 0.05, 0.0, ROWS[:, 6])]
LABELS = {"two": TRUTH, "three": (ROWS[:, 1] * 7).astype(int) % 3, "number": ROWS[:, 0] + 1.0}
TREES = 5


def rows_with(missing):
    return np.where(np.random.default_rng(0).random(ROWS.shape) < 0.1, np.nan, ROWS) if missing else ROWS


def asked(model, dtype):
    """Rows on the thresholds, and the same with missing values, zeros and numbers that count as zero."""
    rng = np.random.default_rng(1)
    edges = np.vstack([ROWS, on_thresholds(model.forest, ROWS, rng)])
    holes = [np.where(rng.random(edges.shape) < 0.3, value, edges) for value in (np.nan, 0.0, -1e-36, 1e-35)]
    return np.vstack([edges, *holes]).astype(dtype)


def leaves(model, X):
    """The number of the leaf that each row reaches in each tree, leaves counted in the order of the file."""
    forest = model.forest
    leaf = np.cumsum(forest.is_leaf) - 1
    first = leaf[forest.offset[:-1]] + ~forest.is_leaf[forest.offset[:-1]]
    return leaf[forest.apply(X)] - first


@pytest.mark.filterwarnings("ignore:.*booster=dart")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize(
    ("objective", "labels", "more"),
    [
        ("binary:logistic", "two", {}),
        ("binary:logistic", "two", {"booster": "dart", "rate_drop": 0.5}),
        ("binary:logistic", "two", {"num_parallel_tree": 2, "subsample": 0.5}),
        ("binary:logistic", "two", {"grow_policy": "lossguide", "gamma": 3.0}),
        ("multi:softprob", "three", {"num_class": 3}),
        ("reg:squarederror", "number", {}),
        ("reg:absoluteerror", "number", {}),
        ("count:poisson", "number", {}),
        ("reg:gamma", "number", {"tree_method": "exact"}),
    ],
)
def test_xgboost(objective, labels, more, missing, dtype):
    data = xgboost.DMatrix(rows_with(missing), label=LABELS[labels])
    booster = xgboost.train({"objective": objective, "max_depth": 4, "seed": 0, **more}, data, TREES)
    for form in ("json", "ubj"):
        model = xgboost_file.read(bytes(booster.save_raw(form)))
        X = asked(model, dtype)
        matrix = xgboost.DMatrix(X)
        nodes = booster.predict(matrix, pred_leaf=True).reshape(len(X), -1)
        if "gamma" not in more:  # pruning leaves numbers of nodes that are not there
            np.testing.assert_array_equal(model.forest.apply(X) - model.forest.offset[:-1], nodes)
        margins = booster.predict(matrix, output_margin=True).reshape(len(X), -1)
        np.testing.assert_array_equal(model.raw(X), margins)
        answers = booster.predict(matrix).reshape(len(X), -1)
        own = model.predict_proba(X)
        np.testing.assert_allclose(
            own if answers.shape == own.shape else own[:, -1:], answers, rtol=1e-5, atol=1e-7
        )
    assert model.classes is None or set(model.predict(X)) <= set(model.classes.tolist())


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize(
    ("objective", "labels", "more"),
    [
        ("binary", "two", {}),
        ("binary", "two", {"boosting": "dart", "sigmoid": 0.7}),
        ("binary", "two", {"boosting": "rf", "bagging_freq": 1, "bagging_fraction": 0.5}),
        ("binary", "two", {"use_missing": False}),
        ("cross_entropy", "two", {}),
        ("multiclass", "three", {"num_class": 3}),
        ("multiclassova", "three", {"num_class": 3}),
        ("regression", "number", {}),
        ("poisson", "number", {}),
    ],
)
def test_lightgbm(objective, labels, more, missing, dtype):
    settings = {"objective": objective, "num_leaves": 7, "verbose": -1, "seed": 0, "num_threads": 1, **more}
    booster = lightgbm.train(settings, lightgbm.Dataset(rows_with(missing), label=LABELS[labels]), TREES)
    model = lightgbm_text.read(booster.model_to_string().encode())
    X = asked(model, dtype)
    np.testing.assert_array_equal(leaves(model, X), booster.predict(X, pred_leaf=True).reshape(len(X), -1))
    if more.get("boosting") != "rf":  # whose raw scores are sums, its answers means
        np.testing.assert_array_equal(model.raw(X), booster.predict(X, raw_score=True).reshape(len(X), -1))
    answers, own = booster.predict(X).reshape(len(X), -1), model.predict_proba(X)
    np.testing.assert_allclose(own if answers.shape == own.shape else own[:, -1:], answers, rtol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize(
    ("loss", "labels", "more"),
    [
        ("Logloss", "two", {}),
        ("Logloss", "two", {"nan_mode": "Max"}),
        ("MultiClass", "three", {}),
        ("MultiClassOneVsAll", "three", {}),
        ("RMSE", "number", {}),
        ("Poisson", "number", {}),
    ],
)
def test_catboost(loss, labels, more, missing, dtype, tmp_path):
    settings = {
        "iterations": TREES,
        "depth": 3,
        "verbose": 0,
        "allow_writing_files": False,
        "thread_count": 1,
    }
    made = catboost.CatBoost({"loss_function": loss, "random_seed": 0, **settings, **more})
    made.fit(rows_with(missing), LABELS[labels])
    made.save_model(str(tmp_path / "model.json"), format="json")
    model = read_model(tmp_path / "model.json")
    X = asked(model, dtype)
    outputs = len(model.margins.base)
    assert model.forest.n_trees == TREES * outputs
    np.testing.assert_array_equal(leaves(model, X)[:, ::outputs], made.calc_leaf_indexes(X))
    raw = made.predict(X, prediction_type="RawFormulaVal").reshape(len(X), -1)
    np.testing.assert_allclose(model.raw(X), raw, rtol=1e-13)
    if model.classes is not None:
        shares = made.predict(X, prediction_type="Probability")
        np.testing.assert_allclose(model.predict_proba(X), shares, atol=1e-12)


@pytest.mark.parametrize("classes", [["no", "yes"], [3, 7]])
def test_estimators_of_the_libraries_keep_their_class_names(classes):
    names = np.array(classes)[TRUTH]
    makers = [
        lightgbm.LGBMClassifier(n_estimators=3, verbose=-1),
        catboost.CatBoostClassifier(iterations=3, verbose=0, allow_writing_files=False),
    ]
    for made in makers:
        made.fit(ROWS, names)
        model = model_of(made)
        assert model.answers == "margins"
        np.testing.assert_array_equal(model.predict(ROWS), np.ravel(made.predict(ROWS)))
        assert model.forest.classes.tolist() == classes
    made = xgboost.XGBClassifier(n_estimators=3).fit(ROWS, TRUTH)
    np.testing.assert_array_equal(model_of(made).predict(ROWS), made.predict(ROWS))


def edited(booster, change):
    document = json.loads(booster.save_raw("json"))
    change(document["learner"])
    return json.dumps(document).encode()


def test_what_is_not_exact_is_refused_by_name(tmp_path):
    kinds = np.random.default_rng(0).integers(0, 8, len(ROWS))
    import pandas as pd

    frame = pd.DataFrame({"kind": pd.Categorical(kinds), "size": ROWS[:, 0]})
    truth = np.isin(kinds, (1, 4, 6)).astype(int)
    # By their types: XGBoost 3.1.3 takes the categories of the newest pandas for plain numbers.
    coded = xgboost.DMatrix(np.column_stack([kinds, ROWS[:, 0]]), truth, feature_types=["c", "float"])
    boosted = xgboost.train({"objective": "binary:logistic"}, coded, 2)
    with pytest.raises(ModelError, match="categorical"):
        xgboost_file.read(bytes(boosted.save_raw("json")))
    grown = lightgbm.train(
        {"objective": "binary", "verbose": -1, "min_data_per_group": 1, "cat_smooth": 0},
        lightgbm.Dataset(frame, label=truth),
        2,
    )
    with pytest.raises(ModelError, match="tree 0 has categorical splits"):
        lightgbm_text.read(grown.model_to_string().encode())
    zero = lightgbm.train(
        {"objective": "binary", "verbose": -1, "zero_as_missing": True},
        lightgbm.Dataset(ROWS, label=TRUTH),
        5,
    )
    with pytest.raises(ModelError, match="zero_as_missing"):
        lightgbm_text.read(zero.model_to_string().encode())
    linear = lightgbm.train(
        {"objective": "regression", "verbose": -1, "linear_tree": True},
        lightgbm.Dataset(ROWS, label=TRUTH),
        2,
    )
    with pytest.raises(ModelError, match="linear functions"):
        lightgbm_text.read(linear.model_to_string().encode())
    made = catboost.CatBoostClassifier(iterations=2, verbose=0, allow_writing_files=False, one_hot_max_size=2)
    made.fit(frame, truth, cat_features=["kind"])
    made.save_model(
        str(tmp_path / "c.json"), format="json", pool=catboost.Pool(frame, truth, cat_features=["kind"])
    )
    with pytest.raises(ModelError, match="categorical_features"):
        catboost_json.read((tmp_path / "c.json").read_bytes())
    lopsided = catboost.CatBoostClassifier(
        iterations=2, verbose=0, allow_writing_files=False, grow_policy="Lossguide"
    ).fit(ROWS, TRUTH)
    lopsided.save_model(str(tmp_path / "l.json"), format="json")
    with pytest.raises(ModelError, match="not symmetric"):
        catboost_json.read((tmp_path / "l.json").read_bytes())


def test_base_scores_of_older_xgboost_and_other_objectives():
    booster = xgboost.train({"objective": "binary:logistic"}, xgboost.DMatrix(ROWS, label=TRUTH), 2)

    def number(learner):
        learner["learner_model_param"]["base_score"] = "2.5E-1"

    model = xgboost_file.read(edited(booster, number))
    assert model.margins.base[0] == pytest.approx(np.log(1 / 3), abs=1e-7)

    def hinge(learner):
        learner["objective"]["name"] = "binary:hinge"

    with pytest.raises(ModelError, match="'binary:hinge' is not known here"):
        xgboost_file.read(edited(booster, hinge))


def test_fields_and_versions_that_are_not_known_are_refused():
    """They might change what a model answers: with XGBoost 3.4, `weight_drop` moved into the trees' part."""
    booster = xgboost.train({"objective": "binary:logistic"}, xgboost.DMatrix(ROWS, label=TRUTH), 2)
    document = json.loads(booster.save_raw("json"))
    model = document["learner"]["gradient_booster"]["model"]
    model["weight_drop"] = [0.5, 2.0]
    plain, weighted = (
        xgboost_file.read(bytes(booster.save_raw("json"))),
        xgboost_file.read(json.dumps(document).encode()),
    )
    factor = np.where(plain.forest.node_tree == 0, 0.5, 2.0)
    np.testing.assert_array_equal(weighted.margins.leaf, plain.margins.leaf * factor)
    model["leaf_bonus"] = [1.0]
    with pytest.raises(ModelError, match="field 'leaf_bonus', which is not known"):
        xgboost_file.read(json.dumps(document).encode())
    del model["leaf_bonus"]
    document["version"] = [4, 0, 0]
    with pytest.raises(ModelError, match=r"XGBoost .*4, 0, 0"):
        xgboost_file.read(json.dumps(document).encode())
    grown = lightgbm.train({"objective": "binary", "verbose": -1}, lightgbm.Dataset(ROWS, label=TRUTH), 2)
    text = grown.model_to_string()
    for old, new, message in (
        ("version=v4", "version=v9", "is of version v9"),
        ("shrinkage=", "shrinkage_of=", "field 'shrinkage_of'"),
        ("label_index=", "label_at=", "field 'label_at'"),
    ):
        with pytest.raises(ModelError, match=message):
            lightgbm_text.read(text.replace(old, new).encode())


def test_a_vote_is_the_sign_of_a_margin_about_the_trees_centre():
    booster = xgboost.train(
        {"objective": "binary:logistic", "max_depth": 3}, xgboost.DMatrix(ROWS, label=TRUTH), 8
    )
    model = xgboost_file.read(bytes(booster.save_raw("json")))
    forest, leaf = model.forest, model.margins.leaf
    for tree in range(forest.n_trees):
        nodes = np.arange(*forest.offset[tree : tree + 2])
        mine = nodes[forest.is_leaf[nodes]]
        centre = np.median(np.unique(leaf[mine]))
        np.testing.assert_array_equal(forest.node_class[mine], leaf[mine] > centre)
        assert {0, 1} == set(forest.node_class[mine].tolist())
    with pytest.raises(ModelError, match="add margins and do not vote"):
        model.voting_forest("m.json")
