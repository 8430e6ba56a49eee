"""The estimator: scikit-learn's own checks, and the watermark's promise through its API."""

from __future__ import annotations

import io
import math
import pickle

import joblib
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris, make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import GridSearchCV, cross_val_score, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.utils import estimator_html_repr
from sklearn.utils.estimator_checks import parametrize_with_checks

import wm
from wm.claims.claim import check_claim
from wm.embedding.estimator import WatermarkedForestClassifier
from wm.embedding.importances import impurity_importances
from wm.errors import FitError, WmError
from wm.forest import Forest
from wm.signature import Signature, keyed_signature

KEY = b"sixteen bytes or more"


@parametrize_with_checks(
    [
        WatermarkedForestClassifier(n_estimators=5),
        WatermarkedForestClassifier(n_estimators=4, training="paper", adjust=None),
        WatermarkedForestClassifier(n_estimators=4, scheme="lineup"),
    ],
    expected_failed_checks=lambda _estimator: {
        "check_class_weight_classifiers": "gives forests min_weight_fraction_leaf, which this one has not: "
        "its trees grow until their leaves are pure, whatever the rows weigh"
    },
)
def test_it_is_a_scikit_learn_classifier(estimator, check):
    check(estimator)


def fitted(data, **parameters):
    chosen = {"n_estimators": 16, "max_depth": 8, "random_state": 3} | parameters
    return WatermarkedForestClassifier(**chosen).fit(data.X_train, data.y_train)


def checked_claim(model):
    """Every tree errs on every trigger row iff its bit is 1."""
    claim, forest = model.claim_, model.forest_
    check_claim(claim)
    wrong = forest.votes(claim.trigger_set.X) != claim.trigger_set.y[:, None]
    np.testing.assert_array_equal(wrong, np.broadcast_to(claim.bits.array == 1, wrong.shape))
    assert claim.model_hash == forest.content_hash
    return claim


@pytest.mark.parametrize("scheme", ["paper", "codebook"])
def test_the_claim_of_a_fit_is_an_indication(breast_cancer, scheme):
    model = fitted(breast_cancer, n_estimators=30, scheme=scheme)
    found = wm.verify(model.claim_, model.forest_)
    (test,) = found.tests
    assert found.verdict == "indication"
    assert test.log10_floor <= test.log10_p == model.verify().log10_p


@pytest.mark.parametrize("training", ["paper", "artifact", "per-tree"])
@pytest.mark.parametrize("adjust", ["auto", "artifact", None])
def test_two_classes_are_one_watermarked_forest(breast_cancer, training, adjust):
    model = fitted(breast_cancer, training=training, adjust=adjust)
    claim = checked_claim(model)
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
    assert evidence.n_trees == 16
    assert model.forest_.tree_leaves.max() <= (model.caps_.max_leaf_nodes or np.inf)


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
        claim = checked_claim(fitted(breast_cancer, **parameters))
        assert claim.bits == expected
    drawn = checked_claim(fitted(breast_cancer, ones_share=0.25)).bits
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


def test_ten_classes_are_one_forest_with_one_watermark(digits, digits_model):
    _, X_test, _, y_test = digits
    claim = checked_claim(digits_model)
    assert claim.class_names == tuple("0123456789")
    plain = RandomForestClassifier(30, bootstrap=False, random_state=1).fit(digits[0], digits[2])
    assert digits_model.score(X_test, y_test) > plain.score(X_test, y_test) - 0.05
    evidence = digits_model.verify()
    assert evidence.exact_match
    assert evidence.log10_p == pytest.approx(-math.log10(math.comb(30, 15)))


def test_trees_that_err_vote_for_one_wrong_class_of_each_row(digits_model):
    """Trees with bit 1 agree on it, and it is not the same class, or the next one, on all rows."""
    claim = digits_model.claim_
    votes = digits_model.forest_.votes(claim.trigger_set.X)[:, claim.bits.array == 1]
    assert (votes == votes[:, :1]).all()
    steps = (votes[:, 0] - claim.trigger_set.y) % 10
    assert 0 not in steps
    assert len(set(steps.tolist())) > 3


