"""XGBoost's model files, ``.json`` and ``.ubj``, without XGBoost.

A node sends an instance left iff ``float32(x) < split``, with a float32 split; so iff x is at most the
float64 just below it. Sums of float32 leaves are taken in float32. The schema is in XGBoost's
doc/model.schema; the form of `base_score` changed with version 3 from one number to a list.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wm.errors import ModelError
from wm.formats import ubjson
from wm.formats.assembling import Tree, margin_model
from wm.formats.fields import items, numbers, only_known, parse_json, part, shown, whole
from wm.models import Link, TreeModel


def _same(number: float) -> float:
    return number


def _logit(share: float) -> float:
    if not 0 < share < 1:
        raise ModelError(f"base_score is {share:g}, not a probability")
    # Rounded to float32 where XGBoost rounds.
    with np.errstate(over="ignore"):
        odds = np.float32(1) / np.float32(share) - np.float32(1)
    return -math.log(odds)


def _log(number: float) -> float:
    if not number > 0:
        raise ModelError(f"base_score is {number:g}, not above 0")
    return math.log(number)


_OBJECTIVES: dict[str, tuple[Link, Callable[[float], float]]] = {
    "binary:logistic": (Link.LOGISTIC, _logit),
    "multi:softmax": (Link.SOFTMAX, _same),
    "multi:softprob": (Link.SOFTMAX, _same),
    "reg:squarederror": (Link.IDENTITY, _same),
    "reg:absoluteerror": (Link.IDENTITY, _same),
    "reg:pseudohubererror": (Link.IDENTITY, _same),
    "reg:squaredlogerror": (Link.IDENTITY, _same),
    "rank:ndcg": (Link.IDENTITY, _same),
    "rank:map": (Link.IDENTITY, _same),
    "rank:pairwise": (Link.IDENTITY, _same),
    "count:poisson": (Link.EXP, _log),
    "reg:gamma": (Link.EXP, _log),
    "reg:tweedie": (Link.EXP, _log),
}
"""Link of each objective, and what turns its base score into a margin."""

INTERFACE = "treeproof_interface"
"""The attribute that holds what a released model takes and answers, see `wm.interface`."""

_NO_NOTES = ("scikit_learn", INTERFACE)
"""Attributes that say nothing of the training."""

_MODEL_FIELDS = ("cats", "gbtree_model_param", "iteration_indptr", "tree_info", "trees", "weight_drop")
_TREE_FIELDS = (
    "base_weights",
    "categories",
    "categories_nodes",
    "categories_segments",
    "categories_sizes",
    "default_left",
    "id",
    "left_children",
    "loss_changes",
    "parents",
    "right_children",
    "split_conditions",
    "split_indices",
    "split_type",
    "sum_hessian",
    "tree_param",
)
_NEWEST = 3
"""Newest major version of XGBoost whose files are known."""

_TRACED = ("sum_hessian", "loss_changes", "base_weights")


def read(data: bytes) -> TreeModel:
    """Return the model of a file's bytes.

    Raises
    ------
    ModelError
        Damaged or hostile bytes, or a model that has no exact form here: linear boosters, categorical splits,
        trees with several outputs, other objectives than these.
    """
    # Both forms begin with a brace; in the text, a quote follows.
    document = parse_json(data) if data[1:].lstrip()[:1] == b'"' else ubjson.parse(data)
    learner = part(document, "learner")
    version = items({"version": list(part(document, "version"))}, "version")
    if not version or not isinstance(version[0], int) or version[0] > _NEWEST:
        raise ModelError(f"is of XGBoost {shown(version)}, which is not known here")
    booster, weights = _booster(learner)
    parameters = part(learner, "learner_model_param")
    n_features, n_classes = whole(parameters, "num_feature"), whole(parameters, "num_class")
    if int(parameters.get("num_target", 1) or 1) > 1:
        raise ModelError("has several targets: models of one are read")
    objective = str(part(learner, "objective", "name"))
    if objective not in _OBJECTIVES:
        raise ModelError(
            f"its objective {shown(objective)!r} is not known here; {', '.join(_OBJECTIVES)} are"
        )
    link, to_margin = _OBJECTIVES[objective]
    is_classifier = objective.startswith(("binary:", "multi:"))
    columns = max(1, n_classes)
    trees = items(booster, "trees")
    if weights is not None and len(weights) != len(trees):
        raise ModelError(f"weight_drop has {len(weights)} numbers for {len(trees)} trees")
    return margin_model(
        "XGBoost",
        [
            _tree(tree, number, 1.0 if weights is None else float(weights[number]))
            for number, tree in enumerate(trees)
        ],
        column=numbers(booster, "tree_info", np.int64),
        base=[to_margin(score) for score in _base_scores(parameters, columns)],
        link=link,
        n_features=n_features,
        classes=np.arange(max(2, columns)) if is_classifier else None,
        input_dtype="float32",
        added_in="float32",
        feature_names=[str(name) for name in learner.get("feature_names", [])],
        traced=_TRACED,
        notes=_notes(learner),
    )


def _booster(learner: Any) -> tuple[Any, NDArray[np.float32] | None]:
    """Return the trees' part, and the weight of each tree where there are any (dart)."""
    booster = part(learner, "gradient_booster")
    name = part(booster, "name")
    weights: NDArray[np.float32] | None = None
    if name == "dart":
        found, weights = part(booster, "gbtree", "model"), numbers(booster, "weight_drop", np.float32)
    elif name == "gbtree":
        found = part(booster, "model")
        if isinstance(found, dict) and "weight_drop" in found:  # dart, from version 3.4 on
            weights = numbers(found, "weight_drop", np.float32)
    else:
        raise ModelError(f"its booster {shown(name)!r} has no trees")
    only_known(found, _MODEL_FIELDS, "its booster")
    encodings = found.get("cats", {})
    if isinstance(encodings, dict) and len(encodings.get("enc", [])):
        raise ModelError("encodes categorical features itself: encode them before, as numbers")
    return found, weights if weights is not None and len(weights) else None


