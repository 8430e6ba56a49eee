"""Tree metadata: from scikit-learn's objects, never from pickles, and from npz files with prefixes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

from wm.errors import ModelError
from wm.formats.sklearn_metadata import from_model, read_arrays


def data():
    rng = np.random.default_rng(0)
    X = rng.random((40, 3)).astype(np.float32)
    return X, (X[:, 1] > 0.4).astype(int)


def test_the_arrays_are_those_of_the_trees():
    model = RandomForestClassifier(4, random_state=7).fit(*data())
    found = from_model(model)
    trees = [estimator.tree_ for estimator in model.estimators_]
    for name in ("impurity", "n_node_samples", "weighted_n_node_samples"):
        assert np.array_equal(getattr(found, name), np.concatenate([getattr(tree, name) for tree in trees]))
    assert found.random_state.tolist() == [tree.random_state for tree in model.estimators_]
    assert found.offset.tolist() == np.cumsum([0, *(tree.node_count for tree in trees)]).tolist()


def test_seeds_that_are_no_numbers_are_left_out():
    tree = DecisionTreeClassifier(random_state=np.random.RandomState(1)).fit(*data())
    assert from_model(tree).random_state is None
    assert from_model(DecisionTreeClassifier().fit(*data())).random_state is None


@pytest.mark.parametrize("file", ["model.joblib", Path("model.pkl"), b"\x80\x04."])
def test_files_are_never_unpickled(file):
    with pytest.raises(ModelError, match="run code"):
        from_model(file)


def saved(path, *prefixes):
    arrays = from_model(RandomForestClassifier(2, random_state=1).fit(*data())).arguments()
    np.savez(path, **{prefix + name: array for prefix in prefixes for name, array in arrays.items()})
    return arrays


def test_a_file_with_one_forest_needs_no_prefix(tmp_path):
    arrays = saved(tmp_path / "one.npz", "standard_")
    for prefix in (None, "standard_"):
        found = read_arrays(tmp_path / "one.npz", prefix=prefix).arguments()
        assert all(np.array_equal(found[name], array) for name, array in arrays.items())


def test_a_saved_forest_is_such_a_file(tmp_path, owner):
    owner.honest.save(tmp_path / "forest.npz")
    found = read_arrays(tmp_path / "forest.npz")
    assert np.array_equal(found.threshold, owner.honest.threshold)
    assert found.n_node_samples is None


def test_unreadable_files_are_refused_with_one_line(tmp_path, monkeypatch):
    saved(tmp_path / "two.npz", "a_", "b_")
    with pytest.raises(ModelError, match="choose a prefix among 'a_', 'b_'"):
        read_arrays(tmp_path / "two.npz")
    with pytest.raises(ModelError, match="no forest with prefix 'c_'"):
        read_arrays(tmp_path / "two.npz", prefix="c_")
    with pytest.raises(ModelError, match="cannot be read"):
        read_arrays(tmp_path / "none.npz")
    (tmp_path / "damaged.npz").write_bytes((tmp_path / "two.npz").read_bytes()[:100])
    with pytest.raises(ModelError, match="not a readable npz"):
        read_arrays(tmp_path / "damaged.npz")
    np.savez(tmp_path / "other.npz", X=np.ones(3))
    with pytest.raises(ModelError, match="holds no forest"):
        read_arrays(tmp_path / "other.npz")
    monkeypatch.setattr("wm.formats.npz.MAX_BYTES", 10)
    with pytest.raises(ModelError, match="larger than"):
        read_arrays(tmp_path / "two.npz")