def test_votes_and_shares_of_several_classes(digits, digits_model):
    _, X_test, _, _ = digits
    votes, share = digits_model.predict_all(X_test), digits_model.predict_proba(X_test)
    assert votes.shape == (len(X_test), 30)
    np.testing.assert_allclose(share, (votes[:, :, None] == np.arange(10)).mean(axis=1))
    np.testing.assert_array_equal(digits_model.predict(X_test), share.argmax(axis=1))


def test_another_model_does_not_verify(digits, digits_model):
    X_train, _, y_train, _ = digits
    other = WatermarkedForestClassifier(30, random_state=2).fit(X_train, y_train)
    evidence = digits_model.verify(other.forest_)
    assert not evidence.exact_match
    assert not evidence.significant


def test_a_signature_of_several_classes_can_be_given():
    X, y = load_iris(return_X_y=True)
    model = WatermarkedForestClassifier(4, signature="0101", random_state=0).fit(X, y)
    assert checked_claim(model).signature == "0101"
    again = clone(model).set_params(signature=Signature.of("0101")).fit(X, y)
    assert again.forest_.content_hash == model.forest_.content_hash


def test_a_repeated_row_is_a_heavier_row_and_their_order_is_nothing(breast_cancer):
    X, y = breast_cancer.X_train, breast_cancer.y_train
    rng = np.random.default_rng(0)
    weight = rng.integers(0, 4, len(y))
    rows = rng.permutation(np.repeat(np.arange(len(y)), weight))
    weighted = WatermarkedForestClassifier(8, random_state=0).fit(X, y, sample_weight=weight)
    repeated = WatermarkedForestClassifier(8, random_state=0).fit(X[rows], y[rows])
    assert weighted.claim_ == repeated.claim_
    assert weighted.forest_.content_hash == repeated.forest_.content_hash
    assert weighted.forest_.content_hash != fitted(breast_cancer, n_estimators=8).forest_.content_hash


def test_features_of_any_range_are_kept_raw(breast_cancer):
    X = breast_cancer.X_train * 1000 - 500
    model = WatermarkedForestClassifier(8, random_state=0).fit(X, breast_cancer.y_train)
    claim = checked_claim(model)
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
    checked_claim(pipeline[-1])
    assert cross_val_score(pipeline, X, y, cv=3).mean() > 0.85
    search = GridSearchCV(model, {"trigger_share": [0.02, 0.04], "training": ["per-tree"]}, cv=2).fit(X, y)
    checked_claim(search.best_estimator_)
    copy = pickle.loads(pickle.dumps(pipeline))  # noqa: S301 - its own
    np.testing.assert_array_equal(
        copy[-1].predict_all(copy[0].transform(X)), pipeline[-1].predict_all(MinMaxScaler().fit_transform(X))
    )


