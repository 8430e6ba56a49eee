"""Plain decision trees of two classes, grown faster than by scikit-learn and exactly as there.

Without weights the impurity of a split follows from counts of rows, which are exact in any order. So the
numbers of a column are ranked once for all trees, and nodes count ranks where scikit-learn sorts numbers.
Features are drawn, compared and set aside as constant by the same rules in the same order, and impurities
come from the same operations: trees are equal to the last bit, in structure, thresholds, values and order of
nodes.

This rests on scikit-learn's code as it is. `Grower.of` therefore has scikit-learn grow one of the trees, and
grows none itself if it comes out otherwise; nor on processors where compilers may fuse operations.
"""

from __future__ import annotations

import math
import platform
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from wm.forest import Forest

_EXACT_ON = ("x86_64", "AMD64")
"""Processors for which scikit-learn is compiled without fused multiplication and addition."""

_MAX_ROWS = 2**30
"""Twice a row's index and its label fit 32 bits."""

_LEAST_WORK = 2 * 10**6
"""Rows times features tried at a split times trees; for less, loading compiled code is not worth its time."""


@dataclass(frozen=True, eq=False)
class GrownTree:
    """A tree as flat arrays in scikit-learn's order of nodes (depth first, left before right).

    Attributes
    ----------
    left, right, feature : (nodes,) int32
        -1 at a leaf.
    threshold : (nodes,) float64
    rows, ones : (nodes,) int64
        Training rows at each node, and those of class 1.
    depth
        0 for a single leaf.
    """

    left: NDArray[np.int32]
    right: NDArray[np.int32]
    feature: NDArray[np.int32]
    threshold: NDArray[np.float64]
    rows: NDArray[np.int64]
    ones: NDArray[np.int64]
    depth: int

    @property
    def nodes(self) -> tuple[NDArray[Any], ...]:
        """The arrays, as the kernel takes them."""
        return self.left, self.right, self.feature, self.threshold, self.rows, self.ones

    @property
    def value(self) -> NDArray[np.float64]:
        """Share of each class at each node: (nodes, 2)."""
        return np.stack([(self.rows - self.ones) / self.rows, self.ones / self.rows], axis=1)

    def shares(self, X: NDArray[np.float32]) -> NDArray[np.float64]:
        """Return what scikit-learn's `predict_proba` returns for finite rows, (n, d): (n, 2)."""
        from wm.embedding.growing_kernel import shares

        found = np.empty((len(X), 2))
        shares(X, self.nodes, found)
        return found


