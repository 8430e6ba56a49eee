"""The three calls of `import wm`: embedded watermarks verify on suspects of every form."""

from __future__ import annotations

import pkgutil
from datetime import UTC, datetime

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier

import wm
from tests import witness
from wm.claims.keys import new_key, public_hex
from wm.claims.pooled import check_pooled, parse_pooled
from wm.errors import ClaimError, DataError, EmbeddingError, FitError, ModelError
from wm.formats.export import save_model, to_sklearn
from wm.verification.judgement import Requirements
from wm.verification.lineup.order import Counts

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


def test_an_embedded_watermark_is_an_indication_and_leaks_nothing(owned):
    check_pooled(owned.claim)
    assert owned.evidence.exact_match
    assert owned.evidence.significant
    assert not wm.audit(owned.forest).leaks
    assert owned.forest.accuracy(X, y) > 0.9
    found = wm.verify(owned.claim, owned.forest)
    assert found.verdict == "indication"
    assert found.log10_p < -10


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"scheme": "codebook", "trigger_share": 0.05},
        {"scheme": "boosted", "n_estimators": 60, "trigger_rows": 20},
        {"scheme": "lineup", "max_depth": 6},
        {"scheme": "lineup", "boosting": True, "max_depth": 3},
    ],
)
def test_what_an_owner_gets_prints_no_secrets(options):
    owned = wm.embed(X, y, **{"n_estimators": 40, "seed": 7} | options)
    for shown in (repr(owned), str(owned), repr(owned.claim), str(owned.claim), f"{[owned.claim]}"):
        assert owned.claim.commitment in shown
        assert len(shown) < 250
        assert owned.claim.secret not in shown


def test_a_watermark_that_a_notary_drew_is_verified():
    owned = wm.embed(X, y, n_estimators=40, beacon=witness.witness)
    later = Requirements(suspect_since=datetime(2025, 6, 30, tzinfo=UTC))
    assert wm.verify(owned.claim, owned.forest, trust=witness.TRUST, requirements=later).verdict == "verified"
    assert wm.verify(owned.claim, owned.forest, requirements=later).verdict == "indication"
    honest = RandomForestClassifier(n_estimators=40, random_state=0).fit(X, y)
    assert wm.verify(owned.claim, honest, trust=witness.TRUST).verdict == "not verified"


def test_claims_and_suspects_may_be_files(owned, tmp_path):
    claim, model = tmp_path / "claim.json", tmp_path / "forest.npz"
    claim.write_text(owned.claim.to_json())
    owned.save(model)
    assert wm.verify(claim, str(model)) == wm.verify(owned.claim, owned.forest)


@pytest.mark.parametrize(
    ("label", "message"),
    [
        (1, "the labels are of types int and str: give all of one type"),
        (None, "1 of 569 labels are missing"),
    ],
)
def test_labels_without_an_order_are_refused_in_one_line(label, message):
    labels = NAMES.astype(object)
    labels[3] = label
    with pytest.raises(DataError, match=message):
        wm.embed(X, labels)
    for model in (wm.WatermarkedForestClassifier(), wm.WatermarkedBoostingClassifier()):
        with pytest.raises(FitError, match=message):
            model.fit(X, labels)


def test_usual_mistakes_are_named(owned):
    with pytest.raises(ClaimError, match="a claim, or its file, comes first, not Forest"):
        wm.verify(owned.forest, owned.claim)
    with pytest.raises(EmbeddingError, match="beacon is a function"):
        wm.embed(X, y, beacon="notary")
    labels = NAMES.astype(object)
    for nothing in (None, float("nan"), pd.NA):
        labels[3] = nothing
        with pytest.raises(DataError, match="1 of 569 labels are missing"):
            wm.embed(X, labels)


def test_equal_seeds_give_equal_claims_and_none_draws_new_secrets(owned):
    again = wm.embed(X, y, n_estimators=40, seed=7, n_jobs=2)
    assert (again.claim, again.forest.content_hash) == (owned.claim, owned.forest.content_hash)
    one, other = (wm.embed(X, y, n_estimators=10).claim for _ in range(2))
    for name in ("salt", "secret", "commitment", "receipts"):
        assert getattr(one, name) != getattr(other, name)
    assert one.header.owner != other.header.owner