@pytest.mark.parametrize(
    ("class_sep", "share", "allowed"), [(1, 0.05, "paper"), (1, 0.3, "artifact"), (2, 0.1, None)]
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
    checked_claim(model)
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


def test_three_classes_have_one_signature():
    X, y = load_iris(return_X_y=True)
    model = WatermarkedForestClassifier(6, signature="010110", trigger_share=0.03, random_state=0).fit(X, y)
    assert model.claim_.signature == "010110"
    assert model.verify().exact_match
    with pytest.raises(ValueError, match="bits are 0 or 1"):
        WatermarkedForestClassifier(6, signature=["010110", "010110"]).fit(X, y)


def test_a_class_without_weight_is_refused(breast_cancer):
    y = breast_cancer.y_train
    with pytest.raises(FitError, match=r"class .*0.* has no row of weight above 0"):
        WatermarkedForestClassifier(4).fit(breast_cancer.X_train, y, sample_weight=(y == 1).astype(float))


def with_gaps(X, share=0.1):
    gaps = np.random.default_rng(0).random(X.shape) < share
    return np.where(gaps, np.nan, X)


def test_missing_values_become_medians_of_training_rows(breast_cancer):
    X, y = with_gaps(breast_cancer.X_train), breast_cancer.y_train
    model = WatermarkedForestClassifier(8, random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.fill_, np.nanmedian(X, axis=0).astype(np.float32))
    by_hand = np.where(np.isnan(X), np.nanmedian(X, axis=0), X)
    plain = WatermarkedForestClassifier(8, random_state=0, missing="refuse").fit(by_hand, y)
    checked_claim(model)
    assert model.claim_ == plain.claim_
    np.testing.assert_array_equal(model.predict_all(X), plain.predict_all(by_hand))
    assert plain.fill_ is None
    with pytest.raises(ValueError, match="NaN"):
        plain.predict(X)
    with pytest.raises(ValueError, match="NaN"):
        WatermarkedForestClassifier(8, missing="refuse").fit(X, y)


def test_a_column_without_values_counts_as_0():
    X = np.random.default_rng(0).random((40, 3))
    X[:, 1] = np.nan
    model = WatermarkedForestClassifier(4, random_state=0).fit(X, X[:, 0] > 0.5)
    assert model.fill_[1] == 0
    assert model.feature_importances_[1] == 0


@pytest.mark.parametrize("form", [sparse.csr_array, sparse.csc_array, sparse.coo_matrix])
def test_sparse_rows_are_the_dense_ones(breast_cancer, form):
    X, y = np.where(breast_cancer.X_train < 0.2, 0, breast_cancer.X_train), breast_cancer.y_train
    thin, thick = (WatermarkedForestClassifier(6, random_state=0).fit(rows, y) for rows in (form(X), X))
    assert thin.claim_ == thick.claim_
    np.testing.assert_array_equal(thin.predict_proba(form(X)), thick.predict_proba(X))


def test_a_sparse_matrix_beyond_memory_is_refused(monkeypatch):
    monkeypatch.setattr("wm.embedding.matrices.MAX_DENSE_BYTES", 100)
    X = sparse.csr_array(np.eye(6))
    with pytest.raises(FitError, match="6 rows of 6 features are more than 100 bytes when dense"):
        WatermarkedForestClassifier(4).fit(X, [0, 1] * 3)


def test_parameters_of_trees_reach_every_tree(breast_cancer):
    X, y = breast_cancer.X_train, breast_cancer.y_train
    for training in ("per-tree", "paper"):
        model = WatermarkedForestClassifier(
            6, random_state=0, min_samples_leaf=8, max_features=1.0, training=training, adjust=None
        ).fit(X, y)
        forest = model.forest_
        leaves = forest.apply(X)
        assert min(np.unique(column, return_counts=True)[1].min() for column in leaves.T) >= 8
        assert model.caps_.max_features == 1.0
        checked_claim(model)
    roots = {max_features: set() for max_features in (1, None)}
    for max_features, features in roots.items():
        model = WatermarkedForestClassifier(12, random_state=0, max_features=max_features).fit(X, y)
        features |= set(model.forest_.feature[model.forest_.offset[:-1]].tolist())
    assert len(roots[1]) > len(roots[None])


def test_class_weights_are_weights_of_rows(breast_cancer):
    X, y = breast_cancer.X_train, np.where(breast_cancer.y_train, "good", "bad")
    given = {"good": 1.0, "bad": 7.0}
    by_class = WatermarkedForestClassifier(6, random_state=0, class_weight=given, max_depth=2, adjust=None)
    by_row = clone(by_class).set_params(class_weight=None)
    by_class.fit(X, y)
    by_row.fit(X, y, sample_weight=[given[label] for label in y])
    assert by_class.claim_ == by_row.claim_
    np.testing.assert_array_equal(by_class.predict_all(X), by_row.predict_all(X))
    balanced = clone(by_class).set_params(class_weight="balanced").fit(X, y)
    checked_claim(balanced)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("depth", [None, 3])
def test_importances_are_those_of_scikit_learn_for_an_honest_forest(classes, depth):
    X, y = make_classification(200, 6, n_informative=4, n_classes=classes, random_state=1)
    X = X.astype(np.float32)
    weight = np.random.default_rng(0).random(200)
    honest = RandomForestClassifier(9, max_depth=depth, bootstrap=False, random_state=0)
    honest.fit(X, y, sample_weight=weight)
    found = impurity_importances(Forest.from_sklearn(honest), X, y, weight)
    np.testing.assert_allclose(found, honest.feature_importances_, atol=1e-12)


def test_importances_find_the_features_that_matter(digits, digits_model):
    rng = np.random.default_rng(0)
    X = rng.random((300, 5))
    model = WatermarkedForestClassifier(10, random_state=0).fit(X, X[:, 3] > 0.4)
    assert model.feature_importances_.argmax() == 3
    assert model.feature_importances_.sum() == pytest.approx(1)
    assert digits_model.feature_importances_.sum() == pytest.approx(1)
    assert digits_model.feature_importances_[0] == 0  # a pixel that is always white


def test_logarithms_of_probabilities(breast_cancer):
    model = fitted(breast_cancer)
    with np.errstate(divide="ignore"):
        expected = np.log(model.predict_proba(breast_cancer.X_test))
    np.testing.assert_array_equal(model.predict_log_proba(breast_cancer.X_test), expected)
    assert np.isneginf(expected).any()


def test_weights_are_routed_through_pipelines_and_searches(breast_cancer):
    X, y = breast_cancer.X_train, breast_cancer.y_train
    weight = np.where(y, 1.0, 5.0)
    with config_context(enable_metadata_routing=True):
        model = WatermarkedForestClassifier(4, random_state=0, adjust=None)
        model.set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        routed = make_pipeline(MinMaxScaler(), model).fit(X, y, sample_weight=weight)[-1]
        search = GridSearchCV(model, {"max_depth": [3]}, cv=2).fit(X, y, sample_weight=weight)
    plain = clone(model).fit(MinMaxScaler().fit_transform(X), y, sample_weight=weight)
    assert routed.claim_ == plain.claim_
    checked_claim(search.best_estimator_)


def test_frames_name_their_columns(breast_cancer):
    names = [f"feature {number}" for number in range(breast_cancer.X_train.shape[1])]
    frame = pd.DataFrame(breast_cancer.X_train, columns=names)
    frame.iloc[3, 2] = None
    labels = pd.Series(breast_cancer.y_train).map({0: "bad", 1: "good"}).astype("category")
    model = WatermarkedForestClassifier(6, random_state=0).fit(frame, labels)
    assert model.feature_names_in_.tolist() == names
    assert set(model.predict(frame)) == {"bad", "good"}
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[frame.columns[::-1]])


