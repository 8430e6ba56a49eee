"""Weights of training rows, from the sample counts in a model file.

scikit-learn records for each node the number of its training rows, their total weight, and how that weight is
spread over the classes. Without bootstrap, n rows of which k weigh w give a root an excess of k (w - 1), and
a leaf with j of the k an excess of j (w - 1): the leaves' excesses are whole multiples of one unit, w - 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wm.errors import ModelError
from wm.forest import Forest
from wm.formats.forest_checks import as_array
from wm.formats.scrubbing import leaves_below

_TOLERANCE = 1e-6
"""Relative; far above what adding float64 weights can round away, far below one row's weight."""

_DIGITS = 6
"""Weights are rounded to these before they are counted."""

_MIN_UNIT = 1e-3
"""Smaller weights above the usual one cannot be distinguished from rounding in sums of many rows."""

_MIN_WEIGHT, _MAX_WEIGHT = 1e-12, 1e18
"""Weights beyond these are not training weights, and would overflow or vanish in later computations."""


@dataclass(frozen=True, eq=False)
class NodeWeights:
    """A forest with the counts that its file holds for each node."""

    forest: Forest
    """The trees; its `value` as the file has it."""
    rows: NDArray[np.int64] | None = None
    """(nodes,), or None: `n_node_samples`."""
    weight: NDArray[np.float64] | None = None
    """(nodes,), or None: `weighted_n_node_samples`, or else the sums of `value` where these are counts."""
    impurity: NDArray[np.float64] | None = None
    """(nodes,), or None."""

    @cached_property
    def roots(self) -> NDArray[np.int64]:
        """Global indexes of the roots: (m,)."""
        return self.forest.offset[:-1]

    @cached_property
    def shares(self) -> NDArray[np.float64]:
        """Each node's weight spread over the classes, as shares: (nodes, c)."""
        value = self.forest.value
        shares: NDArray[np.float64] = value / value.sum(axis=1, keepdims=True)
        return shares

    @cached_property
    def bootstrap(self) -> bool:
        """Whether trees have different numbers of rows: then weights count how often a row was drawn."""
        return self.rows is not None and len(np.unique(self.rows[self.roots])) > 1

    @cached_property
    def class_weight(self) -> NDArray[np.float64]:
        """The usual weight of a row of each class: (c,); 1 unless the forest was trained with class weights.

        The commonest ratio of weight to rows among the leaves of one class only: most leaves hold no
        trigger row.
        """
        usual = np.ones(len(self.forest.classes))
        if self.rows is None or self.weight is None:
            return usual
        pure = self.forest.is_leaf & (self.shares.max(axis=1) == 1.0)
        for code in range(len(usual)):
            nodes = pure & (self.forest.node_class == code)
            if nodes.any():
                ratios = self.weight[nodes] / self.rows[nodes]
                _, place, count = np.unique(
                    np.round(ratios, _DIGITS), return_inverse=True, return_counts=True
                )
                # The median of the commonest, not its rounding, which could be 0.
                usual[code] = np.median(ratios[place.reshape(-1) == np.argmax(count)])
        return usual

    @cached_property
    def excess(self) -> NDArray[np.float64] | None:
        """Weight beyond the usual one of a node's rows, in rows: (nodes,); None without the counts."""
        if self.rows is None or self.weight is None:
            return None
        usual_rows = (self.shares * self.weight[:, None] / self.class_weight).sum(axis=1)
        excess = usual_rows - self.rows
        return np.where(np.abs(excess) < _TOLERANCE * np.maximum(1.0, self.weight), 0.0, excess)

    @cached_property
    def heavy(self) -> NDArray[np.bool_]:
        """Leaves that hold a row of more than the usual weight: (nodes,); none in bootstrapped forests."""
        if self.excess is None or self.bootstrap:
            return np.zeros(len(self.forest.left), dtype=bool)
        return self.forest.is_leaf & (self.excess > 0)

    def unit(self, trees: NDArray[np.bool_]) -> float | None:
        """Return w - 1, of which the excess of each leaf of some trees is a multiple; None if there is none.

        Parameters
        ----------
        trees : (m,) bool
            Trees whose heavy rows all weigh the same.
        """
        if self.excess is None:
            return None
        found = self.excess[self.heavy & trees[self.forest.node_tree]]
        return _common_unit(found) if len(found) else None


def votes_only(nodes: NodeWeights) -> bool:
    """Return whether a file is scrubbed (`wm.formats.scrubbing`): it holds no information beyond its votes.

    Then class shares and impurities are those of the leaves below each node, counts and weights their number.
    In small trees such numbers may take two values by chance, which reveal nothing.
    """
    if not _roots_count_leaves(nodes):
        return False  # before the leaves below each of perhaps millions of nodes are counted
    leaves = leaves_below(nodes.forest)
    total = leaves.sum(axis=1)
    shares = leaves / total[:, None]
    return bool(
        np.allclose(nodes.shares, shares)
        and (nodes.rows is None or np.array_equal(nodes.rows, total))
        and (nodes.weight is None or np.allclose(nodes.weight, total))
        and (nodes.impurity is None or np.allclose(nodes.impurity, 1.0 - (shares**2).sum(axis=1)))
    )


