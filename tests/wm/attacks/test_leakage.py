"""Leakage: what scikit-learn's trees give away, on the authors' own files and on forests made here."""

from __future__ import annotations

import contextlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.ensemble import RandomForestClassifier

from tests.examples import examples
from wm.attacks.leakage import Severity, inspect
from wm.attacks.leakage.findings import GUESSED_SEEDS
from wm.errors import ModelError
from wm.forest import Forest
from wm.formats.export import to_sklearn
from wm.formats.scrubbing import scrubbed
from wm.formats.sklearn_metadata import from_model

NAMES = (
    *("offset", "left", "right", "feature", "threshold", "value"),
    *("impurity", "n_node_samples", "weighted_n_node_samples", "random_state"),
)


def arrays_of(released, which):
    return {name: released.arrays[f"{which}_{name}"] for name in NAMES}


def forest_arrays(forest):
    return {
        name: getattr(forest, name) for name in ("offset", "left", "right", "feature", "threshold", "value")
    }


def names(report):
    return [finding.name for finding in report.findings]


def up_to_complement(found, bits):
    return max(np.mean(found == bits), np.mean(found != bits))


def rows_of(seed, n=60):
    rng = np.random.default_rng(seed)
    X = rng.random((n, 5)).astype(np.float32)
    return X, (X[:, 0] + 0.3 * rng.random(n) > 0.6).astype(int)


def two_forests(X, y, bits, trigger, weights, seeds=(1001, 1002)):
    """Trees as the paper's scheme leaves them: one forest on true labels, one on flipped ones."""
    flipped = y.copy()
    flipped[trigger] = 1 - flipped[trigger]
    kinds = []
    for labels, weight, seed, count in zip(
        (y, flipped), weights, seeds, (len(bits) - bits.sum(), bits.sum()), strict=True
    ):
        sample_weight = np.ones(len(y))
        sample_weight[trigger] = weight
        model = RandomForestClassifier(int(count), bootstrap=False, random_state=seed)
        kinds.append(iter(model.fit(X, labels, sample_weight=sample_weight).estimators_))
    return [next(kinds[bit]) for bit in bits]


# --- the authors' own files


def test_the_published_watermarked_forest_gives_everything_away(released_forests, published_owner):
    if not released_forests.published:
        pytest.skip("WM_DATA_DIR does not hold the authors' published forests")
    report = inspect(**arrays_of(released_forests, "watermarked"))
    assert report.leaks
    assert report.trigger_size == 7
    assert report.weights == (2.0, 32.0)
    assert report.distinct_seeds == 35
    assert up_to_complement(report.signature, published_owner.signature.array) == 1.0
    assert sum(report.trigger_labels) == 7
    assert report.trigger_labels[1] == published_owner.trigger_y.sum()
    assert report.heavy_leaves == 213
    member = report.membership(published_owner.data.X_train)
    assert sorted(np.flatnonzero(member == 1.0)) == sorted(published_owner.trigger_rows)
    found = {finding.name: finding for finding in report.findings}
    assert found["root-weights"].severity is Severity.CRITICAL
    assert "405" in found["root-weights"].detail
    assert "35 of 35 pairs" in found["shared-seeds"].detail
    assert "random_state = 2" in found["guessable-seed"].detail


def test_the_published_standard_forest_gives_no_signature(released_forests, breast_cancer):
    report = inspect(**arrays_of(released_forests, "standard"))
    assert not report.leaks
    assert (report.signature, report.trigger_size, report.weights) == (None, None, ())
    assert report.distinct_seeds == 70
    assert not report.membership(breast_cancer.X_train).any()
    assert set(names(report)) == {"guessable-seed", "training-counts"}


@pytest.mark.parametrize("without", ["weighted_n_node_samples", "n_node_samples", "impurity", "random_state"])
def test_each_missing_array_costs_only_what_it_said(released_forests, published_owner, without):
    if not released_forests.published:
        pytest.skip("WM_DATA_DIR does not hold the authors' published forests")
    report = inspect(**{**arrays_of(released_forests, "watermarked"), without: None})
    assert up_to_complement(report.signature, published_owner.signature.array) == 1.0
    counted = without in ("impurity", "random_state")
    assert report.trigger_size == (7 if counted else None)
    assert (report.distinct_seeds is None) == (without == "random_state")


# --- forests made here


