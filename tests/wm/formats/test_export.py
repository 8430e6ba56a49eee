"""Export: working models with no trace of training, and files that run no code unless trusted."""

from __future__ import annotations

import pickle
import sys
from pathlib import Path

import joblib
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import export_text
from sklearn.utils.validation import check_is_fitted

from tests.examples import examples
from wm.embedding.training import Caps, fit_trees, honest_forest
from wm.errors import ModelError
from wm.forest import Forest
from wm.formats.export import load_model, save_model, to_sklearn
from wm.formats.scrubbing import leaves_below, scrubbed

SUMMARIES = {
    "first": lambda values: values[0],
    "last": lambda values: values[-1],
    "size": len,
    "distinct": lambda values: len(np.unique(values)),
    **{name: getattr(np, name) for name in ("min", "max", "mean", "median", "std", "sum")},
}


def attributes(tree):
    """Return everything that a fitted tree carries: name -> one-dimensional array of numbers."""
    found = {}
    everything = {
        **vars(tree),
        **tree.get_params(),
        **{name: getattr(tree.tree_, name) for name in dir(tree.tree_) if not name.startswith("_")},
        "depth": tree.get_depth(),
        "n_leaves": tree.get_n_leaves(),
        "feature_importances": tree.feature_importances_,
    }
    nodes = tree.tree_.__getstate__()["nodes"]
    everything |= {f"nodes.{name}": nodes[name] for name in nodes.dtype.names}
    for name, value in everything.items():
        if callable(value) or name == "tree_":
            continue
        array = np.asarray(value)
        if array.dtype.kind in "biuf":
            columns = array.reshape(len(array), -1).T if array.ndim > 1 else [array.ravel()]
            found |= {f"{name}[{number}]": column.astype(float) for number, column in enumerate(columns)}
        else:
            found[name] = repr(value)
    return found


def separation(values, bits):
    """Return the AUC of one number for each tree, 0.5 to 1 for either direction."""
    ones, zeros = values[bits == 1], values[bits == 0]
    auc = stats.mannwhitneyu(ones, zeros).statistic / (len(ones) * len(zeros))
    return max(auc, 1 - auc)


def separations(per_tree, bits):
    """Return the AUC of every summary of every array."""
    found = {}
    for name in per_tree[0]:
        for summary, function in SUMMARIES.items():
            values = np.array([function(tree[name]) if len(tree[name]) else 0.0 for tree in per_tree])
            found[name, summary] = separation(values, bits)
    return found


def structure(forest):
    """Return each tree's shape, tests and votes of leaves."""
    below = leaves_below(forest)
    trees = []
    for start, end in zip(forest.offset[:-1], forest.offset[1:], strict=True):
        inner, leaf = ~forest.is_leaf[start:end], forest.is_leaf[start:end]
        trees.append(
            {
                "left": forest.left[start:end],
                "right": forest.right[start:end],
                "feature": forest.feature[start:end],
                "threshold": forest.threshold[start:end],
                "threshold inside": forest.threshold[start:end][inner],
                "leaf votes": forest.node_class[start:end][leaf],
                "leaf depth": forest.node_depth[start:end][leaf],
                "leaves below": below[start:end].sum(axis=1),
                "share below": (below / below.sum(axis=1, keepdims=True))[start:end, 1],
            }
        )
    return trees


@pytest.fixture(scope="module")
def released(owner):
    return to_sklearn(owner.watermarked)


def test_the_model_works_and_votes_as_the_forest(owner, released):
    X, forest = owner.data.X_test, owner.watermarked
    check_is_fitted(released)
    assert isinstance(released, RandomForestClassifier)
    votes = np.stack([tree.predict(X) for tree in released.estimators_], axis=1)
    np.testing.assert_array_equal(votes, forest.votes(X))
    np.testing.assert_array_equal(released.predict(X), forest.predict(X))
    np.testing.assert_allclose(released.predict_proba(X), forest.vote_shares(X))
    assert released.score(X, owner.data.y_test) == forest.accuracy(X, owner.data.y_test)
    np.testing.assert_allclose(released.feature_importances_.sum(), 1.0)
    leaves = released.apply(X)
    assert leaves.shape == votes.shape
    assert "feature_" in export_text(released.estimators_[0])
    copy = pickle.loads(pickle.dumps(released))  # noqa: S301 - its own
    np.testing.assert_array_equal(copy.predict(X), released.predict(X))
    assert Forest.from_sklearn(released).content_hash == scrubbed(forest).content_hash


def test_parameters_are_those_of_any_forest_and_the_same_for_every_tree(owner, released):
    assert released.get_params() == {
        **RandomForestClassifier().get_params(),
        "n_estimators": 70,
        "bootstrap": False,
    }
    assert len({repr(tree.get_params()) for tree in released.estimators_}) == 1
    assert all(tree.random_state is None for tree in released.estimators_)
    fitted = {name for name in vars(released) if name.endswith("_")}
    assert fitted == {"estimators_", "estimator_", "classes_", "n_classes_", "n_outputs_", "n_features_in_"}