def _roots_count_leaves(nodes: NodeWeights) -> bool:
    """Return whether the class shares at the roots are those of the trees' leaves."""
    forest, classes = nodes.forest, nodes.forest.value.shape[1]
    leaves = np.flatnonzero(forest.is_leaf)
    places = forest.node_tree[leaves] * classes + forest.node_class[leaves]
    votes = np.bincount(places, minlength=forest.n_trees * classes).reshape(-1, classes)
    return bool(np.allclose(nodes.shares[nodes.roots], votes / votes.sum(axis=1, keepdims=True)))


def two_groups(values: NDArray[np.float64]) -> NDArray[np.int64] | None:
    """Return 0 or 1 for each tree where a number at the roots takes exactly two values, else None.

    Parameters
    ----------
    values : (m,) or (m, c)
    """
    rounded = np.round(values / np.maximum(1.0, np.abs(values).max()), 9)
    found, inverse = np.unique(rounded, axis=0, return_inverse=True)
    return inverse.reshape(-1).astype(np.int64) if len(found) == 2 else None


def _common_unit(amounts: NDArray[np.float64]) -> float | None:
    """Return the largest number of which all amounts are whole multiples (Euclid's algorithm on floats)."""
    limit = _TOLERANCE * float(amounts.max())
    unit = 0.0
    for amount in np.unique(np.round(amounts, _DIGITS)):
        a, b = float(amount), unit
        while b > limit:
            a, b = b, abs(a - b * round(a / b))
        unit = a
    if unit <= _MIN_UNIT:
        return None
    multiples = amounts / unit
    whole = np.abs(multiples - np.round(multiples)).max() < 1e-3
    return unit if whole else None


def read_forest(value: ArrayLike, feature: ArrayLike, **arrays: ArrayLike) -> Forest:
    """Return the forest of a model file's arrays, which state neither features nor classes.

    Raises
    ------
    ModelError
        Arrays that are not a forest.
    """
    weights = _real("value", value, None)
    if weights.ndim == 3 and weights.shape[1] == 1:  # scikit-learn has an axis for several outputs
        weights = weights[:, 0, :]
    tested = np.asarray(feature)
    if tested.ndim != 1 or not len(tested) or tested.dtype.kind not in "iu":
        raise ModelError("feature must be a one-dimensional array of whole numbers, one for each node")
    if weights.ndim != 2 or not weights.shape[1]:
        raise ModelError(f"value has shape {weights.shape}; (nodes, classes) is needed")
    n_features, classes = max(1, int(tested.max()) + 1), np.arange(weights.shape[1])
    own: dict[str, Any] = {"feature": feature, "value": weights, "classes": classes}
    return Forest.from_arrays(**arrays | own, n_features=n_features)


def read_node_weights(
    forest: Forest, rows: ArrayLike | None, weight: ArrayLike | None, impurity: ArrayLike | None
) -> NodeWeights:
    """Check what a model file holds for each node of its forest; arguments as in `NodeWeights`.

    Raises
    ------
    ModelError
        Counts or weights that are not positive numbers, impurities that are not numbers, one for each node.
    """
    nodes = len(forest.left)
    if weight is not None:
        total = _positive("weighted_n_node_samples", weight, nodes)
        if total.min() < _MIN_WEIGHT or total.max() > _MAX_WEIGHT:
            raise ModelError(
                f"weighted_n_node_samples holds a number outside {_MIN_WEIGHT:g} to {_MAX_WEIGHT:g}, "
                "which is not a weight"
            )
    else:
        total = forest.value.sum(axis=1)
    shares_only = weight is None and bool(np.allclose(total, 1.0))
    return NodeWeights(
        forest,
        rows=None if rows is None else _counts("n_node_samples", rows, nodes),
        weight=None if shares_only else total,
        impurity=None if impurity is None else _real("impurity", impurity, nodes),
    )


def _counts(name: str, values: ArrayLike, nodes: int) -> NDArray[np.int64]:
    array = _positive(name, values, nodes)
    if (array != np.round(array)).any() or array.max() >= 2**53:
        raise ModelError(f"{name} holds a number that is no count of rows")
    return array.astype(np.int64)


def _positive(name: str, values: ArrayLike, nodes: int) -> NDArray[np.float64]:
    array = _real(name, values, nodes)
    if not (array > 0).all():
        raise ModelError(f"{name} holds a number that is not above 0")
    return array


def _real(name: str, values: ArrayLike, length: int | None) -> NDArray[np.float64]:
    """Return an array of finite numbers as float64, of one dimension where a length is given."""
    array = as_array(name, values)
    if array.dtype.kind not in "fiu" or not array.size:
        raise ModelError(f"{name} must be an array of numbers")
    if length is not None and array.shape != (length,):
        raise ModelError(f"{name} has shape {array.shape}; one number for each of {length} is needed")
    exact = array.astype(np.float64, copy=False)
    if not np.isfinite(exact).all():
        raise ModelError(f"{name} holds a number that is not finite")
    return exact


def read_seeds(values: ArrayLike | None, n_trees: int) -> NDArray[np.int64] | None:
    """Return each tree's seed: (m,); None where the file holds none.

    Raises
    ------
    ModelError
        Values other than one whole number for each tree.
    """
    if values is None:
        return None
    array = np.asarray(values)
    if array.shape != (n_trees,) or array.dtype.kind not in "iu":
        raise ModelError(f"random_state must be {n_trees} whole numbers, one for each tree")
    if array.min() < 0 or array.max() >= 2**63:
        raise ModelError("random_state holds a number that is no seed")
    return array.astype(np.int64)