@examples(10)
@given(
    seed=st.integers(0, 2**31),
    size=st.integers(1, 6),
    steps=st.tuples(st.integers(1, 40), st.integers(1, 40)),
    step=st.sampled_from([1.0, 0.5, 0.3, 30.0]),
)
def test_weights_size_labels_and_signature_are_solved(seed, size, steps, step):
    X, y = rows_of(seed)
    rng = np.random.default_rng(seed)
    bits = rng.permutation(np.arange(10) % 2)
    trigger = rng.choice(len(y), size, replace=False)
    weights = tuple(1 + step * count for count in sorted(steps))
    trees = two_forests(X, y, bits, trigger, weights)
    report = inspect(**from_model(trees).arguments())
    if steps[0] == steps[1] and 2 * y[trigger].sum() == size:
        assert report.signature is None  # as many labels flipped one way as the other, by the same weight
    else:
        assert up_to_complement(report.signature, bits) == 1.0
    member = report.membership(X)
    assert (member[trigger] == 1.0).all()
    assert report.trigger_size is not None
    # Rows that share every leaf look like fewer, heavier rows; the product is fixed.
    assert size % report.trigger_size == 0
    assert report.trigger_size * (report.weights[-1] - 1) == pytest.approx(size * (weights[1] - 1), rel=1e-4)
    if steps[0] != steps[1] and report.trigger_size == size:
        assert np.array_equal(report.signature, bits)
        assert report.weights == pytest.approx(weights, rel=1e-4)
        assert report.trigger_labels == tuple(np.bincount(y[trigger], minlength=2))


def test_equal_weights_leave_the_class_priors():
    X, y = rows_of(3)
    bits = np.array([0, 1, 1, 0, 0, 1, 0, 1])
    trigger = np.flatnonzero(y == 1)[:3]
    report = inspect(**from_model(two_forests(X, y, bits, trigger, (5.0, 5.0))).arguments())
    assert "root-weights" not in names(report)
    assert "class-priors" in names(report)
    assert up_to_complement(report.signature, bits) == 1.0
    assert report.trigger_size == 3


def test_trees_in_two_blocks_are_a_finding():
    X, y = rows_of(4)
    bits = np.array([0, 0, 0, 0, 1, 1, 1])
    report = inspect(**from_model(two_forests(X, y, bits, [3, 5], (2.0, 9.0))).arguments())
    assert "tree-order" in names(report)


@pytest.mark.parametrize(
    "options",
    [
        {"bootstrap": False},
        {"bootstrap": True},
        {"bootstrap": False, "class_weight": "balanced", "max_depth": 3},
        {"bootstrap": True, "class_weight": "balanced_subsample"},
        {"bootstrap": False, "class_weight": {0: 1.0, 1: 7.5}, "max_leaf_nodes": 6},
    ],
)
def test_an_honest_forest_is_clean(options):
    X, y = rows_of(5, n=90)
    model = RandomForestClassifier(12, random_state=GUESSED_SEEDS + 1, **options).fit(X, y)
    report = inspect(**from_model(model).arguments())
    assert not report.leaks
    assert names(report) == ["training-counts"]
    assert (report.signature, report.trigger_size) == (None, None)
    assert not report.membership(X).any()


def test_class_weights_do_not_hide_trigger_rows():
    X, y = rows_of(6, n=90)
    trigger = np.array([4, 9, 30])
    weight = np.ones(len(y))
    weight[trigger] = 6.0
    model = RandomForestClassifier(
        12, bootstrap=False, class_weight={0: 1.0, 1: 3.0}, max_depth=6, random_state=1
    ).fit(X, y, sample_weight=weight)
    report = inspect(**from_model(model).arguments())
    assert report.trigger_size == 3
    assert report.weights == (6.0,)
    assert (report.membership(X)[trigger] == 1.0).all()


def test_a_forest_of_ours_leaks_its_class_priors_until_it_is_stripped(owner):
    """Even bare arrays keep class shares at the roots, and T0 and T1 saw other labels."""
    report = inspect(**forest_arrays(owner.watermarked))
    assert report.leaks
    assert up_to_complement(report.signature, owner.signature.array) == 1.0
    stripped = scrubbed(owner.watermarked)
    clean = inspect(**forest_arrays(stripped))
    assert not clean.leaks
    assert clean.findings == ()
    X = owner.data.X_test
    assert np.array_equal(stripped.votes(X), owner.watermarked.votes(X))
    assert scrubbed(stripped).content_hash == stripped.content_hash


def test_membership_takes_wider_rows_and_refuses_narrower_ones(released_forests, breast_cancer):
    report = inspect(**arrays_of(released_forests, "standard"))
    assert report.membership(breast_cancer.X_train[:3]).shape == (3,)
    with pytest.raises(ModelError, match="features or more"):
        report.membership(breast_cancer.X_train[:3, :4])


