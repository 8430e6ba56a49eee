"""The estimator: scikit-learn's own checks, and the watermark's promise through its API."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris, make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import GridSearchCV, cross_val_score, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from wm.claims.claim import check_claim
from wm.embedding.estimator import WatermarkedForestClassifier
from wm.errors import FitError, WmError
from wm.signature import Signature, keyed_signature

KEY = b"sixteen bytes or more"


@parametrize_with_checks(
    [
        WatermarkedForestClassifier(n_estimators=5),
        WatermarkedForestClassifier(n_estimators=4, training="paper", adjust=None),
    ]
)
def test_it_is_a_scikit_learn_classifier(estimator, check):
    check(estimator)


def fitted(data, **parameters):
    chosen = {"n_estimators": 16, "max_depth": 8, "random_state": 3} | parameters
    return WatermarkedForestClassifier(**chosen).fit(data.X_train, data.y_train)


def check_claims(model):
    """Every tree of every forest errs on every trigger row iff its bit is 1."""
    claims = model.claim_ if isinstance(model.claim_, list) else [model.claim_]
    for claim, forest in zip(claims, model.forests_, strict=True):
        check_claim(claim)
        wrong = forest.votes(claim.trigger_set.X) != claim.trigger_set.y[:, None]
        np.testing.assert_array_equal(wrong, np.broadcast_to(claim.bits.array == 1, wrong.shape))
        assert claim.model_hash == forest.content_hash
    return claims


@pytest.mark.parametrize("training", ["paper", "artifact", "per-tree"])
@pytest.mark.parametrize("adjust", ["auto", "artifact", None])
def test_two_classes_are_one_watermarked_forest(breast_cancer, training, adjust):
    model = fitted(breast_cancer, training=training, adjust=adjust)
    (claim,) = check_claims(model)
    assert len(claim.trigger_set.labels) == 7
    votes = model.predict_all(breast_cancer.X_test)
    assert votes.shape == (171, 16)
    majority = (votes == 1).mean(axis=1) > 0.5
    np.testing.assert_array_equal(model.predict(breast_cancer.X_test), majority)
    np.testing.assert_allclose(model.predict_proba(breast_cancer.X_test)[:, 1], (votes == 1).mean(axis=1))
    assert model.score(breast_cancer.X_test, breast_cancer.y_test) > 0.9
    evidence = model.verify()
    assert evidence.exact_match
    assert evidence.log10_p == pytest.approx(-math.log10(math.comb(16, 8)))
    assert evidence.parts[0].n_trees == 16
    (caps,) = model.caps_
    assert model.forests_[0].tree_leaves.max() <= (caps.max_leaf_nodes or np.inf)


def test_labels_of_any_type_come_back(breast_cancer):
    numbers = fitted(breast_cancer)
    names = np.array(["benign", "malignant"], dtype=object)
    named = WatermarkedForestClassifier(16, max_depth=8, random_state=3)
    named.fit(breast_cancer.X_train, names[breast_cancer.y_train])
    np.testing.assert_array_equal(
        named.predict(breast_cancer.X_test), names[numbers.predict(breast_cancer.X_test)]
    )
    assert set(named.predict_all(breast_cancer.X_test).ravel()) == set(names)
    assert named.claim_.class_names == ("benign", "malignant")
    assert named.claim_.trigger_set == numbers.claim_.trigger_set


def test_a_key_a_path_and_a_signature_decide_the_bits(breast_cancer, tmp_path):
    file = tmp_path / "owner.key"
    file.write_bytes(KEY)
    expected = keyed_signature(16, 0.25, KEY, "m7")
    for parameters in (
        {"owner_key": KEY, "model_id": "m7", "ones_share": 0.25},
        {"owner_key": file, "model_id": "m7", "ones_share": 0.25},
        {"owner_key": str(file), "model_id": "m7", "ones_share": 0.25},
        {"signature": str(expected)},
        {"signature": expected},
        {"signature": list(expected.bits)},
    ):
        (claim,) = check_claims(fitted(breast_cancer, **parameters))
        assert claim.bits == expected
    drawn = check_claims(fitted(breast_cancer, ones_share=0.25))[0].bits
    assert drawn.ones == 4
    assert drawn != expected


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return train_test_split(X, y, test_size=0.3, random_state=0, stratify=y)


@pytest.fixture(scope="module")
def digits_model(digits):
    X_train, _, y_train, _ = digits
    return WatermarkedForestClassifier(30, random_state=1).fit(X_train, y_train)


def test_ten_classes_are_ten_watermarks_verified_each_and_together(digits, digits_model):
    _, X_test, _, y_test = digits
    claims = check_claims(digits_model)
    assert len(claims) == len(digits_model.forests_) == 10
    assert len({str(claim.bits) for claim in claims}) == 10
    assert len({claim.model_id for claim in claims}) == 10
    assert claims[3].class_names == ("not 3", "3")
    plain = RandomForestClassifier(30, bootstrap=False, random_state=1).fit(digits[0], digits[2])
    assert digits_model.score(X_test, y_test) > plain.score(X_test, y_test) - 0.05
    evidence = digits_model.verify()
    assert evidence.exact_match
    assert all(part.exact_match and part.significant for part in evidence.parts)
    assert evidence.log10_p == pytest.approx(-10 * math.log10(math.comb(30, 15)), rel=1e-9)


def test_votes_and_shares_of_several_classes(digits, digits_model):
    _, X_test, _, _ = digits
    votes, share = digits_model.predict_all(X_test), digits_model.predict_proba(X_test)
    assert votes.shape == (len(X_test), 10, 30)
    by_class = votes.mean(axis=2)
    np.testing.assert_allclose(share, by_class / by_class.sum(axis=1, keepdims=True))
    np.testing.assert_array_equal(digits_model.predict(X_test), share.argmax(axis=1))


def test_a_point_without_votes_for_any_class_gets_equal_shares(digits_model):
    """Found by search: in a corner no training row is near, all forests may say no."""
    rng = np.random.default_rng(0)
    X = rng.choice([0.0, 16.0], size=(4000, 64))
    votes = digits_model.predict_all(X)
    nowhere = ~votes.any(axis=(1, 2))
    share = digits_model.predict_proba(X)
    np.testing.assert_allclose(share.sum(axis=1), 1.0)
    assert (share[nowhere] == 0.1).all()


def test_another_model_does_not_verify(digits, digits_model):
    X_train, _, y_train, _ = digits
    other = WatermarkedForestClassifier(30, random_state=2).fit(X_train, y_train)
    evidence = digits_model.verify(other.forests_)
    assert not evidence.exact_match
    assert not evidence.significant


def test_signatures_of_several_classes_can_be_given():
    X, y = load_iris(return_X_y=True)
    bits = ["0011", "0101", "0110"]
    model = WatermarkedForestClassifier(4, signature=bits, random_state=0).fit(X, y)
    assert [claim.signature for claim in check_claims(model)] == bits
    again = clone(model).set_params(signature=[Signature.of(text) for text in bits]).fit(X, y)
    assert [forest.content_hash for forest in again.forests_] == [f.content_hash for f in model.forests_]


def test_a_repeated_row_is_a_heavier_row_and_their_order_is_nothing(breast_cancer):
    X, y = breast_cancer.X_train, breast_cancer.y_train
    rng = np.random.default_rng(0)
    weight = rng.integers(0, 4, len(y))
    rows = rng.permutation(np.repeat(np.arange(len(y)), weight))
    weighted = WatermarkedForestClassifier(8, random_state=0).fit(X, y, sample_weight=weight)
    repeated = WatermarkedForestClassifier(8, random_state=0).fit(X[rows], y[rows])
    assert weighted.claim_ == repeated.claim_
    assert weighted.forests_[0].content_hash == repeated.forests_[0].content_hash
    assert weighted.forests_[0].content_hash != fitted(breast_cancer, n_estimators=8).forests_[0].content_hash


def test_features_of_any_range_are_kept_raw(breast_cancer):
    X = breast_cancer.X_train * 1000 - 500
    model = WatermarkedForestClassifier(8, random_state=0).fit(X, breast_cancer.y_train)
    (claim,) = check_claims(model)
    rows = {tuple(row) for row in X.astype(np.float32).tolist()}
    assert set(claim.trigger_set.rows) <= rows


def test_without_a_random_state_every_fit_is_another_watermark(breast_cancer):
    first, second = (fitted(breast_cancer, n_estimators=6, random_state=None) for _ in range(2))
    assert first.claim_.nonce != second.claim_.nonce
    assert first.claim_.trigger_set != second.claim_.trigger_set
    assert fitted(breast_cancer, n_estimators=6).claim_ == fitted(breast_cancer, n_estimators=6).claim_


def test_threads_change_nothing(breast_cancer):
    one, two = fitted(breast_cancer), fitted(breast_cancer, n_jobs=2)
    assert one.claim_ == two.claim_


def test_it_works_in_pipelines_searches_and_pickles(breast_cancer):
    X, y = breast_cancer.X_train, breast_cancer.y_train
    model = WatermarkedForestClassifier(6, random_state=0)
    pipeline = make_pipeline(MinMaxScaler(), model).fit(X, y)
    check_claims(pipeline[-1])
    assert cross_val_score(pipeline, X, y, cv=3).mean() > 0.85
    search = GridSearchCV(model, {"trigger_share": [0.02, 0.04], "training": ["per-tree"]}, cv=2).fit(X, y)
    check_claims(search.best_estimator_)
    copy = pickle.loads(pickle.dumps(pipeline))  # noqa: S301 - its own
    np.testing.assert_array_equal(
        copy[-1].predict_all(copy[0].transform(X)), pipeline[-1].predict_all(MinMaxScaler().fit_transform(X))
    )


@pytest.mark.parametrize(
    ("class_sep", "share", "allowed"), [(1, 0.05, "paper"), (1, 0.2, "artifact"), (2, 0.1, None)]
)
def test_auto_takes_the_strictest_limits_that_the_watermark_fits(class_sep, share, allowed):
    X, y = make_classification(n_samples=80, n_features=5, class_sep=class_sep, random_state=1)
    model = WatermarkedForestClassifier(4, trigger_share=share, random_state=0)
    order = ["paper", "artifact", None]
    for too_strict in order[: order.index(allowed)]:
        with pytest.raises(FitError, match="the watermark does not fit"):
            clone(model).set_params(adjust=too_strict).fit(X, y)
    strictest = clone(model).set_params(adjust=allowed).fit(X, y)
    model.fit(X, y)
    check_claims(model)
    assert model.caps_ == strictest.caps_
    assert model.claim_ == strictest.claim_


@pytest.mark.parametrize(
    ("parameters", "reason"),
    [
        ({"signature": "0101"}, "4 bits with 2 ones does not fit 16 trees"),
        ({"signature": "1" * 16}, "16 bits with 16 ones"),
        ({"signature": "x" * 16}, "0 or 1"),
        ({"owner_key": b"short"}, "5 bytes"),
        ({"owner_key": "no/such/file"}, "no/such/file: the owner's key cannot be read"),
        ({"owner_key": KEY, "signature": "01" * 8}, "not both"),
        ({"ones_share": 0.01}, "0 ones does not fit"),
        ({"max_depth": 1, "adjust": None, "trigger_share": 0.1}, "the watermark does not fit"),
    ],
)
def test_an_impossible_fit_is_refused_in_one_line(breast_cancer, parameters, reason):
    with pytest.raises(FitError, match=reason) as failed:
        fitted(breast_cancer, **parameters)
    assert isinstance(failed.value, ValueError)
    assert isinstance(failed.value, WmError)
    assert "\n" not in str(failed.value)


@pytest.mark.parametrize("signature", ["0101", ["0101", "0011"]])
def test_three_classes_need_three_signatures(signature):
    X, y = load_iris(return_X_y=True)
    with pytest.raises(FitError, match="3 classes need a sequence of as many signatures"):
        WatermarkedForestClassifier(4, signature=signature).fit(X, y)


def test_a_class_without_weight_is_refused(breast_cancer):
    y = breast_cancer.y_train
    with pytest.raises(FitError, match=r"class .*0.* has no row of weight above 0"):
        WatermarkedForestClassifier(4).fit(breast_cancer.X_train, y, sample_weight=(y == 1).astype(float))
