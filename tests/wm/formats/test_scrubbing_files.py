"""Scrubbed files of other libraries: the same predictions by these themselves, and nothing to find."""

from __future__ import annotations

from pathlib import Path

import catboost
import lightgbm
import numpy as np
import pytest
import xgboost
from sklearn.datasets import load_breast_cancer, load_wine

import wm
from wm.errors import ModelError
from wm.formats.reading import parse_model, read_model
from wm.formats.scrubbing_files import scrubbed_endings, scrubbed_file


def rows_of(classes):
    X, y = load_breast_cancer(return_X_y=True) if classes == 2 else load_wine(return_X_y=True)
    X = X[:, :6].copy()
    X[::9, 2] = np.nan
    return X, y


def of_xgboost(file, classes):
    X, y = rows_of(classes)
    early = {"early_stopping_rounds": 2, "eval_metric": "logloss" if classes == 2 else "mlogloss"}
    model = xgboost.XGBClassifier(n_estimators=9, max_depth=3, n_jobs=1, **early)
    model.fit(X[::2], y[::2], eval_set=[(X[1::2], y[1::2])], verbose=False).save_model(file)
    weight = np.where(np.arange(len(y)) < 9, 50.0, 1.0)
    model.fit(X, y, sample_weight=weight, eval_set=[(X, y)], verbose=False).save_model(file)

    def predict(path):
        again = xgboost.XGBClassifier()
        again.load_model(path)
        return again.predict_proba(X)

    return predict


def of_lightgbm(file, classes):
    X, y = rows_of(classes)
    model = lightgbm.LGBMClassifier(n_estimators=6, num_leaves=7, verbose=-1, n_jobs=1).fit(X, y)
    model.booster_.save_model(file)
    return lambda path: lightgbm.Booster(model_file=str(path)).predict(X)


def of_catboost(file, classes):
    X, y = rows_of(classes)
    model = catboost.CatBoostClassifier(iterations=5, depth=3, verbose=0, allow_writing_files=False)
    model.fit(X, y).save_model(str(file), format="json")

    def predict(path):
        again = catboost.CatBoostClassifier()
        again.load_model(str(path), format="json")
        return again.predict_proba(X)

    return predict


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize(
    ("make", "name", "ending"),
    [
        (of_xgboost, "m.json", ".json"),
        (of_xgboost, "m.ubj", ".json"),
        (of_lightgbm, "m.txt", ".txt"),
        (of_catboost, "m.json", ".json"),
    ],
)
def test_predictions_stay_and_findings_go(tmp_path, capfd, make, name, ending, classes):
    file, scrubbed = tmp_path / name, tmp_path / f"scrubbed{ending}"
    predict = make(file, classes)
    model = read_model(file)
    assert ending in scrubbed_endings(model)
    assert wm.audit(file).findings
    content = scrubbed_file(
        model, file.read_bytes(), lambda data: parse_model(data, ending, what="the scrubbed file")
    )
    scrubbed.write_bytes(content)
    np.testing.assert_array_equal(predict(scrubbed), predict(file))
    assert "invalid" not in capfd.readouterr().err
    left = [finding for finding in wm.audit(scrubbed).findings if "best_iteration" not in finding.detail]
    assert left == []


def test_another_model_is_never_written(tmp_path):
    file = tmp_path / "m.txt"
    of_lightgbm(file, 2)
    other = tmp_path / "o.txt"
    of_lightgbm(other, 3)
    with pytest.raises(ModelError, match="it would be another model"):
        scrubbed_file(read_model(file), Path(file).read_bytes(), lambda _: read_model(other))