def test_claims_are_compared_by_their_fields(owned):
    claim = parse_pooled(owned.claim.to_json())
    assert claim.X.shape == owned.claim.X.shape  # both keep their rows as arrays from now on
    assert claim == owned.claim
    assert claim != owned.claim.model_copy(update={"receipts": ()})
    assert claim != claim.to_json()


def test_options_are_those_of_the_scheme():
    made = wm.embed(
        X, y, n_estimators=20, trigger_share=0.01, ones_share=0.3, training="artifact", adjust="artifact"
    )
    assert (made.signature.ones, made.claim.header.ones, made.claim.header.trigger_size) == (6, 6, 5)
    assert made.embedded.fits % 2 == 0, "the authors' loop trains all trees of a kind again"
    key = new_key()
    named = wm.embed(X, y, n_estimators=10, key=key, pool_size=100, trigger_rows=6, model_id="mine")
    header = named.claim.header
    assert (header.owner, header.pool_size, header.trigger_size) == (public_hex(key), 100, 6)
    assert header.model_id == "mine"


def test_labels_and_features_may_have_names(owned):
    names = load_breast_cancer().feature_names  # an array
    named = wm.embed(X, NAMES, n_estimators=40, seed=7, feature_names=names)
    assert named.claim.header.class_names == ("benign", "malignant")
    assert named.claim.header.feature_names == tuple(names)
    model = to_sklearn(named.forest, classes=["benign", "malignant"])
    assert _matched(wm.verify(named.claim, model)) == _matched(wm.verify(named.claim, named.forest))


def _matched(judgement):
    return [(each.name, each.log10_p, each.figure) for each in judgement.tests]


@pytest.mark.parametrize("form", ["forest", "model", "trees", "votes", "list", "names"])
def test_every_form_of_a_suspect_has_the_same_verdict(owned, form):
    votes = owned.forest.votes(owned.claim.X)
    model = to_sklearn(owned.forest)
    suspect = {
        "forest": owned.forest,
        "model": model,
        "trees": list(model.estimators_),
        "votes": votes,
        "list": votes.tolist(),
        "names": to_sklearn(owned.forest, classes=["0", "1"]),
    }[form]
    found = wm.verify(parse_pooled(owned.claim.to_json()), suspect)
    assert found == wm.verify(owned.claim, owned.forest)
    assert found.tests[0].figure.startswith("440 of 440 votes")


@pytest.mark.parametrize("form", ["forest", "votes"])
def test_claims_of_version_2_are_judged_by_their_trigger_rows(owned, form):
    claim = witness.old_claim(owned.claim)
    suspect = owned.forest if form == "forest" else owned.forest.votes(claim.trigger_set.X)
    found = wm.verify(claim, suspect)
    assert (found.verdict, found.log10_p) == ("indication", owned.evidence.log10_p)
    honest = RandomForestClassifier(n_estimators=40, random_state=0).fit(X, y)
    assert wm.verify(claim, honest).verdict == "not verified"


def test_the_judge_decides_the_level(owned):
    strict = Requirements(level=1e-100)
    assert wm.verify(owned.claim, owned.forest, requirements=strict).verdict == "cannot be judged"
    for level in (0.0, 1.0, float("nan")):
        with pytest.raises(ClaimError, match="level"):
            Requirements(level=level)


def test_an_estimator_is_a_suspect(owned):
    model = wm.WatermarkedForestClassifier(n_estimators=40, random_state=0).fit(X, y)
    assert wm.verify(model.claim_, model).verdict == "indication"
    assert wm.verify(owned.claim, model).verdict == "not verified"


