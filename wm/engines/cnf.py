"""The Boolean form of a forest, shared by `sat`, `sat-incremental` and `z3-bool`.

B(f, t) stands for x_f <= t. For each feature the thresholds are ordered: x_f <= t implies x_f <= t' for
t < t'. A leaf is not reached iff one of its bounds fails, which is one clause.

`encode` forbids some leaves inside a box: the pruned form, for one query. `whole_forest` adds to each leaf's
clause a Boolean V(i, c), "tree i may vote for class c": one formula for all queries, which select signature,
label and box by assumptions.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wm.engines.encoding import LeafBounds, next_below
from wm.engines.protocol import ForgeryQuery
from wm.forest import Forest


@dataclass(frozen=True, eq=False)
class Encoding:
    """Clauses that keep an instance out of some leaves; literals are numbers as in DIMACS files."""

    feature: NDArray[np.int64]
    threshold: NDArray[np.float32]
    """Variable v in 1..n stands for ``x[feature[v - 1]] <= threshold[v - 1]``; ascending in both."""
    order: list[list[int]]
    """Clauses of two literals that order the thresholds of each feature."""
    leaves: list[list[int]]
    """One clause for each forbidden leaf, by ascending leaf."""

    @property
    def tests(self) -> list[tuple[int, float]]:
        """Feature and threshold of each variable, from 1 on."""
        return list(zip(self.feature.tolist(), self.threshold.tolist(), strict=True))

    def point(self, model: NDArray[np.int64], upper: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the largest point of a box that a model describes.

        Parameters
        ----------
        model : (at least n,)
            Literal of each variable, by ascending variable.
        upper : (d,) float32
            Upper end of the box.
        """
        point = upper.copy()
        # Descending: the smallest threshold that x is at most is written last.
        true = np.flatnonzero(model[: len(self.feature)] > 0)[::-1]
        point[self.feature[true]] = np.minimum(self.threshold[true], upper[self.feature[true]])
        return point


def encode(
    bounds: LeafBounds, leaves: NDArray[np.bool_], lower: NDArray[np.float32], upper: NDArray[np.float32]
) -> Encoding:
    """Return the clauses that keep an instance in a box out of some leaves, all of which meet the box.

    Parameters
    ----------
    leaves : (L,)
        The leaves to forbid.
    lower, upper : (d,) float32
        Closed box; bounds that hold in all of it are left out. -inf and inf for no box.
    """
    rows = np.flatnonzero(leaves[bounds.leaf])
    leaf, feature = bounds.leaf[rows], bounds.feature[rows]
    open_above = bounds.upper[rows] < upper[feature]
    open_below = bounds.lower[rows] > lower[feature]
    # A leaf's interval is two tests: x <= upper holds, and x <= (float32 just below lower) fails.
    tests = encode_keys(
        np.concatenate([feature[open_above], feature[open_below]]),
        np.concatenate([bounds.upper[rows][open_above], next_below(bounds.lower[rows][open_below])]),
    )
    variables, name = np.unique(tests, return_inverse=True)
    # Outside the leaf, x <= upper fails (a negative literal) or x <= (just below lower) holds (a positive
    # one).
    literals = np.where(np.arange(len(tests)) < open_above.sum(), -1, 1) * (name + 1)
    owner = np.concatenate([leaf[open_above], leaf[open_below]])
    by_leaf = literals[np.argsort(owner, kind="stable")].tolist()
    sizes = np.bincount(owner, minlength=len(bounds.node))[leaves].tolist()
    ends = np.cumsum(sizes).tolist()
    variable_feature, threshold = decode_keys(variables)
    chained = np.flatnonzero(variable_feature[1:] == variable_feature[:-1]) + 1
    return Encoding(
        feature=variable_feature,
        threshold=threshold,
        order=np.stack([-chained, chained + 1], axis=1).tolist(),
        leaves=[by_leaf[end - size : end] for end, size in zip(ends, sizes, strict=True)],
    )


def encode_keys(feature: NDArray[np.int64], threshold: NDArray[np.float32]) -> NDArray[np.int64]:
    """Return one integer for each test, ordered by feature and then by threshold."""
    # The bits of a float32 (0.0, not -0.0) have its order if those of negative numbers are flipped.
    bits = (threshold + np.float32(0)).view(np.int32).astype(np.int64)
    return (feature << 32) + np.where(bits < 0, -(2**31) - 1 - bits, bits)


def decode_keys(keys: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Return feature and threshold of each key: the inverse of `encode_keys`."""
    feature = (keys + 2**31) >> 32
    bits = keys - (feature << 32)
    return feature, np.where(bits < 0, -(2**31) - 1 - bits, bits).astype(np.int32).view(np.float32)


@dataclass(frozen=True, eq=False)
class WholeForest:
    """One formula for all queries to a forest.

    Variables 1..n are thresholds, as in `Encoding`; then follow V(i, c), tree after tree.
    """

    forest: Forest
    encoding: Encoding
    keys: NDArray[np.int64]
    clauses: list[list[int]]

    @property
    def n_variables(self) -> int:
        """Number of variables."""
        return len(self.keys) + self.forest.n_trees * len(self.forest.classes)

    def assumptions(
        self, query: ForgeryQuery, lower: NDArray[np.float32], upper: NDArray[np.float32]
    ) -> list[int]:
        """Return the literals that select a query and its box, which is not empty."""
        n = len(self.keys)
        # Votes: forbid, in each tree, all other classes (bit 0) or the label (bit 1).
        is_label = self.forest.classes == query.label
        forbidden = is_label[None, :] == (query.signature == 1)[:, None]
        # Box: the last threshold below it is false, the first one not below its upper end is true.
        features = np.arange(len(lower))
        below = np.searchsorted(self.keys, encode_keys(features, lower)) - 1
        above = np.searchsorted(self.keys, encode_keys(features, upper))
        owner = np.append(self.encoding.feature, -1)  # -1, at both ends, for no threshold
        return [
            *(-(n + 1 + np.flatnonzero(forbidden))).tolist(),
            *(-(below[owner[below] == features] + 1)).tolist(),
            *(above[owner[above] == features] + 1).tolist(),
        ]


def whole_forest(forest: Forest, bounds: LeafBounds) -> WholeForest:
    """Return the formula of all leaves of a forest."""
    everywhere = np.full(forest.n_features, np.inf, dtype=np.float32)
    encoding = encode(bounds, np.ones(len(bounds.node), dtype=bool), -everywhere, everywhere)
    votes = (len(encoding.feature) + 1 + bounds.tree * len(forest.classes) + bounds.code).tolist()
    guarded = [[*clause, vote] for clause, vote in zip(encoding.leaves, votes, strict=True)]
    return WholeForest(
        forest=forest,
        encoding=encoding,
        keys=encode_keys(encoding.feature, encoding.threshold),
        clauses=encoding.order + guarded,
    )