GIVEN_BITS = "0110100110010110"


@pytest.mark.parametrize(
    "secret",
    [
        {"signature": GIVEN_BITS},
        {"signature": Signature.of(GIVEN_BITS)},
        {"signature": [int(bit) for bit in GIVEN_BITS]},
        {"owner_key": KEY},
    ],
)
def test_secrets_are_not_printed_and_not_pickled(breast_cancer, secret):
    model = fitted(breast_cancer, **secret)
    bits = str(model.claim_.signature)
    pipeline = make_pipeline(model)
    texts = [
        *(show(each) for each in (model, pipeline) for show in (repr, estimator_html_repr)),
        *(repr(each.get_params()) for each in (model, pipeline)),
    ]
    for text in texts:
        assert "hidden" in text
        plain = text.replace(", ", "").replace("&#x27;", "")
        assert bits not in plain
        assert KEY.decode() not in plain
    for dump in (pickle.dumps, lambda each: joblib_bytes(each)):
        content = dump(pipeline)
        for part in (bits.encode(), KEY, model.claim_.nonce.encode(), b"trigger"):
            assert part not in content.replace(b"trigger_share", b""), part


def joblib_bytes(model):
    stream = io.BytesIO()
    joblib.dump(model, stream)
    return stream.getvalue()


def test_a_copy_predicts_and_proves_nothing(breast_cancer):
    model = fitted(breast_cancer, owner_key=KEY)
    copy = pickle.loads(pickle.dumps(model))  # noqa: S301 - its own
    np.testing.assert_array_equal(
        copy.predict_all(breast_cancer.X_test), model.predict_all(breast_cancer.X_test)
    )
    assert not hasattr(copy, "claim_")
    assert copy.owner_key is None
    with pytest.raises(WmError, match="a copy from a pickle has no claim"):
        copy.verify()
    assert model.verify().exact_match


