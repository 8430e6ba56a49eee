"""The audit of other libraries' models: heavy rows in sums of weights, and secrets inside Python objects."""

from __future__ import annotations

import joblib
import lightgbm
import numpy as np
import pytest
import xgboost
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import (
    BaggingRegressor,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestRegressor,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import wm
from wm.attacks.leakage.files import inspect_file, inspect_object
from wm.formats.objects import model_of

ROWS, TRUTH = load_breast_cancer(return_X_y=True)
HEAVY = np.arange(0, 60, 12)


def weights(of_heavy):
    found = np.ones(len(ROWS))
    found[HEAVY] = of_heavy
    return found


def names(report):
    return {finding.name for finding in report.findings}


@pytest.mark.parametrize("objective", ["binary", "regression"])
def test_lightgbms_counts_and_weights_show_heavy_rows(objective, tmp_path):
    reports = {}
    for weight in (1.0, 9.0):
        settings = {"objective": objective, "num_leaves": 40, "min_data_in_leaf": 1, "verbose": -1, "seed": 0}
        data = lightgbm.Dataset(ROWS, label=TRUTH, weight=weights(weight))
        file = tmp_path / f"{weight}.txt"
        lightgbm.train(settings, data, 3).save_model(str(file))
        reports[weight] = inspect_file(file)
    assert not reports[1.0].leaks
    assert {"training-counts", "training-notes"} <= names(reports[1.0])
    assert reports[9.0].leaks
    assert "heavy-leaves" in names(reports[9.0])
    membership = reports[9.0].membership(ROWS)
    assert (membership[HEAVY] == 1.0).all()
    assert membership.mean() < 0.8
    assert reports[9.0].n_trees == 3


@pytest.mark.parametrize("objective", ["binary:logistic", "reg:squarederror"])
def test_xgboosts_sums_of_hessians_show_that_rows_are_weighted(objective, tmp_path):
    for weight, leaks in ((1.0, False), (2.37, True)):
        data = xgboost.DMatrix(ROWS, label=TRUTH, weight=weights(weight))
        booster = xgboost.train({"objective": objective, "max_depth": 4}, data, 3)
        for ending in ("json", "ubj"):
            booster.save_model(tmp_path / f"m.{ending}")
            report = inspect_file(tmp_path / f"m.{ending}")
            assert report.leaks == leaks
            assert ("row-weights" in names(report)) == leaks
            assert "training-sums" in names(report)
            assert "sum_hessian" in report.findings[-1].detail


def test_boosted_models_of_scikit_learn():
    plain = GradientBoostingClassifier(n_estimators=3, random_state=0).fit(ROWS, TRUTH)
    assert names(inspect_object(plain)) == {"training-counts"}
    heavy = GradientBoostingClassifier(n_estimators=3, random_state=0, max_depth=5)
    heavy.fit(ROWS, TRUTH, sample_weight=weights(5.0))
    assert "heavy-leaves" in names(wm.audit(heavy))
    histogram = HistGradientBoostingClassifier(max_iter=2, max_leaf_nodes=4).fit(ROWS, TRUTH)
    assert names(wm.audit(model_of(histogram))) == {"training-counts", "training-notes"}


@pytest.fixture(scope="module")
def owned():
    return wm.embed(ROWS, TRUTH, n_estimators=16, seed=1)


@pytest.mark.parametrize(
    "model",
    [
        RandomForestRegressor(5),
        RandomForestRegressor(20, min_samples_leaf=5),
        ExtraTreesRegressor(5, bootstrap=True),
        BaggingRegressor(n_estimators=5),
    ],
)
@pytest.mark.parametrize("seed", range(3))
def test_bootstrap_counts_are_no_weights(model, seed):
    assert not wm.audit(model.set_params(random_state=seed).fit(ROWS, TRUTH)).leaks


def test_weights_of_rows_show_in_a_regressor():
    model = RandomForestRegressor(5, bootstrap=False).fit(ROWS, TRUTH, sample_weight=weights(3.0))
    assert "heavy-leaves" in names(wm.audit(model))


def test_a_pickled_model_that_holds_its_claim(owned, tmp_path):
    made = GradientBoostingClassifier(n_estimators=2).fit(ROWS, TRUTH)
    assert "secret-inside" not in names(inspect_object(made))
    made.notes_ = {"mine": [owned.claim]}
    joblib.dump(make_pipeline(StandardScaler(), made), tmp_path / "m.joblib")
    report = inspect_file(tmp_path / "m.joblib", trust_pickle=True)
    worst = report.findings[0]
    assert (worst.name, worst.severity) == ("secret-inside", "critical")
    assert "PooledClaim as model.steps[1][1].notes_['mine'][0]" in worst.detail
    assert report.leaks


def test_an_estimator_is_audited_by_its_forest_and_its_attributes(owned):
    estimator = wm.WatermarkedForestClassifier(n_estimators=16, random_state=1).fit(ROWS, TRUTH)
    assert not wm.audit(estimator.forest_).leaks
    estimator.signature_ = owned.signature
    assert any("Signature as model.signature_" in each.detail for each in wm.audit(estimator).findings)
