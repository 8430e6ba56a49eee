"""WatermarkedBoostingClassifier: scikit-learn's own checks, and the watermark's promise through its API."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.model_selection import cross_val_score
from sklearn.utils.estimator_checks import parametrize_with_checks

import wm
from tests import pools
from wm.claims.keys import public_hex
from wm.embedding.claimed import commit_pool
from wm.errors import ClaimError, FitError, ModelError
from wm.formats.reading import read_model
from wm.verification.judgement import VerdictKind
from wm.verification.lineup.order import Counts

Boosting = wm.WatermarkedBoostingClassifier
SETTINGS = {"n_estimators": 30, "trigger_share": 0.05, "random_state": 3}


@parametrize_with_checks(
    [
        Boosting(n_estimators=8, random_state=0),
        Boosting(n_estimators=8, random_state=0, scheme="lineup", max_depth=4, learning_rate=0.5),
    ],
    expected_failed_checks=lambda estimator: {
        "check_class_weight_classifiers": "gives class weights that are no whole numbers"
        if estimator.scheme == "lineup"
        else "gives one class nearly all weight; Newton's step of a leaf that has rows of one class only "
        "does not depend on their weights, in scikit-learn neither"
    },
)
def test_it_is_a_scikit_learn_classifier(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def model(breast_cancer):
    return Boosting(**SETTINGS).fit(breast_cancer.X_train, breast_cancer.y_train)


def test_the_claim_stands_against_the_released_file(breast_cancer, model, tmp_path):
    model.save(tmp_path / "model.json")
    released = read_model(tmp_path / "model.json")
    assert model.verify().log10_p < -50
    assert model.verify(released) == model.verify()
    found = wm.verify(model.claim_, released)
    assert (found.verdict, found.log10_p < -50) == (VerdictKind.INDICATION, True)
    shares = model.predict_proba(breast_cancer.X_test)
    np.testing.assert_array_equal(shares, released.predict_proba(breast_cancer.X_test))
    assert model.score(breast_cancer.X_test, breast_cancer.y_test) > 0.9
    assert not wm.audit(tmp_path / "model.json").leaks
    with pytest.raises(ModelError, match=r"must end in \.json"):
        model.save(tmp_path / "model.npz")


def test_a_plain_model_is_not_verified(breast_cancer, model):
    plain = GradientBoostingClassifier(n_estimators=30).fit(breast_cancer.X_train, breast_cancer.y_train)
    assert wm.verify(model.claim_, plain).verdict is VerdictKind.NOT_VERIFIED


def test_three_classes_with_names():
    X, y = load_iris(return_X_y=True, as_frame=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    # Missing values become medians: the released model takes filled rows.
    X.iloc[::7, 1] = np.nan
    model = Boosting(**SETTINGS).fit(X, names)
    assert model.claim_.header.trees == 90
    assert model.claim_.header.feature_names == tuple(X.columns)
    assert model.predict_proba(X).shape == (150, 3)
    assert model.score(X, names) > 0.9
    assert model.verify().log10_p < -50
    assert set(model.predict(X)) <= set(names)
    np.testing.assert_array_equal(model.fill_, np.nanmedian(X.to_numpy(dtype=np.float32), axis=0))


def test_equal_seeds_give_equal_models_and_none_gives_another(breast_cancer, model):
    again = clone(model).fit(breast_cancer.X_train, breast_cancer.y_train)
    assert again.claim_ == model.claim_
    other = clone(model).set_params(random_state=None).fit(breast_cancer.X_train, breast_cancer.y_train)
    assert other.claim_.commitment != model.claim_.commitment


def test_sparse_rows_frames_and_arrays_are_one_table(breast_cancer, model):
    X = breast_cancer.X_train
    same = clone(model).fit(sparse.csr_matrix(X), breast_cancer.y_train)
    np.testing.assert_array_equal(same.predict_proba(X), model.predict_proba(X))
    frame = pd.DataFrame(X, columns=[f"c{index}" for index in range(X.shape[1])])
    assert clone(model).fit(frame, breast_cancer.y_train).claim_.header.feature_names[0] == "c0"


def test_importances_of_a_model_without_marks_are_those_of_scikit_learn(breast_cancer):
    """With one trigger row of the weight of any other, and no bits to speak of, hardly anything is marked."""
    X, y = breast_cancer.X_train, breast_cancer.y_train
    few = {"n_estimators": 16, "trigger_share": 1e-6, "fit_share": 0.51, "max_weight": 1, "random_state": 0}
    marked = Boosting(**few).fit(X, y)
    plain = GradientBoostingClassifier(n_estimators=16, random_state=0).fit(X, y)
    assert marked.feature_importances_.sum() == pytest.approx(1)
    assert np.corrcoef(marked.feature_importances_, plain.feature_importances_)[0, 1] > 0.95


def test_pickles_hold_no_claim_and_nothing_is_printed(breast_cancer, model):
    copy = pickle.loads(pickle.dumps(model))  # noqa: S301 - its own
    assert not hasattr(copy, "claim_")
    np.testing.assert_array_equal(copy.predict(breast_cancer.X_test), model.predict(breast_cancer.X_test))
    with pytest.raises(ClaimError, match="a copy from a pickle has no claim"):
        copy.verify()
    assert model.claim_.secret not in repr(model)


def test_a_witnessed_claim_is_verified(breast_cancer):
    X, y = breast_cancer.X_train, breast_cancer.y_train
    claim = commit_pool(
        pools.owners(X, y, ("0", "1")),
        trees=30,
        ones_share=0.5,
        trigger_size=12,
        owner=public_hex(pools.OWNER),
        model_id="m",
        scheme="boosted",
    )
    drawn = claim.model_copy(update={"receipts": (pools.receipt_of(claim),)})
    model = Boosting(30).fit(X, y, claim=drawn)
    assert model.claim_ == drawn
    found = wm.verify(drawn, model.model_, trust=pools.TRUST, requirements=pools.JUDGE)
    assert found.verdict is VerdictKind.VERIFIED
    with pytest.raises(FitError, match="the claim is of 30 trees, n_estimators is 20"):
        Boosting(20).fit(X, y, claim=drawn)
    with pytest.raises(FitError, match="WatermarkedBoostingClassifier"):
        wm.WatermarkedForestClassifier(30).fit(X, y, claim=drawn)


def test_what_cannot_be_watermarked_is_refused(breast_cancer):
    X, y = breast_cancer.X_train, breast_cancer.y_train
    with pytest.raises(FitError, match="an even number of trees"):
        Boosting(7).fit(X, y)
    with pytest.raises(FitError, match="the watermark does not show"):
        Boosting(10, max_depth=1, max_weight=1, trigger_share=0.05, random_state=0).fit(X, y)
    with pytest.raises(FitError, match="two classes are needed"):
        Boosting(8).fit(X, np.zeros(len(y)))


def test_it_is_cross_validated(breast_cancer):
    scores = cross_val_score(Boosting(8, random_state=0), breast_cancer.X_train, breast_cancer.y_train, cv=2)
    assert scores.min() > 0.85


@pytest.fixture(scope="module")
def recognised(breast_cancer):
    return Boosting(30, scheme="lineup", random_state=3).fit(breast_cancer.X_train, breast_cancer.y_train)


def test_an_honest_model_is_recognised_by_its_rows(breast_cancer, recognised, tmp_path):
    rows = breast_cancer.X_train, breast_cancer.y_train
    recognised.save(tmp_path / "model.json")
    released = read_model(tmp_path / "model.json")
    counts = Counts(natural=0, mixups=200, boundary=100, leaning=0)
    found = wm.verify(recognised.claim_, released, rows=rows, candidates=8, counts=counts)
    assert (found.verdict, found.log10_p < -20) == (VerdictKind.INDICATION, True)
    other = Boosting(30, scheme="lineup", random_state=4).fit(*rows)
    judged = wm.verify(recognised.claim_, other.model_, rows=rows, candidates=8, counts=counts)
    assert judged.verdict is VerdictKind.NOT_VERIFIED
    assert recognised.score(breast_cancer.X_test, breast_cancer.y_test) > 0.9
    assert recognised.feature_importances_.sum() == pytest.approx(1)
    with pytest.raises(ClaimError, match="is judged with its training rows"):
        recognised.verify()


def test_a_line_up_takes_two_classes_and_whole_weights(breast_cancer, recognised):
    with pytest.raises(FitError, match="Only binary classification"):
        clone(recognised).fit(*load_iris(return_X_y=True))
    rows = breast_cancer.X_train, breast_cancer.y_train
    with pytest.raises(FitError, match="whole numbers are needed as sample_weight"):
        clone(recognised).fit(*rows, sample_weight=np.full(len(rows[1]), 0.5))
    again = Boosting(30, scheme="lineup", random_state=9).fit(*rows, claim=recognised.claim_)
    np.testing.assert_array_equal(again.predict_proba(rows[0]), recognised.predict_proba(rows[0]))
    with pytest.raises(FitError, match="of 30 trees, n_estimators is 20"):
        Boosting(20, scheme="lineup").fit(*rows, claim=recognised.claim_)
