"""Scrubbing of scikit-learn's boosted models: an estimator of the same class with what its predictions need.

A fitted estimator keeps much of its training. What stays: splits, what leaves add, the base score, the loss
with its link, classes, names of features, and the learning rate by which leaves are multiplied. What goes:
counts, weights and impurities at nodes, values and gains of inner nodes, the states of random generators,
scores of training and validation, and the thresholds between which histogram gradient boosting counted its
training values.
"""

from __future__ import annotations

import io
from typing import Any

import numpy as np

from wm.errors import ModelError
from wm.formats.export import skops_io
from wm.formats.scrubbing_files import same_model
from wm.formats.sklearn_margins import read

_SETTINGS = ("loss", "learning_rate")
"""Parameters that predictions read; all others become their defaults."""

_KEPT = (
    *("classes_", "n_classes_", "n_features_in_", "feature_names_in_", "n_trees_per_iteration_", "_loss"),
    *("n_estimators_", "max_features_", "init_"),
    *("_baseline_prediction", "_n_features", "is_categorical_", "_is_categorical_remapped", "_preprocessor"),
)
"""Attributes of fitted estimators of either class that predictions read."""

ENDINGS = (".skops", ".joblib", ".pkl")
"""Of the files that `packed` makes."""


def scrubbed_boosting(model: Any) -> Any:
    """Return a boosted model of scikit-learn without its training; None for another model.

    Parameters
    ----------
    model
        A gradient boosting or histogram gradient boosting model, or a pipeline or search that ends in one. A
        pipeline keeps its other steps, which hold what they have fitted; of a search the best model stays.

    Raises
    ------
    ModelError
        A model that `wm.formats.sklearn_margins.read` refuses, or one that would be another afterwards.
    """
    if (best := getattr(model, "best_estimator_", None)) is not None:
        return scrubbed_boosting(best)
    if (steps := getattr(model, "steps", None)) is not None:
        name, last = steps[-1]
        inner = scrubbed_boosting(last)
        return None if inner is None else type(model)([*steps[:-1], (name, inner)])
    if not hasattr(model, "estimators_") and not hasattr(model, "_predictors"):
        return None
    made = _gradient(model) if hasattr(model, "estimators_") else _histogram(model)
    if made is None:
        return None
    before, after = read(model), read(made)
    if before is None or after is None or not same_model(before, after):
        raise ModelError("scrubbed, it would be another model: nothing was written")
    return made


def _bare(model: Any) -> Any:
    """Return an estimator of the same class with the few parameters and attributes that are kept."""
    made = type(model)(**{name: getattr(model, name) for name in _SETTINGS})
    for name in _KEPT:
        if hasattr(model, name):
            setattr(made, name, getattr(model, name))
    return made


def _gradient(model: Any) -> Any:
    from sklearn.ensemble import GradientBoostingClassifier, GradientBoostingRegressor

    if not isinstance(model, GradientBoostingClassifier | GradientBoostingRegressor):
        return None
    made = _bare(model)
    made.estimators_ = np.empty_like(model.estimators_)
    for place, tree in np.ndenumerate(model.estimators_):
        made.estimators_[place] = _tree(tree)
    return made


def _tree(tree: Any) -> Any:
    """Return a regression tree with splits and leaves only."""
    from sklearn.tree import DecisionTreeRegressor
    from sklearn.tree._tree import Tree

    state = tree.tree_.__getstate__()
    nodes, values = state["nodes"].copy(), state["values"].copy()
    for name in ("impurity", "n_node_samples", "weighted_n_node_samples"):
        nodes[name] = 0
    values[nodes["left_child"] >= 0] = 0.0
    made = DecisionTreeRegressor()
    made.n_features_in_, made.n_outputs_ = tree.n_features_in_, tree.n_outputs_
    made.max_features_ = tree.n_features_in_
    made.tree_ = Tree(tree.n_features_in_, np.array([1], dtype=np.intp), 1)
    made.tree_.__setstate__({**state, "nodes": nodes, "values": values})
    return made


def _histogram(model: Any) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    if not isinstance(model, HistGradientBoostingClassifier | HistGradientBoostingRegressor):
        return None
    made, features = _bare(model), model.n_features_in_
    made._predictors = [[_predictor(each) for each in column] for column in model._predictors]
    # Predictions ask it for categories, of which models that are read here have none.
    made._bin_mapper = type(model._bin_mapper)()
    made._bin_mapper.is_categorical_ = np.zeros(features, dtype=np.uint8)
    made._bin_mapper.bin_thresholds_ = [np.zeros(0)] * features
    return made


def _predictor(predictor: Any) -> Any:
    nodes = predictor.nodes.copy()
    for name in ("count", "gain", "bin_threshold", "depth"):
        nodes[name] = 0
    nodes["value"][nodes["is_leaf"] == 0] = 0.0
    return type(predictor)(
        nodes, predictor.binned_left_cat_bitsets.copy(), predictor.raw_left_cat_bitsets.copy()
    )


def packed(model: Any, ending: str) -> bytes:
    """Return the content of a model's file with one of `ENDINGS`.

    Raises
    ------
    ModelError
        skops is not installed.
    """
    if ending == ".skops":
        content: bytes = skops_io().dumps(model)
        return content
    import joblib

    buffer = io.BytesIO()
    joblib.dump(model, buffer)
    return buffer.getvalue()