@examples(25)
@given(seed=st.integers(0, 2**32))
def test_every_attribute_is_a_function_of_structure_and_votes(owner, seed):
    """A forest with other class shares gives the same model."""
    forest = owner.watermarked.select([0, 1, 2, 3])
    value = np.random.default_rng(seed).uniform(0.1, 1.0, forest.value.shape)
    value[np.arange(len(value)), forest.node_class] = 2.0
    inner = ~forest.is_leaf
    value[inner] = value[inner][:, ::-1]  # nor do the votes of inner nodes matter
    twin = Forest.from_arrays(
        offset=forest.offset,
        left=forest.left,
        right=forest.right,
        feature=forest.feature,
        threshold=forest.threshold,
        value=value,
        n_features=forest.n_features,
        classes=forest.classes,
    )
    for one, other in zip(to_sklearn(forest).estimators_, to_sklearn(twin).estimators_, strict=True):
        mine, others = attributes(one), attributes(other)
        assert mine.keys() == others.keys()
        for name in mine:
            np.testing.assert_array_equal(mine[name], others[name], err_msg=name)


def test_no_attribute_separates_the_two_kinds_better_than_structure(owner, released):
    bits = owner.signature.array
    per_tree = [attributes(tree) for tree in released.estimators_]
    texts = [name for name, value in per_tree[0].items() if isinstance(value, str)]
    assert all(tree[name] == per_tree[0][name] for tree in per_tree for name in texts)
    numbers = [{name: tree[name] for name in tree if name not in texts} for tree in per_tree]
    assert {"impurity[0]", "value[0]", "n_node_samples[0]", "weighted_n_node_samples[0]"} <= numbers[0].keys()
    exported = separations(numbers, bits)
    best = max(separations(structure(scrubbed(owner.watermarked)), bits).values())
    assert max(exported.values()) <= best
    assert best < 1.0  # what training leaves in its trees separates them perfectly: see the next test


def test_unscrubbed_attributes_separate_the_two_kinds_of_trees(owner):
    """Scikit-learn's own attributes, and leaf values from plain counts, reveal the signature."""
    X, y, bits = owner.data.X_train, owner.data.y_train, owner.signature.array
    rows = owner.trigger_rows
    flipped = y.copy()
    flipped[rows] = 1 - flipped[rows]
    weight = np.where(np.isin(np.arange(len(y)), rows), 31.0, 1.0)
    kinds = {
        kind: iter(
            fit_trees(
                X,
                labels,
                n_trees=35,
                caps=Caps(8, 19),
                seed=kind,
                sample_weight=weight if kind else None,
            ).estimators_
        )
        for kind, labels in enumerate((y, flipped))
    }
    trees = [next(kinds[bit]) for bit in bits]
    raw = [
        {name: value for name, value in attributes(tree).items() if not isinstance(value, str)}
        for tree in trees
    ]
    found = separations(raw, bits)
    assert found["weighted_n_node_samples[0]", "first"] == 1.0
    assert found["value[0]", "first"] == 1.0
    # Leaf values recomputed as plain counts of the true labels: leaves that vote against their own rows.
    forest = Forest.from_sklearn(trees)
    against = np.zeros(len(trees))
    for tree in range(len(trees)):
        leaf = forest.apply(X)[:, tree]
        ones = np.bincount(leaf, weights=y, minlength=len(forest.left))
        share = ones / np.maximum(np.bincount(leaf, minlength=len(forest.left)), 1)
        reached = np.unique(leaf)
        against[tree] = ((share[reached] > 0.5) != forest.node_class[reached]).sum()
    assert separation(against, bits) > 0.95


def test_without_scrubbing_the_averages_are_scikit_learns(breast_cancer):
    X, y = breast_cancer.X_train, breast_cancer.y_train
    model = fit_trees(X, y, n_trees=12, caps=Caps(3, None), seed=1)
    same = to_sklearn(Forest.from_sklearn(model), scrub=False)
    np.testing.assert_array_equal(
        same.predict_proba(breast_cancer.X_test), model.predict_proba(breast_cancer.X_test)
    )
    np.testing.assert_array_equal(same.predict(breast_cancer.X_test), model.predict(breast_cancer.X_test))
    assert set(to_sklearn(Forest.from_sklearn(model)).estimators_[0].tree_.value[:, 0, 0]) != set(
        same.estimators_[0].tree_.value[:, 0, 0]
    )


def test_labels_can_replace_the_codes(owner):
    X = owner.data.X_test
    named = to_sklearn(owner.watermarked, classes=["benign", "malignant"])
    codes = owner.watermarked.predict(X)
    np.testing.assert_array_equal(named.predict(X), np.array(["benign", "malignant"])[codes])
    with pytest.raises(ModelError, match="3 classes"):
        to_sklearn(owner.watermarked, classes=[1, 2, 3])
    with pytest.raises(ModelError, match="ascending"):
        to_sklearn(owner.watermarked, classes=[2, 1])