@dataclass(frozen=True, eq=False)
class Grower:
    """Training rows, ranked, and the trees' seeds."""

    seeds: tuple[int, ...]
    """`random_state` of each tree, as scikit-learn's forest draws them from its own."""
    _columns: tuple[NDArray[np.unsignedinteger], NDArray[np.float32], NDArray[np.int64]]
    _samples: NDArray[np.int32]
    _max_features: int

    @classmethod
    def of(
        cls,
        X: NDArray[np.float32],
        y: NDArray[Any],
        *,
        n_trees: int,
        seed: int,
        max_depth: int | None,
        times: int = 1,
    ) -> Self | None:
        """Return a grower of the trees of scikit-learn's forest without bootstrap, or None.

        None if scikit-learn should grow them: other than two classes, numbers that are not finite, little
        work, or a first tree, of `max_depth`, that comes out otherwise.

        Parameters
        ----------
        X : (n, d)
        y : (n,)
            Classes.
        times
            How often each tree is going to be grown.
        """
        classes, codes = np.unique(y, return_inverse=True)
        features = max(1, int(np.sqrt(X.shape[1])))
        if len(classes) != 2 or len(X) > _MAX_ROWS or platform.machine() not in _EXACT_ON:
            return None
        if len(X) * features * n_trees * times < _LEAST_WORK or not np.isfinite(X).all():
            return None
        samples = (2 * np.arange(len(X)) + codes).astype(np.int32)
        found = cls(tree_seeds(seed, n_trees), _ranked(X), samples, features)
        return found if found._agrees(X, codes, max_depth) else None

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
        return Forest.from_arrays(
            offset=np.cumsum([0, *(len(tree.left) for tree in grown)]),
            left=np.concatenate([tree.left for tree in grown]),
            right=np.concatenate([tree.right for tree in grown]),
            feature=np.concatenate([tree.feature for tree in grown]),
            threshold=np.concatenate([tree.threshold for tree in grown]),
            value=np.concatenate([tree.value for tree in grown]),
            n_features=len(self._columns[0]),
            classes=classes,
            copy=False,
        )

    def grow(self, tree: int, max_depth: int | None) -> GrownTree:
        """Grow a tree by its index among the seeds."""
        from wm.embedding.growing_kernel import grow

        # As scikit-learn's splitter draws the state of its own generator.
        state = int(np.random.RandomState(self.seeds[tree]).randint(0, 2**31 - 1))
        room = 2 * len(self._samples) - 1
        if max_depth is not None and max_depth < math.log2(room):
            room = 2 ** (max_depth + 1) - 1
        left, right, feature = (np.empty(room, dtype=np.int32) for _ in range(3))
        threshold, rows, ones = np.empty(room), np.empty(room, dtype=np.int64), np.empty(room, dtype=np.int64)
        nodes = left, right, feature, threshold, rows, ones
        limit = 2**31 - 1 if max_depth is None else max_depth
        size, depth = grow(self._columns, self._samples.copy(), limit, self._max_features, state, nodes)
        left, right, feature = left[:size].copy(), right[:size].copy(), feature[:size].copy()
        threshold, rows, ones = threshold[:size].copy(), rows[:size].copy(), ones[:size].copy()
        return GrownTree(left, right, feature, threshold, rows, ones, depth)

    def _agrees(self, X: NDArray[np.float32], codes: NDArray[np.int64], max_depth: int | None) -> bool:
        """Return whether scikit-learn grows the same first tree."""
        theirs = sklearn_tree(X, codes, self.seeds[0], max_depth).tree_
        ours = self.grow(0, max_depth)
        inner = ours.left >= 0
        return theirs.node_count == len(inner) and all(
            np.array_equal(*pair)
            for pair in (
                (theirs.children_left, ours.left),
                (theirs.children_right, ours.right),
                (theirs.feature[inner], ours.feature[inner]),
                (theirs.threshold[inner], ours.threshold[inner]),
                (theirs.value[:, 0], ours.value),
            )
        )


def sklearn_tree(X: NDArray[np.float32], codes: NDArray[np.int64], seed: int, max_depth: int | None) -> Any:
    """Return a tree of scikit-learn's forest without bootstrap, by the tree's own `random_state`."""
    from sklearn.tree import DecisionTreeClassifier

    tree = DecisionTreeClassifier(max_depth=max_depth, max_features="sqrt", random_state=seed)
    return tree.fit(X, codes, check_input=False)


def tree_seeds(seed: int, n_trees: int) -> tuple[int, ...]:
    """Return the `random_state` of each tree of scikit-learn's forest, as it draws them from its own."""
    source = np.random.RandomState(seed)
    return tuple(int(source.randint(np.iinfo(np.int32).max)) for _ in range(n_trees))


def _ranked(
    X: NDArray[np.float32],
) -> tuple[NDArray[np.unsignedinteger], NDArray[np.float32], NDArray[np.int64]]:
    """Return each number's rank in its column, and the columns' different numbers; see the kernel."""
    columns = [np.unique(column, return_inverse=True) for column in X.T]
    first = np.cumsum([0, *(len(values) for values, _ in columns)])
    widest = int(np.diff(first).max())
    ranks = np.empty(X.T.shape, dtype=np.uint16 if widest <= 2**16 else np.uint32)
    for place, (_, rank) in enumerate(columns):
        ranks[place] = rank
    return ranks, np.concatenate([values for values, _ in columns]), first
