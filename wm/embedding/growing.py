"""Plain decision trees of two classes, grown faster than by scikit-learn and exactly as there.

If each row counts once, or as often as a bootstrap sample holds it, or some rows weigh more and their weight
is a multiple of `UNIT`, the impurity of a split follows from sums that are exact in any order. So the numbers
of a column are ranked once for all trees, and nodes count ranks where scikit-learn sorts numbers. Features
are drawn, compared and set aside as constant by the same rules in the same order, and impurities come from
the same operations: trees are equal to the last bit, in structure, thresholds, values and order of nodes.

This rests on scikit-learn's code as it is. `Grower.like` therefore has scikit-learn grow one of the trees, on
some of the rows, and grows none itself if it comes out otherwise; nor on processors where compilers may fuse
operations.
"""

from __future__ import annotations

import copy
import math
import platform
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wm.forest import Forest

_EXACT_ON = ("x86_64", "AMD64")
"""Processors for which scikit-learn is compiled without fused multiplication and addition."""

_MAX_ROWS = 2**30
"""Four times a row's index, and two bits, fit 32 bits."""

UNIT = 2.0**-10
"""Sums of weights that are multiples of this are exact..."""

_MAX_SUM = 2.0**42
"""... below this."""

_LEAST_WORK = 2 * 10**6
"""Rows times the root of features times trees; for less, loading compiled code is not worth its time."""

_MAX_TESTED = 2_000
"""Rows, evenly spread, of the tree that is compared with scikit-learn's."""

_TESTED_WEIGHT = 36.5
"""Weight of heavy rows in that tree."""

_HEAVY_TESTED = 50
"""Of the heavy rows, about how many are in it at least."""

_NODES = (np.int32, np.int32, np.int32, np.float64, np.int64, np.float64, np.float64)
"""Types of the arrays of `GrownTree`."""

Fit = Callable[[NDArray[np.float32], NDArray[np.int64], int, NDArray[np.float64] | None], Any]
"""Fits scikit-learn's `DecisionTreeClassifier` to rows, (n, d), and labels 0 and 1, (n,), with a seed and
weights, (n,) (None: 1 each)."""


@dataclass(frozen=True, eq=False)
class GrownTree:
    """A tree as flat arrays in scikit-learn's order of nodes.

    Attributes
    ----------
    left, right, feature : (nodes,) int32
        -1 at a leaf.
    threshold : (nodes,) float64
    rows : (nodes,) int64
        Training rows at each node, each as often as it was drawn.
    weight, ones : (nodes,) float64
        Their weight, and that of those of class 1.
    depth
        0 for a single leaf.
    """

    left: NDArray[np.int32]
    right: NDArray[np.int32]
    feature: NDArray[np.int32]
    threshold: NDArray[np.float64]
    rows: NDArray[np.int64]
    weight: NDArray[np.float64]
    ones: NDArray[np.float64]
    depth: int

    @property
    def nodes(self) -> tuple[NDArray[Any], ...]:
        """The arrays, as the kernel takes them."""
        return self.left, self.right, self.feature, self.threshold, self.rows, self.weight, self.ones

    @property
    def value(self) -> NDArray[np.float64]:
        """Share of each class at each node: (nodes, 2)."""
        return np.stack([(self.weight - self.ones) / self.weight, self.ones / self.weight], axis=1)

    def shares(self, X: NDArray[np.float32]) -> NDArray[np.float64]:
        """Return what scikit-learn's `predict_proba` returns for finite rows, (n, d): (n, 2)."""
        from wm.embedding.growing_kernel import shares

        found = np.empty((len(X), 2))
        shares(X, self.nodes, found)
        return found

    def votes(self, X: NDArray[np.float32]) -> NDArray[np.uint8]:
        """Return the tree's votes on finite rows, (n, d): 0 or 1, and 0 on a tie; (n,)."""
        from wm.embedding.growing_kernel import votes

        found = np.empty(len(X), dtype=np.uint8)
        votes(X, self.nodes, found)
        return found

    def sklearn(self, n_features: int) -> Any:
        """Return scikit-learn's `tree_`, as it would have grown it."""
        from sklearn.tree._tree import NODE_DTYPE, TREE_UNDEFINED, Tree

        nodes = np.zeros(len(self.left), dtype=NODE_DTYPE)
        inner = self.left >= 0
        zeros = self.weight - self.ones
        nodes["left_child"], nodes["right_child"] = self.left, self.right
        nodes["feature"] = np.where(inner, self.feature, TREE_UNDEFINED)
        nodes["threshold"] = np.where(inner, self.threshold, TREE_UNDEFINED)
        nodes["impurity"] = 1.0 - (zeros * zeros + self.ones * self.ones) / (self.weight * self.weight)
        nodes["n_node_samples"], nodes["weighted_n_node_samples"] = self.rows, self.weight
        nodes["missing_go_to_left"][inner] = self.rows[self.left[inner]] > self.rows[self.right[inner]]
        made = Tree(n_features, np.array([2], dtype=np.intp), 1)
        values = self.value[:, None]
        state = {"max_depth": self.depth, "node_count": len(nodes), "nodes": nodes, "values": values}
        made.__setstate__(state)
        return made