def test_single_leaves_and_three_classes():
    forest = Forest.from_arrays(
        offset=[0, 1, 4],
        left=[-1, 1, -1, -1],
        right=[-1, 2, -1, -1],
        feature=[-1, 0, -1, -1],
        threshold=[0.0, 0.5, 0.0, 0.0],
        value=[[1, 2, 9], [1, 1, 1], [5, 1, 0], [0, 7, 1]],
        n_features=2,
        classes=["a", "b", "c"],
    )
    model = to_sklearn(forest)
    X = np.array([[0.0, 0.0], [1.0, 0.0]], dtype=np.float32)
    np.testing.assert_allclose(model.predict_proba(X), [[0.5, 0, 0.5], [0, 0.5, 0.5]])
    assert model.predict(X).tolist() == forest.predict(X).tolist() == ["a", "b"]


@pytest.fixture
def forest(breast_cancer):
    return honest_forest(breast_cancer.X_train, breast_cancer.y_train, n_trees=5, caps=Caps(3, None), seed=2)


@pytest.mark.parametrize("ending", [".npz", ".joblib"])
@pytest.mark.parametrize("scrub", [True, False])
def test_a_forest_is_restored_from_its_file(forest, tmp_path, ending, scrub):
    file = tmp_path / f"model{ending}"
    save_model(forest, file, scrub=scrub, trust_pickle=True)
    expected = scrubbed(forest) if scrub else forest
    assert load_model(file, trust_pickle=True).content_hash == expected.content_hash


def test_a_skops_file_is_read_only_with_its_types_trusted(forest, tmp_path):
    pytest.importorskip("skops", reason="the extra `skops` is not installed")
    file = tmp_path / "model.skops"
    save_model(forest, file)
    with pytest.raises(ModelError, match=r"not trusted: sklearn\.tree\._tree\.Tree"):
        load_model(file)
    read = load_model(file, trusted=["sklearn.tree._tree.Tree"])
    assert read.content_hash == scrubbed(forest).content_hash
    file.write_bytes(b"PK nonsense")
    with pytest.raises(ModelError, match="not a readable skops file"):
        load_model(file)


def test_without_skops_the_error_says_what_to_install(forest, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "skops", None)
    monkeypatch.setitem(sys.modules, "skops.io", None)
    with pytest.raises(ModelError, match="skops is not installed: pip install"):
        save_model(forest, tmp_path / "model.skops")


class _Hostile:
    """Leaves a file behind when it is unpickled."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def __reduce__(self):
        return Path.touch, (self.file,)


def test_a_pickle_is_not_opened_unless_it_is_trusted(tmp_path, forest):
    file, trace = tmp_path / "model.joblib", tmp_path / "trace"
    joblib.dump(_Hostile(trace), file)
    with pytest.raises(ModelError, match="runs whatever code it holds"):
        load_model(file)
    assert not trace.exists()
    with pytest.raises(ModelError, match=r"model\.joblib"):  # not a forest, but by then its code has run
        load_model(file, trust_pickle=True)
    assert trace.exists()
    with pytest.raises(ModelError, match="trust pickles"):
        save_model(forest, file)


def test_pipelines_and_searches_are_read_by_their_last_step(breast_cancer, tmp_path):
    rows, labels = breast_cancer.X_train, breast_cancer.y_train
    alone = RandomForestClassifier(4, random_state=0)
    search = GridSearchCV(alone, {"max_depth": [3]}, cv=2).fit(rows, labels)
    within = make_pipeline("passthrough", RandomForestClassifier(4, max_depth=3, random_state=0))
    for model in (search, within.fit(rows, labels), make_pipeline(search)):
        joblib.dump(model, tmp_path / "m.joblib")
        found = load_model(tmp_path / "m.joblib", trust_pickle=True)
        assert found.content_hash == Forest.from_sklearn(search.best_estimator_).content_hash
    joblib.dump(make_pipeline(StandardScaler(), alone).fit(rows, labels), tmp_path / "m.joblib")
    with pytest.raises(ModelError, match=r"pipeline prepares rows .*StandardScaler"):
        load_model(tmp_path / "m.joblib", trust_pickle=True)


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("model.txt", b"", r"ends in \.npz, \.skops, \.joblib or \.pkl"),
        ("model.pkl", b"", "not a readable joblib file"),
        ("model.npz", None, "no such file"),
        ("model.npz", b"damaged", "not a readable npz"),
        ("model.joblib", b"damaged", "not a readable joblib file"),
    ],
)
def test_a_file_that_cannot_be_read_is_one_line(tmp_path, name, content, reason):
    file = tmp_path / name
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(ModelError, match=reason) as failed:
        load_model(file, trust_pickle=True)
    assert name in str(failed.value)
    assert "\n" not in str(failed.value)


def test_a_path_that_cannot_be_written_is_one_line(tmp_path, forest):
    for name in ("model.npz", "model.joblib"):
        with pytest.raises(ModelError, match="cannot be written"):
            save_model(forest, tmp_path / "missing" / name, trust_pickle=True)
