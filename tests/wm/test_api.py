"""The three calls of `import wm`: embedded watermarks verify on suspects of every form."""

from __future__ import annotations

import pkgutil

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.ensemble import RandomForestClassifier

import wm
from wm.claims.claim import check_claim, parse_claim
from wm.errors import ClaimError, DataError, EmbeddingError, ModelError, SignatureError
from wm.formats.export import save_model, to_sklearn
from wm.verification.rules import Policy, Rule

X, y = load_breast_cancer(return_X_y=True)
NAMES = np.array(["malignant", "benign"])[y]  # in the other order than 0 and 1


@pytest.fixture(scope="module")
def owned():
    return wm.embed(X, y, n_estimators=40, seed=7)


@pytest.mark.parametrize(
    "path",
    [
        "wm.forest.Forest.from_arrays",
        "wm.engines.create",
        "wm.attacks.forgery.ForgeryQuery",
        "wm.attacks.leakage.inspect",
    ],
)
def test_import_paths_that_others_rely_on_stay(path):
    assert callable(pkgutil.resolve_name(path))


def test_an_embedded_watermark_verifies_and_leaks_nothing(owned):
    check_claim(owned.claim)
    assert owned.evidence.exact_match
    assert owned.evidence.significant
    assert not wm.audit(owned.forest).leaks
    assert owned.forest.accuracy(X, y) > 0.9


def test_equal_seeds_give_equal_claims_and_none_draws_new_secrets(owned):
    again = wm.embed(X, y, n_estimators=40, seed=7, n_jobs=2)
    assert (again.claim, again.forest.content_hash) == (owned.claim, owned.forest.content_hash)
    one, other = (wm.embed(X, y, n_estimators=10).claim for _ in range(2))
    assert one.nonce != other.nonce
    assert one.trigger_set != other.trigger_set


def test_options_are_those_of_the_scheme():
    bits = "01" * 10
    made = wm.embed(
        X, y, n_estimators=20, signature=bits, trigger_share=0.01, training="artifact", adjust="artifact"
    )
    assert (made.claim.signature, len(made.claim.trigger_set.rows)) == (bits, 5)
    assert made.embedded.fits % 10 == 0, "the authors' loop trains all trees of a kind again"


def test_labels_may_have_names(owned):
    named = wm.embed(X, NAMES, n_estimators=40, seed=7)
    assert named.claim.class_names == ("benign", "malignant")
    model = to_sklearn(named.forest, classes=["benign", "malignant"])
    assert wm.verify(named.claim, model).evidence.exact_match


@pytest.mark.parametrize("form", ["forest", "model", "trees", "votes", "list", "names"])
def test_every_form_of_a_suspect_has_the_same_verdict(owned, form):
    votes = owned.forest.votes(owned.claim.trigger_set.X)
    model = to_sklearn(owned.forest)
    suspect = {
        "forest": owned.forest,
        "model": model,
        "trees": list(model.estimators_),
        "votes": votes,
        "list": votes.tolist(),
        "names": to_sklearn(owned.forest, classes=["0", "1"]),
    }[form]
    verdict = wm.verify(parse_claim(owned.claim.to_json()), suspect, published=[owned.claim.commitment])
    assert verdict.accepted
    assert verdict.evidence == owned.evidence
    assert verdict.open_questions == ((Rule.DISTINCT_CELLS,) if form in ("votes", "list") else ())


def test_the_policy_decides(owned):
    strict = wm.verify(owned.claim, owned.forest, published=[], policy=Policy(min_ones=0.6))
    assert strict.stopped_by == (Rule.COMMITMENT, Rule.QUOTA)


def test_another_model_is_not_verified(owned):
    honest = RandomForestClassifier(n_estimators=40, random_state=0).fit(X, y)
    assert Rule.SIGNIFICANCE in wm.verify(owned.claim, honest).stopped_by


def test_an_estimator_is_a_suspect(owned):
    model = wm.WatermarkedForestClassifier(n_estimators=40, random_state=0).fit(X, y)
    assert wm.verify(model.claim_, model).evidence.exact_match
    assert not wm.verify(owned.claim, model).evidence.significant


@pytest.mark.parametrize(
    ("suspect", "error"),
    [
        (np.zeros((3, 40)), ClaimError),
        (np.zeros(40), ClaimError),
        ("a file", ClaimError),
        (object(), ClaimError),
        (RandomForestClassifier(), ModelError),
        (RandomForestClassifier(40, random_state=0).fit(*load_iris(return_X_y=True)), ClaimError),
        (RandomForestClassifier(40, random_state=0).fit(X[:, :3], y), ModelError),
    ],
)
def test_other_suspects_are_refused(owned, suspect, error):
    with pytest.raises(error):
        wm.verify(owned.claim, suspect)


@pytest.mark.parametrize(
    ("rows", "labels", "options", "error", "message"),
    [
        (X, y, {"trigger_share": 2}, EmbeddingError, "trigger_share"),
        (X, y, {"trigger_size": 2}, EmbeddingError, "trigger_size"),
        (X, y, {"weight_step": 1}, EmbeddingError, "weight_step has no meaning"),
        (X, y, {"n_estimators": 0}, EmbeddingError, "n_estimators"),
        (X, y, {"max_depth": 0}, EmbeddingError, "max_depth"),
        (X, y, {"signature": "01"}, SignatureError, "does not fit 70 trees"),
        (X, y, {"max_depth": 1, "seed": 0}, EmbeddingError, "does not fit"),
        (X[:, 0], y, {}, DataError, "shape"),
        (X, y[:-1], {}, DataError, "shape"),
        (X * np.nan, y, {}, DataError, "finite"),
        (X * 1e300, y, {}, DataError, "finite"),
        ([["a"]], [1], {}, DataError, "not real numbers"),
        (*load_iris(return_X_y=True), {}, DataError, "3 classes"),
        (X, np.ones(len(X)), {}, DataError, "1 classes"),
    ],
)
def test_impossible_inputs_are_refused(rows, labels, options, error, message):
    with pytest.raises(error, match=message) as failed:
        wm.embed(rows, labels, **options)
    assert str(failed.value).isprintable()


@pytest.mark.parametrize(("ending", "trusted"), [("npz", ()), ("skops", ["sklearn.tree._tree.Tree"])])
def test_files_are_audited(owned, tmp_path, ending, trusted):
    file = tmp_path / f"model.{ending}"
    save_model(owned.forest, file)
    assert not wm.audit(file, trusted=trusted).leaks
    assert not wm.audit(str(file), trusted=trusted).leaks


@pytest.mark.parametrize("model", ["none.npz", "model.pkl", object(), [], RandomForestClassifier()])
def test_other_models_are_not_audited(model, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model.pkl").write_bytes(b"")
    with pytest.raises(ModelError) as failed:
        wm.audit(model)
    assert str(failed.value).isprintable()