def _base_scores(parameters: Any, columns: int) -> list[float]:
    text = str(part(parameters, "base_score")).strip("[]")
    try:
        found = [float(np.float32(float(each))) for each in text.split(",")]
    except (ValueError, OverflowError) as reason:
        raise ModelError(f"base_score is {shown(text)!r}, not a number") from reason
    if len(found) not in (1, columns):
        raise ModelError(f"base_score has {len(found)} numbers for {columns} outputs")
    return found * columns if len(found) == 1 else found


def _tree(tree: Any, number: int, weight: float) -> Tree:
    only_known(tree, _TREE_FIELDS, f"tree {number}")
    if whole(tree, "tree_param", "size_leaf_vector") > 1:
        raise ModelError(f"tree {number} has several outputs in a leaf: trees with one are read")
    if len(tree.get("categories_nodes", [])) or np.any(numbers(tree, "split_type", np.int64)):
        raise ModelError(f"tree {number} has categorical splits, which have no exact form here: encode them")
    condition = numbers(tree, "split_conditions", np.float32)
    left, right = numbers(tree, "left_children", np.int64), numbers(tree, "right_children", np.int64)
    return Tree(
        left=left,
        right=right,
        feature=numbers(tree, "split_indices", np.int64),
        threshold=np.nextafter(condition.astype(np.float64), -np.inf),
        value=(condition * np.float32(weight)).astype(np.float64),
        missing_left=numbers(tree, "default_left", np.int64) != 0,
        traces={"weight": numbers(tree, "sum_hessian")} if "sum_hessian" in tree else {},
    )


def _notes(learner: Any) -> list[tuple[str, str]]:
    attributes = learner.get("attributes", {})
    found = attributes.items() if isinstance(attributes, dict) else []
    return [(f"attribute {shown(name)}", shown(value)) for name, value in found if name not in _NO_NOTES]


def interface_text(data: bytes) -> str:
    """Return the interface, JSON, in the attributes of a model's json; "" without it."""
    if INTERFACE.encode() not in data:  # before a large file is read again
        return ""
    found = part(part(parse_json(data), "learner"), "attributes").get(INTERFACE, "")
    return found if isinstance(found, str) else ""
