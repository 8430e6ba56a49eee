"""Models that are Python objects: boosted and regressing ones of scikit-learn, pipelines, searches, files."""

from __future__ import annotations

import joblib
import lightgbm
import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import (
    BaggingRegressor,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeRegressor, ExtraTreeRegressor

from wm.errors import ModelError
from wm.formats.export import as_trust_options, types_to_trust
from wm.formats.objects import model_of
from wm.formats.reading import read_model
from wm.testing import on_thresholds

ROWS, TRUTH = load_breast_cancer(return_X_y=True)
ROWS = ROWS[:, :5]
THREE = (ROWS[:, 1] * 7).astype(int) % 3
NAMES = np.array(["a", "b", "c"])[THREE]
HOLES = np.where(np.random.default_rng(0).random(ROWS.shape) < 0.1, np.nan, ROWS)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("kind", "labels", "takes_missing"),
    [
        (RandomForestClassifier(4, max_depth=5), NAMES, True),
        (GradientBoostingClassifier(n_estimators=4), TRUTH, False),
        (GradientBoostingClassifier(n_estimators=4), NAMES, False),
        (GradientBoostingClassifier(n_estimators=4, loss="exponential"), TRUTH, False),
        (GradientBoostingClassifier(n_estimators=4, init="zero", learning_rate=0.37), TRUTH, False),
        (GradientBoostingRegressor(n_estimators=4, loss="huber"), THREE, False),
        (HistGradientBoostingClassifier(max_iter=3, max_leaf_nodes=8), TRUTH, True),
        (HistGradientBoostingClassifier(max_iter=3, max_leaf_nodes=8), NAMES, True),
        (HistGradientBoostingRegressor(max_iter=3, max_leaf_nodes=8), THREE, True),
        (HistGradientBoostingRegressor(max_iter=3, max_leaf_nodes=8, loss="poisson"), THREE, True),
        (RandomForestRegressor(4, max_depth=5), THREE, True),
        (ExtraTreesRegressor(4, max_depth=5), THREE, True),
        (BaggingRegressor(DecisionTreeRegressor(max_depth=4), 4, max_features=0.5), THREE, True),
        (ExtraTreeRegressor(max_depth=5), THREE, True),
        (DecisionTreeRegressor(max_depth=4, monotonic_cst=[1, 0, 0, 0, 0]), THREE, False),
    ],
)
def test_answers_are_scikit_learns(kind, labels, takes_missing, dtype):
    for rows in (ROWS, HOLES) if takes_missing else (ROWS,):
        made = kind.set_params(random_state=0).fit(rows, labels)
        model = model_of(made)
        rng = np.random.default_rng(1)
        X = np.vstack([ROWS, on_thresholds(model.forest, ROWS, rng)]).astype(dtype)
        assert (model.forest.missing_left is not None) == takes_missing
        if takes_missing:
            X = np.vstack([X, np.where(rng.random(X.shape) < 0.3, np.nan, X)]).astype(dtype)
        if model.classes is None:
            np.testing.assert_allclose(model.predict(X), made.predict(X), rtol=1e-12)
        else:
            np.testing.assert_allclose(model.predict_proba(X), made.predict_proba(X), atol=1e-12)
            np.testing.assert_array_equal(model.predict(X), made.predict(X))
        if hasattr(made, "decision_function"):
            raw = made.decision_function(X).reshape(len(X), -1)
            np.testing.assert_allclose(model.raw(X), raw, rtol=1e-12, atol=1e-12)


def test_classes_of_lightgbm_may_be_text():
    X, y = load_breast_cancer(return_X_y=True)
    named = np.array(["bad", "good"], dtype=object)[y]
    model = lightgbm.LGBMClassifier(n_estimators=3, verbose=-1, n_jobs=1).fit(X, named)
    found = model_of(model)
    assert found.classes.tolist() == ["bad", "good"]
    np.testing.assert_array_equal(found.predict(X), model.predict(X))


def test_every_tree_of_gradient_boosting_reaches_its_own_leaf():
    made = GradientBoostingClassifier(n_estimators=4, random_state=0).fit(ROWS, THREE)
    model = model_of(made)
    X = on_thresholds(model.forest, ROWS, np.random.default_rng(1))
    own = model.forest.apply(X) - model.forest.offset[:-1]
    np.testing.assert_array_equal(own, made.apply(X).reshape(len(X), -1))


