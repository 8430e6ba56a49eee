"""CatBoost's model files in JSON (``format="json"``): symmetric trees of numeric features, without CatBoost.

All nodes of a level test the same ``float32(x) > border``; bit i of a leaf's number is the outcome of test i.
Where missing values go, each feature says. A tree of k outputs becomes k trees of one.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from wm.errors import ModelError
from wm.formats.assembling import Tree, margin_model
from wm.formats.fields import items, numbers, only_known, parse_json, part, real, shown, whole
from wm.models import Link, TreeModel

_LINKS = {
    "Logloss": Link.LOGISTIC,
    "CrossEntropy": Link.LOGISTIC,
    "MultiClass": Link.SOFTMAX,
    "MultiClassOneVsAll": Link.ONE_AGAINST_ALL,
    "RMSE": Link.IDENTITY,
    "MAE": Link.IDENTITY,
    "Quantile": Link.IDENTITY,
    "Huber": Link.IDENTITY,
    "Poisson": Link.EXP,
    "Tweedie": Link.EXP,
}
_FIELDS = ("features_info", "model_info", "oblivious_trees", "scale_and_bias", "ctr_data")
_TREE_FIELDS = ("leaf_values", "leaf_weights", "splits")
_CLASSIFIERS = ("Logloss", "CrossEntropy", "MultiClass", "MultiClassOneVsAll")

_DEEPEST = 16
"""CatBoost's own limit on the depth of symmetric trees."""


def read(data: bytes) -> TreeModel:
    """Return the model of a file's bytes.

    Raises
    ------
    ModelError
        Damaged or hostile bytes, or a model that has no exact form here: categorical, text and embedding
        features, trees that are not symmetric, other losses than these.
    """
    document = parse_json(data)
    features = part(document, "features_info")
    if "oblivious_trees" not in document:
        raise ModelError("its trees are not symmetric (grow_policy): symmetric ones are read")
    only_known(document, _FIELDS, "it")
    for kind in ("categorical_features", "text_features", "embedding_features"):
        if features.get(kind):
            raise ModelError(f"has {kind}, which have no exact form here: encode them as numbers")
    floats = items(features, "float_features")
    places = {whole(each, "feature_index"): whole(each, "flat_feature_index") for each in floats}
    treatments = {whole(each, "feature_index"): part(each, "nan_value_treatment") for each in floats}
    if set(treatments.values()) - {"AsIs", "AsFalse", "AsTrue"}:
        raise ModelError("treats missing values of a feature in a way that is not known here")
    loss = str(part(document, "model_info", "params", "loss_function", "type"))
    if loss not in _LINKS:
        raise ModelError(f"its loss {shown(loss)!r} is not known here; {', '.join(_LINKS)} are")
    scale, base = real({"scale": part(document, "scale_and_bias", 0)}, "scale"), _base(document)
    trees = [
        each
        for number, tree in enumerate(items(document, "oblivious_trees"))
        for each in _trees(tree, number, len(base), scale, places, treatments)
    ]
    names = [str(each.get("feature_id", "")) for each in floats]
    return margin_model(
        "CatBoost",
        trees,
        column=np.arange(len(trees)) % len(base),
        base=base,
        link=_LINKS[loss],
        n_features=max(places.values(), default=0) + 1,
        classes=_classes(document, len(base)) if loss in _CLASSIFIERS else None,
        input_dtype="float32",
        feature_names=names if all(names) else [],
        traced=("leaf_weights",),
        notes=_notes(document["model_info"]["params"]),
    )


def _notes(parameters: Any) -> list[tuple[str, str]]:
    told = {name for name, value in parameters.items() if value} - {"loss_function"}
    return [("model_info.params", "training parameters")] if told else []


def _base(document: Any) -> NDArray[np.float64]:
    bias = part(document, "scale_and_bias", 1)
    base: NDArray[np.float64] = numbers({"bias": bias if isinstance(bias, list) else [bias]}, "bias")
    if not len(base):
        raise ModelError("scale_and_bias has no bias")
    return base


def _classes(document: Any, columns: int) -> NDArray[Any]:
    names = document["model_info"].get("class_params", {}).get("class_names", [])
    classes = np.asarray(names) if names else np.arange(max(2, columns))
    if classes.ndim != 1 or classes.dtype.kind not in "iufU" or len(np.unique(classes)) != max(2, columns):
        raise ModelError(f"class_names are {shown(names)}, not {max(2, columns)} classes")
    return classes


def _trees(
    tree: Any, number: int, columns: int, scale: float, places: dict[int, int], treatments: dict[int, Any]
) -> list[Tree]:
    """Return the trees of one output each that a tree stands for."""
    only_known(tree, _TREE_FIELDS, f"tree {number}")
    splits = items(tree, "splits") if tree.get("splits") is not None else []
    if len(splits) > _DEEPEST:
        raise ModelError(
            f"tree {number} has depth {len(splits)}; {_DEEPEST} is the deepest that CatBoost makes"
        )
    if any(part(split, "split_type") != "FloatFeature" for split in splits):
        raise ModelError(f"tree {number} has categorical splits, which have no exact form here: encode them")
    feature = [whole(split, "float_feature_index") for split in splits]
    if any(each not in places for each in feature):
        raise ModelError(f"tree {number} tests a feature that the model does not have")
    depth = len(splits)
    values, weights = numbers(tree, "leaf_values"), numbers(tree, "leaf_weights")
    if len(values) != columns << depth or len(weights) not in (0, 1 << depth):
        raise ModelError(f"tree {number} has {len(values)} leaf values; {columns << depth} are needed")
    # A complete tree, level after level: node j of level l has children 2 j and 2 j + 1 of level l + 1. The
    # last test, the highest bit of a leaf's number, comes first, so that leaves are in their own order.
    inner = (1 << depth) - 1
    level = np.floor(np.log2(np.arange(1, inner + 1))).astype(np.int64)
    borders = np.array([real(split, "border") for split in splits], dtype=np.float32).astype(np.float64)
    order = depth - 1 - level
    first = np.where(np.arange(2 * inner + 1) < inner, 2 * np.arange(2 * inner + 1) + 1, -1)
    at_leaves = np.zeros(1 << depth)
    tested = np.array(feature, dtype=np.int64)
    lefts = np.array([treatments[each] != "AsTrue" for each in feature], dtype=bool)
    shared = {
        "left": first,
        "right": np.where(first < 0, -1, first + 1),
        "feature": np.concatenate([np.array([places[each] for each in tested[order]]), at_leaves - 1]).astype(
            np.int64
        ),
        "threshold": np.concatenate([borders[order], at_leaves]),
        "missing_left": np.concatenate([lefts[order], at_leaves.astype(bool)]),
    }
    traces = {"weight": np.concatenate([np.zeros(inner), weights])} if len(weights) else {}
    return [
        Tree(
            value=np.concatenate([np.zeros(inner), scale * values[column::columns]]), traces=traces, **shared
        )
        for column in range(columns)
    ]
