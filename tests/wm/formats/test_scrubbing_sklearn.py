"""Scrubbed boosted models of scikit-learn: the same predictions, and nothing for an audit."""

from __future__ import annotations

import io

import joblib
import numpy as np
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.ensemble import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
)
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import wm
from wm.errors import ModelError
from wm.formats.scrubbing_sklearn import packed, scrubbed_boosting

FEW = {GradientBoostingClassifier: "n_estimators", GradientBoostingRegressor: "n_estimators"}


def fitted(kind, load, **options):
    X, y = load(return_X_y=True)
    count = {FEW.get(kind, "max_iter"): 8}
    weight = np.where(np.arange(len(y)) % 50 == 0, 32.0, 1.0)
    return kind(random_state=3, **count, **options).fit(X, y, sample_weight=weight), X


MODELS = {
    "two classes": (GradientBoostingClassifier, load_breast_cancer, {}),
    "three classes": (GradientBoostingClassifier, load_wine, {"subsample": 0.7}),
    "from zero": (GradientBoostingClassifier, load_breast_cancer, {"init": "zero"}),
    "exponential loss": (GradientBoostingClassifier, load_breast_cancer, {"loss": "exponential"}),
    "regression": (GradientBoostingRegressor, load_diabetes, {"loss": "huber"}),
    "histogram, two classes": (HistGradientBoostingClassifier, load_breast_cancer, {}),
    "histogram, three classes": (HistGradientBoostingClassifier, load_wine, {"class_weight": "balanced"}),
    "histogram, stopped early": (
        HistGradientBoostingClassifier,
        load_breast_cancer,
        {"early_stopping": True},
    ),
    "histogram, regression": (HistGradientBoostingRegressor, load_diabetes, {"loss": "absolute_error"}),
}


def answers(model, X):
    found = [model.predict(X)]
    if hasattr(model, "predict_proba"):
        found += [model.predict_proba(X), model.decision_function(X)]
    return found


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("ending", [".skops", ".joblib"])
def test_a_scrubbed_model_predicts_the_same_and_says_no_more(name, ending):
    kind, load, options = MODELS[name]
    model, X = fitted(kind, load, **options)
    content = packed(scrubbed_boosting(model), ending)
    if ending == ".skops":
        skops = pytest.importorskip("skops.io")
        again = skops.loads(content, trusted=skops.get_untrusted_types(data=content))
    else:
        again = joblib.load(io.BytesIO(content))
    assert type(again) is kind
    for before, after in zip(answers(model, X), answers(again, X), strict=True):
        np.testing.assert_array_equal(before, after)
    assert wm.audit(model).findings
    assert not wm.audit(again).findings
    # A missing value, where the model takes any, goes where it went.
    if hasattr(model, "_predictors"):
        X = np.where(np.arange(X.shape[1]) % 3 == 0, np.nan, X)
        np.testing.assert_array_equal(model.predict(X), again.predict(X))


@pytest.mark.parametrize("name", MODELS)
def test_no_number_of_the_training_is_left_in_any_array(name):
    """Attributes that hold randomness, scores or bins are gone; so are counts of nodes."""
    kind, load, options = MODELS[name]
    model, _ = fitted(kind, load, **options)
    made = scrubbed_boosting(model)
    for gone in ("train_score_", "validation_score_", "_rng", "_random_seed", "_feature_subsample_rng"):
        assert not hasattr(made, gone)
    assert made.random_state is None
    if hasattr(made, "estimators_"):
        for tree in made.estimators_.ravel():
            assert tree.random_state is None
            inner = tree.tree_
            assert not inner.n_node_samples.any()
            assert not inner.weighted_n_node_samples.any()
            assert not inner.impurity.any()
            assert not inner.value[inner.children_left >= 0].any()
    else:
        assert not sum(map(len, made._bin_mapper.bin_thresholds_))
        for column in made._predictors:
            for each in column:
                assert not each.nodes["count"].any()
                assert not each.nodes["gain"].any()


def test_the_audit_names_weights_counts_and_bins_before():
    gradient, _ = fitted(*MODELS["two classes"][:2])
    assert {each.name for each in wm.audit(gradient).findings} == {"heavy-leaves", "training-counts"}
    histogram, _ = fitted(*MODELS["histogram, two classes"][:2])
    found = {each.name: each.detail for each in wm.audit(histogram).findings}
    assert {"training-counts", "training-notes"} <= set(found)
    assert "midway between training values" in found["training-notes"]


def test_a_pipeline_keeps_its_steps_and_a_search_its_best_model():
    X, y = load_breast_cancer(return_X_y=True)
    columns = ColumnTransformer([("scaled", StandardScaler(), list(range(30)))])
    pipeline = make_pipeline(columns, HistGradientBoostingClassifier(max_iter=5)).fit(X, y)
    made = scrubbed_boosting(pipeline)
    np.testing.assert_array_equal(made.predict_proba(X), pipeline.predict_proba(X))
    assert wm.audit(pipeline).findings
    assert not wm.audit(made).findings
    search = GridSearchCV(GradientBoostingClassifier(n_estimators=5), {"max_depth": [1, 2]}, cv=2).fit(X, y)
    np.testing.assert_array_equal(scrubbed_boosting(search).predict_proba(X), search.predict_proba(X))


def test_other_models_are_left_to_others_and_impossible_ones_refused():
    X, y = load_breast_cancer(return_X_y=True)
    assert scrubbed_boosting(RandomForestClassifier(3).fit(X, y)) is None
    assert scrubbed_boosting(make_pipeline(StandardScaler(), RandomForestClassifier(3)).fit(X, y)) is None
    assert scrubbed_boosting([1, 2]) is None
    four = np.arange(len(y)) % 4
    categorical = HistGradientBoostingClassifier(max_iter=3, categorical_features=[0])
    with pytest.raises(ModelError, match="categor"):
        scrubbed_boosting(categorical.fit(np.column_stack([four, X]), four < 2))
    init = GradientBoostingClassifier(n_estimators=3, init=RandomForestClassifier(3)).fit(X, y)
    with pytest.raises(ModelError, match="init"):
        scrubbed_boosting(init)