# --- hostile input

STUMPS = {
    "offset": np.array([0, 3, 6]),
    "left": np.array([1, -1, -1] * 2),
    "right": np.array([2, -1, -1] * 2),
    "feature": np.array([0, -2, -2] * 2),
    "threshold": np.array([0.5, -2, -2] * 2),
    "value": np.array([[2.0, 2.0], [2.0, 0.0], [0.0, 2.0]] * 2),
}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"value": np.full((6, 2), np.nan)}, "value holds a number that is not finite"),
        ({"value": [[1.0], [1.0, 2.0]]}, "value is not an array"),
        ({"value": np.ones((6, 2, 2))}, "value has shape"),
        ({"value": np.ones(6)}, "value has shape"),
        ({"feature": np.array(["a"] * 6)}, "feature must be"),
        ({"feature": []}, "feature must be"),
        ({"left": np.array([0, -1, -1] * 2)}, "cycle"),
        ({"n_node_samples": [4, 2, 2, 4, 2]}, "n_node_samples has shape"),
        ({"n_node_samples": [4, 2, 2, 4, 2, 0]}, "above 0"),
        ({"n_node_samples": [4, 2, 2, 4, 2, 1.5]}, "no count of rows"),
        ({"n_node_samples": ["4"] * 6}, "must be an array of numbers"),
        ({"weighted_n_node_samples": [4, 2, 2, 4, 2, np.inf]}, "not finite"),
        ({"weighted_n_node_samples": [4, 2, 2, 4, 2, -1]}, "above 0"),
        ({"impurity": [0.5]}, "impurity has shape \\(1,\\); one number for each of 6"),
        ({"impurity": [np.nan] * 6}, "impurity holds"),
        ({"random_state": [1]}, "random_state must be 2 whole numbers"),
        ({"random_state": [1.5, 2]}, "random_state must be 2 whole numbers"),
        ({"random_state": [-1, 2]}, "no seed"),
    ],
)
def test_arrays_that_fit_no_forest_are_refused_with_one_line(change, words):
    inspect(**STUMPS)
    with pytest.raises(ModelError, match=words) as refused:
        inspect(**STUMPS | change)
    assert "\n" not in str(refused.value)


@examples(200)
@given(data=st.data())
def test_damaged_arrays_are_refused_or_read_but_never_crash(data):
    arrays = {name: array.copy() for name, array in STUMPS.items()} | {
        "n_node_samples": np.array([4, 2, 2] * 2),
        "weighted_n_node_samples": np.array([4.0, 2.0, 2.0] * 2),
    }
    name = data.draw(st.sampled_from(sorted(arrays)))
    array = arrays[name]
    place = data.draw(st.integers(0, array.size - 1))
    bad = [-3, 0, 2, 7, 2**30] if array.dtype.kind == "i" else [-1.0, 0.0, 1e300, np.nan, np.inf, 5e-324]
    array.reshape(-1)[place] = data.draw(st.sampled_from(bad))
    report = None
    with contextlib.suppress(ModelError):
        report = inspect(**arrays)
    assert report is None or report.n_trees == 2


@pytest.mark.parametrize("depth", [1, 2])
def test_a_scrubbed_forest_is_clean_however_small_its_trees(depth):
    """Shares of leaves take few values in small trees; two of them, by chance, are no signature."""
    two_values = 0
    for seed in range(12):
        X, y = rows_of(seed)
        model = RandomForestClassifier(5, max_depth=depth, bootstrap=False, random_state=seed).fit(X, y)
        forest = scrubbed(Forest.from_sklearn(model))
        shares = forest.value[forest.offset[:-1], 0]
        two_values += len(np.unique(shares)) == 2
        for report in (
            inspect(**forest_arrays(forest)),
            inspect(**from_model(to_sklearn(forest)).arguments()),
        ):
            assert report.findings == ()
            assert (report.signature, report.trigger_size, report.heavy_leaves) == (None, None, 0)
    assert two_values > 0, "the case was met"


def test_a_scrubbed_forest_with_its_original_weights_is_no_scrubbed_one():
    X, y = rows_of(1)
    bits = np.array([0, 1] * 6)
    model = two_forests(X, y, bits, np.arange(4), (2.0, 5.0))
    arrays = from_model(model).arguments()
    clean = scrubbed(Forest.from_sklearn(model))
    report = inspect(**forest_arrays(clean), weighted_n_node_samples=arrays["weighted_n_node_samples"])
    assert up_to_complement(report.signature, bits) == 1.0
