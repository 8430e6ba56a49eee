"""scikit-learn's models whose trees add margins: gradient boosting, and forests and trees of regression."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from wm.errors import ModelError
from wm.formats.assembling import Tree, margin_model
from wm.formats.sklearn_trees import check_trees, directions, take_missing_values
from wm.models import Link, TreeModel

_LINKS = {
    "IdentityLink": (Link.IDENTITY, 1.0),
    "LogLink": (Link.EXP, 1.0),
    "LogitLink": (Link.LOGISTIC, 1.0),
    "HalfLogitLink": (Link.LOGISTIC, 2.0),
    "MultinomialLogit": (Link.SOFTMAX, 1.0),
}
"""Link and scale of each link of scikit-learn's losses."""

_TREES = "give a gradient boosting model, or a forest, bagging or tree of regression trees"


def read(model: Any) -> TreeModel | None:
    """Return the model of a fitted scikit-learn estimator; None if its trees do not add margins.

    Raises
    ------
    ModelError
        A model that is not fitted, or has no exact form here: categorical splits, another `init` than a
        constant.
    """
    from sklearn.ensemble import (
        BaggingRegressor,
        ExtraTreesRegressor,
        GradientBoostingClassifier,
        GradientBoostingRegressor,
        HistGradientBoostingClassifier,
        HistGradientBoostingRegressor,
        RandomForestRegressor,
    )
    from sklearn.tree import DecisionTreeRegressor

    if isinstance(model, HistGradientBoostingClassifier | HistGradientBoostingRegressor):
        return _histogram(model)
    if isinstance(model, GradientBoostingClassifier | GradientBoostingRegressor):
        return _boosted(model)
    if isinstance(model, RandomForestRegressor | ExtraTreesRegressor | BaggingRegressor):
        return _mean(model, list(getattr(model, "estimators_", [])))
    if isinstance(model, DecisionTreeRegressor):
        return _mean(model, [model])
    return None


def _tree(tree: Any, *, factor: float = 1.0, columns: Any = None, takes_missing: bool = False) -> Tree:
    """Return a tree of scikit-learn's; `columns` are the features that it sees, None for all."""
    found = tree.tree_
    feature = np.maximum(found.feature, 0)
    return Tree(
        left=found.children_left,
        right=found.children_right,
        feature=feature if columns is None else np.asarray(columns)[feature],
        threshold=found.threshold,
        value=factor * found.value[:, 0, 0],
        missing_left=directions(found) if takes_missing else None,
        traces={"rows": found.n_node_samples, "weight": found.weighted_n_node_samples},
    )


_TREE_TRACES = ("n_node_samples", "weighted_n_node_samples", "impurity", "value")


def _mean(model: Any, trees: list[Any]) -> TreeModel:
    from sklearn.tree import DecisionTreeRegressor

    check_trees(trees, DecisionTreeRegressor, _TREES)
    columns = getattr(model, "estimators_features_", [None] * len(trees))
    takes_missing = take_missing_values(trees)
    return margin_model(
        "scikit-learn",
        [
            _tree(tree, columns=mine, takes_missing=takes_missing)
            for tree, mine in zip(trees, columns, strict=True)
        ],
        column=np.zeros(len(trees), dtype=np.int64),
        base=[0.0],
        link=Link.IDENTITY,
        is_mean=True,
        n_features=int(model.n_features_in_),
        classes=None,
        input_dtype="float32",
        feature_names=_names(model),
        traced=_TREE_TRACES,
    )


def _boosted(model: Any) -> TreeModel:
    from sklearn.dummy import DummyClassifier, DummyRegressor
    from sklearn.tree import DecisionTreeRegressor

    trees = list(np.asarray(getattr(model, "estimators_", [])).reshape(-1))
    check_trees(trees, DecisionTreeRegressor, _TREES)
    if not (model.init_ == "zero" or type(model.init_) in (DummyClassifier, DummyRegressor)):
        raise ModelError(f"starts from a {type(model.init_).__name__} (init): a constant is read")
    base = model._raw_predict_init(np.zeros((1, model.n_features_in_), dtype=np.float32))[0]
    found = [_tree(tree, factor=model.learning_rate) for tree in trees]
    return _in_turn(model, found, base, input_dtype="float32", traced=_TREE_TRACES)


def _histogram(model: Any) -> TreeModel:
    rounds = getattr(model, "_predictors", [])
    if not rounds:
        raise ModelError("the model has no trees: fit it first")
    if model._preprocessor is not None:
        raise ModelError("encodes categorical features itself: encode them before, as numbers")
    base = np.asarray(model._baseline_prediction, dtype=np.float64).reshape(-1)
    trees = [tree for round_ in rounds for tree in round_]
    found = [_histogram_tree(tree.nodes, number) for number, tree in enumerate(trees)]
    return _in_turn(model, found, base, input_dtype="float64", traced=("count", "gain"), notes=_bins(model))


def _in_turn(model: Any, trees: list[Tree], base: NDArray[np.float64], **more: Any) -> TreeModel:
    """Return a model whose trees add to the margins of `base` in turn."""
    link, scale = _link(model)
    return margin_model(
        "scikit-learn",
        trees,
        column=np.arange(len(trees)) % len(base),
        base=base,
        link=link,
        scale=scale,
        n_features=int(model.n_features_in_),
        classes=getattr(model, "classes_", None),
        feature_names=_names(model),
        **more,
    )


def _bins(model: Any) -> list[tuple[str, str]]:
    """Return a note on the thresholds between which training values were counted, if they are there."""
    count = sum(len(each) for each in model._bin_mapper.bin_thresholds_)
    return (
        [("bin thresholds", f"{count} numbers, most of them midway between training values")] if count else []
    )


def _histogram_tree(nodes: Any, number: int) -> Tree:
    if nodes["is_categorical"].any():
        raise ModelError(f"tree {number} has categorical splits, which have no exact form here: encode them")
    leaf = nodes["is_leaf"] != 0
    left, right = (np.where(leaf, -1, nodes[side].astype(np.int64)) for side in ("left", "right"))
    return Tree(
        left=left,
        right=right,
        feature=np.where(leaf, -1, nodes["feature_idx"]),
        threshold=nodes["num_threshold"],
        value=nodes["value"],
        missing_left=nodes["missing_go_to_left"] != 0,
        traces={"rows": nodes["count"]},
    )


def _link(model: Any) -> tuple[Link, float]:
    name = type(model._loss.link).__name__
    if name not in _LINKS:
        raise ModelError(f"its loss has a {name}, which is not known here")
    return _LINKS[name]


def _names(model: Any) -> list[str]:
    return [str(name) for name in getattr(model, "feature_names_in_", [])]