@dataclass(frozen=True, eq=False)
class Grower:
    """Training rows, ranked, the trees' seeds, and the limits that all trees share."""

    seeds: tuple[int, ...]
    """`random_state` of each tree."""
    _columns: tuple[NDArray[np.unsignedinteger], NDArray[np.float32], NDArray[np.int64]]
    _samples: NDArray[np.uint32]
    _min_leaf: int
    _first: Any
    """scikit-learn's tree with which the first one was compared; it knows the other limits."""
    _is_sampled: bool
    _weight: float = 1.0
    """Of a heavy row."""

    @classmethod
    def like(
        cls,
        fit: Fit,
        X: NDArray[np.float32],
        y: NDArray[Any],
        seeds: Sequence[int],
        *,
        bootstrap: bool = False,
        heavy: NDArray[np.int64] | None = None,
        times: int = 1,
    ) -> Grower | None:
        """Return a grower of the trees that `fit` would fit for some seeds, or None.

        None if scikit-learn should grow them: other than two classes, numbers that are not finite, little
        work, limits that are not known here, or a first tree, of some of the rows, that comes out otherwise.

        Parameters
        ----------
        fit
            Fits scikit-learn's tree of a seed.
        X : (n, d), y : (n,)
            Rows and their classes.
        bootstrap
            Whether each row has the weight that `bootstrap_counts` says, and not all have the weight 1.
        heavy
            Rows that have another weight, see `weighted`; None: none.
        times
            How often each tree is going to be grown.
        """
        classes, codes = np.unique(y, return_inverse=True)
        if len(classes) != 2 or len(X) > _MAX_ROWS or platform.machine() not in _EXACT_ON:
            return None
        work = len(X) * math.sqrt(X.shape[1]) * len(seeds) * times
        if work < _LEAST_WORK or not np.isfinite(X).all():
            return None
        some = _some_of(codes, heavy)
        is_heavy = np.zeros(len(X), dtype=np.bool_)
        if heavy is not None:
            is_heavy[heavy] = True
        weights = np.where(is_heavy, _TESTED_WEIGHT, 1.0)[some]
        if bootstrap:
            weights = bootstrap_counts(seeds[0], len(some)).astype(np.float64)
        sample = X[some], codes[some], is_heavy[some]
        first = fit(*sample[:2], seeds[0], weights if bootstrap or heavy is not None else None)
        if bootstrap and (first.min_samples_leaf != 1 or heavy is not None):
            # Rows that a sample repeats count once for min_samples_leaf: here they would count each time.
            return None

        def made(rows: NDArray[np.float32], labels: NDArray[np.int64], is_heavy: NDArray[np.bool_]) -> Grower:
            least = first.min_samples_leaf
            min_leaf = math.ceil(least * len(rows)) if isinstance(least, float) else int(least)
            samples = (4 * np.arange(len(rows)) + 2 * is_heavy + labels).astype(np.uint32)
            return cls(tuple(seeds), _ranked(rows), samples, min_leaf, first, bootstrap)

        tested = replace(made(*sample), _weight=_TESTED_WEIGHT).grow(0, first.max_depth)
        return made(X, codes, is_heavy) if _are_equal(first.tree_, tested, sampled=bootstrap) else None

    def forest(self, max_depth: int | None, classes: NDArray[Any], n_jobs: int = 1) -> Forest:
        """Return the forest of all trees, as `Forest.from_sklearn` would.

        Parameters
        ----------
        classes : (2,)
            The class values, ascending.
        n_jobs
            Threads, as joblib counts them; they change no result.
        """
        from joblib import Parallel, delayed

        grown: list[GrownTree] = Parallel(n_jobs=n_jobs, require="sharedmem")(
            delayed(self.grow)(tree, max_depth) for tree in range(len(self.seeds))
        )
        return forest_of_grown(grown, len(self._columns[0]), classes)

    def relabelled(self, codes: NDArray[np.int64]) -> Grower:
        """Return a grower for other labels of the same rows: (n,) 0 or 1."""
        return replace(self, _samples=(self._samples & ~np.uint32(1)) | codes.astype(np.uint32))

    def weighted(self, weight: float) -> Grower | None:
        """Return a grower for heavy rows of a weight above 0; None if sums would not be exact."""
        is_exact = weight % UNIT == 0 and weight * len(self._samples) < _MAX_SUM
        return replace(self, _weight=weight) if is_exact else None

    def fitted(self, seed: int) -> Any:
        """Return scikit-learn's fitted `DecisionTreeClassifier` of any seed."""
        made = copy.copy(self._first)
        made.random_state = seed
        made.tree_ = self._grow(seed, made.max_depth).sklearn(made.n_features_in_)
        return made

    def grow(self, tree: int, max_depth: int | None) -> GrownTree:
        """Grow a tree by its index among the seeds."""
        return self._grow(self.seeds[tree], max_depth)

    def _grow(self, seed: int, max_depth: int | None) -> GrownTree:
        from wm.embedding.growing_kernel import grow, grow_best_first

        leaves = self._first.max_leaf_nodes
        # As scikit-learn's splitter draws the state of its own generator.
        state = int(np.random.RandomState(seed).randint(0, 2**31 - 1))
        samples = self._samples.copy()
        if self._is_sampled:
            samples = np.repeat(samples, bootstrap_counts(seed, len(samples)))
        room = 2 * len(samples) - 1
        if leaves is not None:
            leaves = min(leaves, len(samples))
            room = 2 * leaves - 1
        if max_depth is not None and max_depth < math.log2(room):
            room = 2 ** (max_depth + 1) - 1
        nodes: tuple[NDArray[Any], ...] = tuple(np.empty(room, dtype=kind) for kind in _NODES)
        limits = (2**31 - 1 if max_depth is None else max_depth), self._min_leaf, self._first.max_features_
        if leaves is None:
            size, depth = grow(self._columns, samples, limits, self._weight, state, nodes)
        else:
            size, depth = grow_best_first(self._columns, samples, limits, leaves, self._weight, state, nodes)
        left, right, feature, threshold, rows, weight, ones = (array[:size].copy() for array in nodes)
        return GrownTree(left, right, feature, threshold, rows, weight, ones, depth)


