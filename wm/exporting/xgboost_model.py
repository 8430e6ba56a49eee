"""Export to XGBoost's json: trees of two classes that vote, or that add margins.

A tree that votes adds or takes one margin: its vote is the sign, the predicted class the majority, class 0 on
a tie; the margin is a power of two, so that sums are exact. XGBoost sends an instance left iff ``x < split``,
so that the split is the float32 after the threshold.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wm.errors import ModelError
from wm.exporting.rounding import float32_below
from wm.forest import Forest
from wm.formats.export import refuse_unusual
from wm.formats.xgboost_file import INTERFACE
from wm.interface import Interface
from wm.models import Link, TreeModel

_ROOT = 2**31 - 1
"""The root's parent."""

_BINARY = {"name": "binary:logistic", "reg_loss_param": {"scale_pos_weight": "1"}}


def _of_classes(classes: int) -> dict[str, Any]:
    return {"name": "multi:softprob", "softmax_multiclass_param": {"num_class": str(classes)}}


def write(forest: Forest, interface: Interface | None) -> bytes:
    """Return an XGBoost model as json, with objective ``binary:logistic``; its input is model input."""
    if len(forest.classes) != 2:
        raise ModelError(f"XGBoost adds margins of two classes, this forest votes for {len(forest.classes)}")
    margin = 2.0 ** -int(math.log2(forest.n_trees) / 2)
    votes = np.where(forest.node_class == 1, margin, -margin)
    names = () if interface is None else interface.preparation.feature_names
    return _document(forest, votes, base_score="5E-1", feature_names=names, interface=interface)


def write_margins(
    model: TreeModel, feature_names: Sequence[str] = (), interface: Interface | None = None
) -> bytes:
    """Return a boosted model of classes as json, with nothing of its training.

    The interface becomes an attribute of the file, which XGBoost keeps and does not read. XGBoost holds
    leaves in float32, and the base score as a probability: read again, the model is what it will be there.

    Raises
    ------
    ModelError
        A model of another form than one sum of float32 margins with a logistic link, or than a sum for each
        class, which start at 0, with a softmax; or as in `write`.
    """
    from scipy.special import expit

    forest, margins = model.forest, model.margins
    if margins is None or margins.link not in (Link.LOGISTIC, Link.SOFTMAX):
        raise ModelError("margins with a logistic link, or a softmax, are written: this model has others")
    outputs = len(margins.base)
    if (outputs == 1) != (margins.link is Link.LOGISTIC) or (outputs > 1 and np.any(margins.base)):
        raise ModelError("one margin of two classes is written, or one of each class that starts at 0")
    single = margins.leaf.astype(np.float32)
    if margins.is_mean or margins.scale != 1.0 or not np.array_equal(single, margins.leaf):
        raise ModelError("its margins are not float32 numbers, or are scaled: XGBoost would add others")
    base = float(expit(margins.base[0])) if outputs == 1 else 0.0
    if outputs == 1 and np.float32(base) in (0.0, 1.0):
        raise ModelError(
            f"it starts at a margin of {margins.base[0]:g}, whose probability XGBoost would round"
        )
    refuse_unusual(forest)
    return _document(
        forest,
        margins.leaf,
        base_score=f"{base:.8E}",  # XGBoost before 3.1 takes 0.5 for a number of more digits
        feature_names=feature_names,
        interface=interface,
        columns=margins.column.tolist(),
        outputs=outputs,
    )


def _document(
    forest: Forest,
    values: NDArray[np.float64],
    *,
    base_score: str,
    feature_names: Sequence[str],
    interface: Interface | None,
    columns: Sequence[int] = (),
    outputs: int = 1,
) -> bytes:
    """Return the file's content.

    Parameters
    ----------
    values : (nodes,)
        What leaves add.
    columns : (m,)
        The output to which each tree adds; none: there is only one.
    outputs
        Their number: 1, or that of the classes.
    """
    features = forest.n_features
    names = [_plain(name) for name in feature_names]
    if len(set(names)) < len(names):  # which XGBoost refuses
        names = []
    trees = [_tree(forest, number, values) for number in range(forest.n_trees)]
    booster = {
        "model": {
            "gbtree_model_param": {"num_parallel_tree": "1", "num_trees": str(len(trees))},
            "iteration_indptr": list(range(0, len(trees) + 1, outputs)),
            "tree_info": list(columns) or [0] * len(trees),
            "trees": trees,
        },
        "name": "gbtree",
    }
    document = {
        "learner": {
            "attributes": {} if interface is None else {INTERFACE: interface.model_dump_json()},
            "feature_names": names,
            "feature_types": ["float"] * features if names else [],
            "gradient_booster": booster,
            "learner_model_param": {
                "base_score": base_score,
                "boost_from_average": "1",
                "num_class": "0" if outputs == 1 else str(outputs),
                "num_feature": str(features),
                "num_target": "1",
            },
            "objective": _BINARY if outputs == 1 else _of_classes(outputs),
        },
        "version": [2, 1, 0],
    }
    return json.dumps(document).encode()


def _plain(name: str) -> str:
    """Return a name without the characters that XGBoost refuses."""
    return name.translate(str.maketrans("[]<", "()_"))


def _tree(forest: Forest, number: int, values: NDArray[np.float64]) -> dict[str, Any]:
    start, end = int(forest.offset[number]), int(forest.offset[number + 1])
    order, left = _siblings_together(forest.left[start:end], forest.right[start:end])
    nodes = start + order
    leaf = forest.is_leaf[nodes]
    count, inner = len(order), np.flatnonzero(~leaf)
    right = np.where(leaf, -1, left + 1)
    parents = np.full(count, _ROOT)
    parents[left[inner]] = parents[right[inner]] = inner
    added = values[nodes]
    conditions = np.where(leaf, added, _splits(forest.threshold[nodes]))
    return {
        "base_weights": np.where(leaf, added, 0.0).tolist(),
        "categories": [],
        "categories_nodes": [],
        "categories_segments": [],
        "categories_sizes": [],
        "default_left": [0] * count,
        "id": number,
        "left_children": left.tolist(),
        "loss_changes": [0.0] * count,
        "parents": parents.tolist(),
        "right_children": right.tolist(),
        "split_conditions": conditions.tolist(),
        "split_indices": np.where(leaf, 0, forest.feature[nodes]).tolist(),
        "split_type": [0] * count,
        "sum_hessian": [0.0] * count,
        "tree_param": {
            "num_deleted": "0",
            "num_feature": str(forest.n_features),
            "num_nodes": str(count),
            "size_leaf_vector": "1",
        },
    }


def _siblings_together(
    left: NDArray[np.int32], right: NDArray[np.int32]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return a tree's nodes, level by level, and for each the place of its left child, -1 for a leaf.

    XGBoost takes the node after the left child for the right one, whatever the file says.
    """
    order, places = [0], []
    for node in order:
        places.append(len(order) if left[node] >= 0 else -1)
        if left[node] >= 0:
            order += [int(left[node]), int(right[node])]
    return np.array(order, dtype=np.int64), np.array(places, dtype=np.int64)


def _splits(threshold: NDArray[np.float64]) -> NDArray[np.float64]:
    with np.errstate(over="ignore"):  # checked below
        following = np.nextafter(float32_below(threshold), np.float32(np.inf))
    if not np.isfinite(following).all():
        raise ModelError("a threshold is the largest float32: XGBoost has no split above it")
    return following.astype(np.float64)