@pytest.mark.parametrize("secret", [{"signature": "01" * 8}, {"owner_key": KEY}])
def test_hidden_parameters_still_decide_the_bits(breast_cancer, secret):
    model = WatermarkedForestClassifier(16, max_depth=8, random_state=3, **secret)
    unfitted = pickle.loads(pickle.dumps(model))  # noqa: S301 - its own: processes of a search need them
    copies = [clone(model), clone(clone(model)), unfitted]
    claims = [each.fit(breast_cancer.X_train, breast_cancer.y_train).claim_ for each in (model, *copies)]
    assert len({claim.signature for claim in claims}) == 1


def test_an_honest_forest_is_recognised_by_its_training_rows(breast_cancer):
    X, y = breast_cancer.X_train, np.array(["ill", "well"])[breast_cancer.y_train]
    weight = np.random.default_rng(0).integers(3, size=len(y))
    model = WatermarkedForestClassifier(20, scheme="lineup", max_depth=8, random_state=1)
    model.fit(X, y, sample_weight=weight)
    claim, forest = model.claim_, model.forest_
    assert claim.header.training.max_depth == 8
    rows = np.repeat(X, weight, axis=0), np.repeat(y, weight)
    assert wm.verify(claim, forest, rows=rows, candidates=5).log10_p < -8
    other = WatermarkedForestClassifier(20, scheme="lineup", max_depth=8, random_state=2)
    stranger = other.fit(X, y, sample_weight=weight).forest_
    assert wm.verify(claim, stranger, rows=rows, candidates=5).verdict == "not verified"
    with pytest.raises(WmError, match="the claim's forest was trained on"):
        wm.verify(claim, forest, rows=(X, y))
    with pytest.raises(WmError, match=r"judged with its training rows: wm\.verify"):
        model.verify()
    again = WatermarkedForestClassifier(20, model_id="model").fit(*rows, claim=claim)
    assert again.forest_.content_hash == forest.content_hash
    assert again.claim_ == claim


def test_secrets_of_line_ups_are_of_the_system_unless_it_is_a_rehearsal(breast_cancer):
    X, y = breast_cancer.X_train, breast_cancer.y_train
    fits = [
        WatermarkedForestClassifier(4, scheme="lineup", random_state=state).fit(X, y).claim_
        for state in (None, None, 1, 1)
    ]
    assert len({claim.secret for claim in fits}) == 3
    assert fits[2] == fits[3]


def test_a_line_up_of_several_classes_is_refused():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(FitError, match=r"Only binary classification.*scheme lineup compares"):
        WatermarkedForestClassifier(20, scheme="lineup").fit(X, y)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"owner_key": KEY}, "scheme lineup draws its bits"),
        ({"max_features": None}, "every seed would give almost the same tree"),
        ({"min_samples_leaf": 0.1}, "min_samples_leaf"),
        ({"class_weight": {0: 1, 1: 1.5}}, "whole numbers are needed"),
    ],
)
def test_what_a_line_up_has_not_is_refused(breast_cancer, options, message):
    model = WatermarkedForestClassifier(4, scheme="lineup", **options)
    with pytest.raises(WmError, match=message):
        model.fit(breast_cancer.X_train, breast_cancer.y_train)