def forest_of_grown(grown: Sequence[GrownTree], n_features: int, classes: NDArray[Any]) -> Forest:
    """Return the forest of some trees, as `Forest.from_sklearn` would; `classes` (2,), ascending."""
    return Forest.from_arrays(
        offset=np.cumsum([0, *(len(tree.left) for tree in grown)]),
        left=np.concatenate([tree.left for tree in grown]),
        right=np.concatenate([tree.right for tree in grown]),
        feature=np.concatenate([tree.feature for tree in grown]),
        threshold=np.concatenate([tree.threshold for tree in grown]),
        value=np.concatenate([tree.value for tree in grown]),
        n_features=n_features,
        classes=classes,
        copy=False,
    )


def _some_of(codes: NDArray[np.int64], heavy: NDArray[np.int64] | None) -> NDArray[np.int64]:
    """Return the indexes of the rows of the first test, ascending: some of each class and weight."""
    spread = np.linspace(0, len(codes) - 1, min(len(codes), _MAX_TESTED)).astype(np.int64)
    ends = np.array([np.argmin(codes), np.argmax(codes)])
    more = ends if heavy is None else heavy[:: max(1, len(heavy) // _HEAVY_TESTED)]
    return np.unique(np.concatenate([spread, ends, more]))


def _are_equal(theirs: Any, ours: GrownTree, *, sampled: bool) -> bool:
    """Return whether a tree is scikit-learn's `tree_`, which counts rows once that a sample repeats."""
    inner = ours.left >= 0
    return theirs.node_count == len(inner) and all(
        np.array_equal(*pair)
        for pair in (
            (theirs.children_left, ours.left),
            (theirs.children_right, ours.right),
            (theirs.feature[inner], ours.feature[inner]),
            (theirs.threshold[inner], ours.threshold[inner]),
            (theirs.value[:, 0], ours.value),
            (ours.rows if sampled else theirs.n_node_samples, ours.rows),
            (theirs.weighted_n_node_samples, ours.weight),
        )
    )


def bootstrap_counts(seed: int, n: int) -> NDArray[np.int64]:
    """Return how often a sample with replacement holds each of n rows, as scikit-learn's forests draw it."""
    return np.bincount(np.random.RandomState(seed).randint(0, n, n), minlength=n)


def tree_seeds(seed: int, n_trees: int) -> tuple[int, ...]:
    """Return the `random_state` of each tree of scikit-learn's forest, as it draws them from its own."""
    source = np.random.RandomState(seed)
    return tuple(int(source.randint(np.iinfo(np.int32).max)) for _ in range(n_trees))


def _ranked(
    X: NDArray[np.float32],
) -> tuple[NDArray[np.unsignedinteger], NDArray[np.float32], NDArray[np.int64]]:
    """Return each number's rank in its column, and the columns' different numbers; see the kernel."""
    ranks, values = np.empty(X.T.shape, dtype=np.uint32), []
    for place, column in enumerate(X.T):
        found, ranks[place] = np.unique(column, return_inverse=True)
        values.append(found)
    first = np.cumsum([0, *map(len, values)])
    widest = int(np.diff(first).max())
    return ranks.astype(np.min_scalar_type(widest - 1), copy=False), np.concatenate(values), first