def test_a_pipelines_preparation_is_kept_and_votes_are_refused_without_it():
    made = make_pipeline(StandardScaler(), "passthrough", RandomForestClassifier(4, random_state=0))
    search = GridSearchCV(made, {"randomforestclassifier__max_depth": [2]}, cv=2).fit(ROWS, NAMES)
    model = model_of(search)
    prepared = model.preparation.transform(ROWS)
    np.testing.assert_allclose(model.predict_proba(prepared), search.predict_proba(ROWS), atol=1e-12)
    with pytest.raises(ModelError, match=r"prepares rows \(StandardScaler"):
        model.voting_forest("m.joblib")
    bare = make_pipeline("passthrough", RandomForestClassifier(4, random_state=0)).fit(ROWS, NAMES)
    assert model_of(bare).preparation is None


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: LogisticRegression(max_iter=10000).fit(ROWS, TRUTH), "LogisticRegression is not supported"),
        (
            lambda: CalibratedClassifierCV(RandomForestClassifier(2), cv=2).fit(ROWS, TRUTH),
            "CalibratedClassifierCV is not supported",
        ),
        (
            lambda: GradientBoostingClassifier(n_estimators=2, init=LogisticRegression(max_iter=10000)).fit(
                ROWS, TRUTH
            ),
            "starts from a LogisticRegression",
        ),
        (
            lambda: HistGradientBoostingClassifier(max_iter=2, categorical_features=[0]).fit(
                THREE[:, None], TRUTH
            ),
            "categorical",
        ),
        (GradientBoostingClassifier, "no trees: fit it first"),
        (HistGradientBoostingClassifier, "no trees: fit it first"),
        (RandomForestRegressor, "no trees: fit it first"),
    ],
)
def test_other_models_are_refused_by_name(make, message):
    with pytest.raises(ModelError, match=message) as caught:
        model_of(make())
    assert "\n" not in str(caught.value)


def test_files_of_objects_need_trust(tmp_path):
    made = HistGradientBoostingClassifier(max_iter=3).fit(ROWS, TRUTH)
    joblib.dump(made, tmp_path / "m.joblib")
    with pytest.raises(ModelError, match="say that you trust"):
        read_model(tmp_path / "m.joblib")
    model = read_model(tmp_path / "m.joblib", trust_pickle=True)
    np.testing.assert_array_equal(model.predict(ROWS), made.predict(ROWS))


def test_a_skops_file_needs_its_types_trusted(tmp_path):
    skops = pytest.importorskip("skops.io")
    made = GradientBoostingClassifier(n_estimators=3).fit(ROWS, TRUTH)
    skops.dump(made, tmp_path / "m.skops")
    types = skops.get_untrusted_types(file=tmp_path / "m.skops")
    model = read_model(tmp_path / "m.skops", trusted=types)
    np.testing.assert_array_equal(model.predict(ROWS), made.predict(ROWS))


def test_a_refusal_names_all_types_that_a_skops_file_needs(tmp_path):
    skops = pytest.importorskip("skops.io")
    made = make_pipeline(SimpleImputer(), RandomForestClassifier(3)).fit(ROWS, TRUTH)
    skops.dump(made, tmp_path / "m.skops")
    types = types_to_trust(tmp_path / "m.skops")
    assert len(types) > 1
    options = " ".join(f"--trust-type {name}" for name in types)
    for trusted in ((), types[:1], types[1:]):
        left = ", ".join(name for name in types if name not in trusted)
        with pytest.raises(ModelError, match=f"not trusted: {left}: if you trust them, give {options} "):
            read_model(tmp_path / "m.skops", trusted=trusted)
    assert read_model(tmp_path / "m.skops", trusted=types).forest.n_trees == 3


def test_options_that_trust_types_are_quoted_for_a_shell():
    assert (
        as_trust_options(["a.B", "a; b", "a\nb"])
        == r"--trust-type a.B --trust-type 'a; b' --trust-type 'a\nb'"
    )