@pytest.mark.parametrize(
    ("suspect", "error"),
    [
        (np.zeros((3, 40)), ClaimError),
        (np.zeros(40), ClaimError),
        ("a file", ModelError),
        (object(), ClaimError),
        (RandomForestClassifier(), ModelError),
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
        (X, y, {"signature": "01"}, EmbeddingError, "signature"),
        (X, y, {"trigger_rows": 0}, EmbeddingError, "0 trigger rows"),
        (X, y, {"trigger_rows": 2}, EmbeddingError, "never be verified.* would do"),
        (X, y, {"trigger_rows": 569}, EmbeddingError, "some must be controls"),
        (X, y, {"pool_size": 570}, EmbeddingError, "pool of 570 rows"),
        (X, y, {"ones_share": 0.001}, EmbeddingError, "all bits equal"),
        (X, y, {"feature_names": ["a"]}, EmbeddingError, "1 features are named"),
        (X, y, {"feature_names": ["a"] * 30}, EmbeddingError, "given twice"),
        (X, y, {"n_estimators": 1}, EmbeddingError, "all bits equal"),
        (X, y, {"max_depth": 1, "seed": 0}, EmbeddingError, "does not fit"),
        (X[:, 0], y, {}, DataError, "shape"),
        (X, y[:-1], {}, DataError, "shape"),
        (X * np.nan, y, {}, DataError, "finite"),
        (X * 1e300, y, {}, DataError, "finite"),
        ([["a"]], [1], {}, DataError, "not real numbers"),
        (X, np.arange(len(X)), {}, DataError, "569 classes: 2 to 100"),
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


def test_an_honest_forest_that_a_notary_drew_is_verified_by_its_rows(tmp_path):
    owned = wm.embed(X, NAMES, n_estimators=20, max_depth=8, scheme="lineup", beacon=witness.witness)
    later = Requirements(suspect_since=datetime(2025, 6, 30, tzinfo=UTC))
    judge = {"trust": witness.TRUST, "requirements": later, "rows": (X, NAMES), "candidates": 5}
    assert wm.verify(owned.claim, owned.forest, **judge).verdict == "verified"
    honest = RandomForestClassifier(n_estimators=20, random_state=0).fit(X, NAMES)
    assert wm.verify(owned.claim, honest, **judge).verdict == "not verified"
    owned.save(tmp_path / "model.npz")
    assert wm.Forest.load(tmp_path / "model.npz").content_hash == owned.forest.content_hash


def test_a_frame_of_raw_rows_is_lined_up_by_its_preparation(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(40, 10, (150, 5)), columns=["age", *"abcd"])
    frame["job"] = rng.choice(["cook", "judge"], 150)
    label = np.where(frame.age + rng.normal(0, 5, 150) > 40, "old", "young")
    owned = wm.embed(frame, label, n_estimators=30, scheme="lineup", categorical="onehot", seed=1)
    assert owned.interface.preparation.feature_names == owned.claim.header.feature_names
    judge = {"rows": (frame, label), "candidates": 5, "counts": Counts(boundary=0, leaning=0)}
    assert wm.verify(owned.claim, owned.forest, **judge).verdict == "indication"


def test_a_number_and_a_share_of_trigger_rows_exclude_each_other():
    with pytest.raises(EmbeddingError, match="trigger_rows and trigger_share exclude each other"):
        wm.embed(X, y, trigger_rows=4, trigger_share=0.05)


def test_no_threads_at_all_are_refused():
    with pytest.raises(EmbeddingError, match="n_jobs is 0"):
        wm.embed(X, y, n_jobs=0)
    owned = wm.embed(X, y, n_estimators=4, scheme="lineup", seed=1)
    with pytest.raises(ClaimError, match="n_jobs is 0"):
        wm.verify(owned.claim, owned.forest, rows=(X, y), n_jobs=0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"trigger_rows": 5}, "scheme lineup has no trigger rows"),
        ({"pool_size": 50}, "scheme lineup has no trigger rows"),
        ({"candidates": 5}, r"wm\.verify\(candidates"),
        ({"trigger_share": 0.1}, "impossible options: trigger_share"),
    ],
)
def test_options_of_other_schemes_are_refused_for_a_line_up(options, message):
    with pytest.raises(EmbeddingError, match=message):
        wm.embed(X, y, n_estimators=4, scheme="lineup", **options)


def test_a_line_up_is_judged_with_rows_and_a_model():
    owned = wm.embed(X, y, n_estimators=4, scheme="lineup", seed=1)
    for suspect, rows in ((owned.forest, None), (owned.forest.votes(X), (X, y))):
        with pytest.raises(ClaimError, match=r"judged with the owner's training rows, rows=\(X, y\)"):
            wm.verify(owned.claim, suspect, rows=rows)
    with pytest.raises(DataError, match="'2' is no class of the claim: these are '0' and '1'"):
        wm.verify(owned.claim, owned.forest, rows=(X, y + 1))


@pytest.mark.parametrize(
    ("option", "value"), [("missing", "mean"), ("missing", "drop"), ("categorical", "one-hot")]
)
def test_unknown_ways_to_prepare_a_frame_are_refused(option, value):
    frame = pd.DataFrame({"a": [1.0, 2.0] * 20, "b": range(40)})
    with pytest.raises(DataError, match=f"^{option}='{value}': must be 'refuse' or '"):
        wm.embed(frame, [0, 1] * 20, **{option: value})
