import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import GridSearchCV

from tests.examples import examples
from wm.datasets import Source, load, split
from wm.embedding.tuning import Hyperparameters, grid_search
from wm.errors import DataError


def compare(X, y, *, n_estimators, max_depth, folds, seed):
    """Check that our search and scikit-learn's agree in every score, bit for bit, and in their choice."""
    ours = grid_search(X, y, n_estimators=n_estimators, max_depth=max_depth, folds=folds, seed=seed)
    theirs = GridSearchCV(
        RandomForestClassifier(bootstrap=False, random_state=seed),
        {"n_estimators": n_estimators, "max_depth": max_depth},
        cv=folds,
        refit=False,
    ).fit(X, y)
    points = [Hyperparameters(**point) for point in theirs.cv_results_["params"]]
    assert [score.hyperparameters for score in ours.scores] == points
    assert [score.mean_accuracy for score in ours.scores] == theirs.cv_results_["mean_test_score"].tolist()
    assert [score.std_accuracy for score in ours.scores] == theirs.cv_results_["std_test_score"].tolist()
    assert ours.best == Hyperparameters(**theirs.best_params_)
    return ours


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
    result = compare(X, y, n_estimators=[5, 2], max_depth=[None, 3, 1], folds=3, seed=0)
    assert {score.mean_accuracy for score in result.scores} == {1.0}
    assert result.best == Hyperparameters(5, None)


def test_breast_cancer_with_a_depth_that_binds_and_some_that_do_not():
    cut = split(load(Source(name="breast-cancer")), seed=2, scaling="paper")
    compare(cut.X_train, cut.y_train, n_estimators=[3, 8], max_depth=[2, 9, 20, None], folds=3, seed=2)


def test_the_paper_grid_chooses_70_trees_of_depth_8():
    cut = split(load(Source(name="breast-cancer")), seed=2, scaling="paper")
    result = grid_search(
        cut.X_train, cut.y_train, n_estimators=range(50, 101, 10), max_depth=range(4, 27, 2), seed=2
    )
    assert result.best == Hyperparameters(n_estimators=70, max_depth=8)
    assert len(result.scores) == 72


def test_a_class_that_is_too_rare_for_the_folds_is_refused():
    with pytest.raises(DataError, match="class 1 has 2 training rows, fewer than the 3 folds"):
        grid_search(np.eye(8), np.array([0] * 6 + [1] * 2), n_estimators=[2], max_depth=[2], seed=0)


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
    usual = {"n_estimators": [2], "max_depth": [2], "seed": 0}
    with pytest.raises(ValueError, match=message):
        grid_search(np.eye(8), np.arange(8) % 2, **(usual | options))
