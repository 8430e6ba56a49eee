import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import GridSearchCV

from tests.examples import examples
from wm.datasets import Source, load, split
from wm.embedding.tuning import Hyperparameters, choose, fold_accuracies
from wm.errors import DataError


def search(X, y, *, n_estimators, max_depth, folds, seed):
    """Return the accuracies of each fold, and what is chosen by them."""
    grid = {"n_estimators": n_estimators, "max_depth": max_depth}
    per_fold = [fold_accuracies(X, y, **grid, folds=folds, fold=fold, seed=seed) for fold in range(folds)]
    return per_fold, *choose(n_estimators, max_depth, per_fold)


def compare(X, y, *, n_estimators, max_depth, folds, seed):
    """Check that our search and scikit-learn's agree in every score, bit for bit, and in their choice."""
    per_fold, best, scores = search(
        X, y, n_estimators=n_estimators, max_depth=max_depth, folds=folds, seed=seed
    )
    theirs = GridSearchCV(
        RandomForestClassifier(bootstrap=False, random_state=seed),
        {"n_estimators": n_estimators, "max_depth": max_depth},
        cv=folds,
        refit=False,
    ).fit(X, y)
    points = [Hyperparameters(**point) for point in theirs.cv_results_["params"]]
    assert scores == tuple(zip(points, theirs.cv_results_["mean_test_score"], strict=True))
    assert best == Hyperparameters(**theirs.best_params_)
    for fold, accuracies in enumerate(per_fold):
        assert list(accuracies) == theirs.cv_results_[f"split{fold}_test_score"].tolist()
    return best, scores


@examples(8)
@given(
    seed=st.integers(0, 2**31 - 1),
    n_estimators=st.lists(st.integers(1, 6), min_size=1, max_size=3),
    max_depth=st.lists(st.none() | st.integers(1, 6), min_size=1, max_size=3),
    folds=st.integers(2, 3),
    classes=st.integers(2, 3),
)
def test_the_answer_is_scikit_learns(seed, n_estimators, max_depth, folds, classes):
    generator = np.random.default_rng(seed)
    # Few distinct values: rows with the same features and other labels give leaves that are not pure.
    X = generator.integers(0, 4, (36, 3)).astype(np.float32)
    y = generator.permutation(np.arange(36) % classes)
    compare(X, y, n_estimators=n_estimators, max_depth=max_depth, folds=folds, seed=seed)


def test_ties_go_to_the_first_depth_and_then_to_the_first_number():
    X = np.repeat([0.0, 1.0], 9)[:, np.newaxis].astype(np.float32)
    y = np.repeat([0, 1], 9)
    best, scores = compare(X, y, n_estimators=[5, 2], max_depth=[None, 3, 1], folds=3, seed=0)
    assert {mean for _, mean in scores} == {1.0}
    assert best == Hyperparameters(5, None)


def test_breast_cancer_with_a_depth_that_binds_and_some_that_do_not():
    cut = split(load(Source(name="breast-cancer")), seed=2, scaling="paper")
    compare(cut.X_train, cut.y_train, n_estimators=[3, 8], max_depth=[2, 9, 20, None], folds=3, seed=2)


def test_the_paper_grid_chooses_70_trees_of_depth_8():
    cut = split(load(Source(name="breast-cancer")), seed=2, scaling="paper")
    grid = {"n_estimators": range(50, 101, 10), "max_depth": range(4, 27, 2)}
    _, best, scores = search(cut.X_train, cut.y_train, **grid, folds=3, seed=2)
    assert best == Hyperparameters(n_estimators=70, max_depth=8)
    assert len(scores) == 72


USUAL = {"n_estimators": [2], "max_depth": [2], "folds": 3, "fold": 0, "seed": 0}


def test_a_class_that_is_too_rare_for_the_folds_is_refused():
    with pytest.raises(DataError, match="class 1 has 2 training rows, fewer than the 3 folds"):
        fold_accuracies(np.eye(8), np.array([0] * 6 + [1] * 2), **USUAL)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_estimators": []}, "the grid is empty"),
        ({"max_depth": []}, "the grid is empty"),
        ({"n_estimators": [0]}, "n_estimators = 0 is not 1 or more"),
        ({"max_depth": [0]}, "max_depth = 0 is not 1 or more"),
        ({"folds": 1}, "folds = 1 is not 2 or more"),
    ],
)
def test_a_grid_out_of_range_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        fold_accuracies(np.eye(8), np.arange(8) % 2, **(USUAL | options))
