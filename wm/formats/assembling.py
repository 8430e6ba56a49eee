"""Trees as readers of model files find them, assembled into one `wm.models.TreeModel`.

Files may be hostile: node indexes are checked here before a walk follows them, and nodes that no root
reaches, as pruning leaves them, are dropped.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wm.errors import ModelError
from wm.forest import Forest
from wm.formats.forest_checks import InputDtype, finite_thresholds
from wm.models import Link, Margins, Traces, TreeModel

MAX_BYTES = 2**28
"""Largest model file that is read: parsed text takes many times its size."""


@dataclass(frozen=True, eq=False)
class Tree:
    """One tree of a model file.

    Attributes
    ----------
    left, right : (n,) integers
        Children, -1 at a leaf.
    feature : (n,) integers
        Feature tested; anything at a leaf.
    threshold : (n,) float64
        Left iff x <= threshold; may be infinite. Anything at a leaf.
    value : (n,) or (n, c) float64
        Margin, or class shares, of each leaf; anything at an inner node.
    missing_left : (n,) bool, or None
        Whether NaN goes left; None if the model refuses it.
    traces
        Other numbers of each node, (n,) each, by their names in `Traces`.
    """

    left: NDArray[np.integer]
    right: NDArray[np.integer]
    feature: NDArray[np.integer]
    threshold: NDArray[np.float64]
    value: NDArray[np.float64]
    missing_left: NDArray[np.bool_] | None = None
    traces: dict[str, NDArray[Any]] = field(default_factory=dict)

    def reachable(self, number: int) -> Tree:
        """Return the tree without the nodes that its root does not reach; `number` names it in errors."""
        nodes = len(self.left)
        if not nodes or any(
            len(each) != nodes for each in (self.right, self.feature, self.threshold, self.value)
        ):
            raise ModelError(f"tree {number}: its arrays have different lengths, or none")
        left, right = np.asarray(self.left, dtype=np.int64), np.asarray(self.right, dtype=np.int64)
        if ((left < 0) != (right < 0)).any() or max(left.max(), right.max()) >= nodes:
            raise ModelError(f"tree {number}: a node has one child, or a child that is not there")
        seen = np.zeros(nodes, dtype=bool)
        level = np.zeros(1, dtype=np.int64)
        while len(level):
            if seen[level].any() or len(np.unique(level)) < len(level):
                raise ModelError(f"tree {number}: a node has two parents: a cycle")
            seen[level] = True
            inner = level[left[level] >= 0]
            level = np.concatenate([left[inner], right[inner]])
        if seen.all():
            return self
        place = np.cumsum(seen) - 1
        kept = [np.where(side[seen] < 0, -1, place[side[seen]]) for side in (left, right)]
        return Tree(
            left=kept[0],
            right=kept[1],
            feature=self.feature[seen],
            threshold=self.threshold[seen],
            value=self.value[seen],
            missing_left=None if self.missing_left is None else self.missing_left[seen],
            traces={name: array[seen] for name, array in self.traces.items()},
        )


def assemble(
    trees: Sequence[Tree],
    *,
    n_features: int,
    classes: Any,
    input_dtype: InputDtype,
    signs: bool = False,
    about_zero: bool = False,
) -> tuple[Forest, list[Tree]]:
    """Return the forest of some trees, and the trees as it has them.

    Parameters
    ----------
    classes
        Of the forest: ascending.
    signs
        Whether the values are margins: then leaves vote for the second of two classes iff their margin is
        above the tree's centre.
    about_zero
        Whether it counts about zero instead, where trees add votes.

    Raises
    ------
    ModelError
        Anything that is not a forest.
    """
    if not trees:
        raise ModelError("the model has no trees")
    kept = [tree.reachable(number) for number, tree in enumerate(trees)]
    leaf = [tree.left < 0 for tree in kept]
    if signs:
        values = [
            _sign_votes(tree.value, is_leaf, about_zero=about_zero)
            for tree, is_leaf in zip(kept, leaf, strict=True)
        ]
    else:
        values = [tree.value for tree in kept]
    whole = np.concatenate(leaf)
    threshold = np.concatenate([tree.threshold for tree in kept])
    directions = [tree.missing_left for tree in kept if tree.missing_left is not None]
    if directions and len(directions) < len(kept):
        raise ModelError("some trees take missing values, others do not")
    forest = Forest.from_arrays(
        offset=np.cumsum([0, *(len(tree.left) for tree in kept)]),
        left=np.concatenate([tree.left for tree in kept]),
        right=np.concatenate([tree.right for tree in kept]),
        feature=np.where(whole, -1, np.concatenate([tree.feature for tree in kept])),
        threshold=np.where(whole, 0.0, finite_thresholds(threshold)),
        value=np.concatenate(values),
        n_features=n_features,
        classes=classes,
        missing_left=np.concatenate(directions) if directions else None,
        input_dtype=input_dtype,
    )
    return forest, kept


def _sign_votes(
    margin: NDArray[np.float64], is_leaf: NDArray[np.bool_], *, about_zero: bool
) -> NDArray[np.float64]:
    """Return the vote of each leaf as weights of two classes: (n, 2)."""
    if not np.isfinite(margin[is_leaf]).all():
        raise ModelError("a leaf's margin is not a finite number")
    above = margin > (0.0 if about_zero else centre_of(margin[is_leaf]))
    return np.stack([~above | ~is_leaf, above | ~is_leaf], axis=1).astype(np.float64)


def centre_of(margins: NDArray[np.float64]) -> float:
    """Return the centre of a tree's leaves: the median of their distinct margins.

    At least one leaf of a tree that is not constant lies above it, and one at or below it.
    """
    return float(np.median(np.unique(margins)))


def margin_model(
    framework: str,
    trees: Sequence[Tree],
    *,
    column: Any,
    base: Any,
    link: Link,
    n_features: int,
    classes: NDArray[Any] | None,
    input_dtype: InputDtype,
    scale: float = 1.0,
    is_mean: bool = False,
    added_in: InputDtype = "float64",
    feature_names: Sequence[str] = (),
    traced: tuple[str, ...] = (),
    notes: Sequence[tuple[str, str]] = (),
) -> TreeModel:
    """Return a model of trees with margins; arguments as in `Margins`, `TreeModel` and `Traces`.

    Raises
    ------
    ModelError
        Anything that is not such a model.
    """
    # A forest's classes ascend; a model's may come in another order.
    is_own = classes is not None and len(base) == 1 and bool(classes[0] < classes[-1])
    own = classes if is_own else np.array([0, 1])
    adds_votes = is_own and link is Link.LOGISTIC and not np.any(base) and _is_one_number(trees)
    forest, kept = assemble(
        trees, n_features=n_features, classes=own, input_dtype=input_dtype, signs=True, about_zero=adds_votes
    )
    margins = np.concatenate([np.where(tree.left < 0, tree.value, 0.0) for tree in kept])
    columns, start = np.asarray(column, dtype=np.int64), np.asarray(base, dtype=np.float64)
    if columns.shape != (len(kept),) or columns.min() < 0 or columns.max() >= len(start):
        raise ModelError("a tree adds to an output that the model does not have")
    if not np.isfinite(start).all() or not np.isfinite(scale):
        raise ModelError("the model's base score is not a finite number")
    if classes is not None and len(start) not in (1, len(classes)):
        raise ModelError(f"the model has {len(start)} outputs for {len(classes)} classes")
    return TreeModel(
        framework=framework,
        forest=forest,
        margins=Margins(margins, columns, start, link, scale, is_mean, added_in),
        adds_votes=adds_votes,
        classes=classes,
        feature_names=tuple(feature_names),
        traces=Traces(**_traced(kept), fields=traced, notes=tuple(notes)),
    )


def _is_one_number(trees: Sequence[Tree]) -> bool:
    """Return whether all leaves add one number or take it away: then the trees vote, in a sum."""
    found = [
        np.abs(tree.value[np.asarray(tree.left) < 0]) for tree in trees if len(tree.value) == len(tree.left)
    ]
    sizes = np.unique(np.concatenate(found)) if found else np.zeros(0)
    return len(sizes) == 1 and bool(sizes[0] > 0)


def _traced(trees: Sequence[Tree]) -> dict[str, NDArray[np.float64] | None]:
    return {
        name: np.concatenate([tree.traces[name] for tree in trees]).astype(np.float64)
        if all(name in tree.traces for tree in trees)
        else None
        for name in ("rows", "weight")
    }


def trees_of(model: TreeModel) -> list[Tree]:
    """Return the trees of a model with margins, without what its file holds beyond: for `with_trees`."""
    forest, margins = model.forest, model.margins
    if margins is None:
        raise ModelError("the trees of this model vote: it has no margins")
    found = []
    for start, end in zip(forest.offset[:-1].tolist(), forest.offset[1:].tolist(), strict=True):
        nodes = slice(start, end)
        found.append(
            Tree(
                left=forest.left[nodes],
                right=forest.right[nodes],
                feature=forest.feature[nodes],
                threshold=forest.threshold[nodes],
                value=margins.leaf[nodes],
                missing_left=None if forest.missing_left is None else forest.missing_left[nodes],
            )
        )
    return found


def with_trees(model: TreeModel, trees: Sequence[Tree], column: Any) -> TreeModel:
    """Return a model with margins as another, of other trees.

    Parameters
    ----------
    column : (m,)
        Output to which each of the trees adds.

    Raises
    ------
    ModelError
        As in `margin_model`, or a model whose trees vote.
    """
    margins = model.margins
    if margins is None:
        raise ModelError("the trees of this model vote: it has no margins")
    return margin_model(
        model.framework,
        trees,
        column=column,
        base=margins.base,
        link=margins.link,
        n_features=model.forest.n_features,
        classes=model.classes,
        input_dtype=model.forest.input_dtype,
        scale=margins.scale,
        is_mean=margins.is_mean,
        added_in=margins.added_in,
        feature_names=model.feature_names,
    )
