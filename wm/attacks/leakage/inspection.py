"""The audit of a model file.

scikit-learn's trees record the weights, class counts and seeds of their training. A watermarked forest of the
paper's scheme is two forests, trained with different labels and mostly different weights: the root of each
tree shows which of the two it comes from, and heavy leaves show where the trigger rows are.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wm.attacks.leakage.findings import (
    Finding,
    Severity,
    count_findings,
    leaf_findings,
    order_findings,
    root_groups,
    seed_findings,
)
from wm.attacks.leakage.node_weights import (
    NodeWeights,
    read_forest,
    read_node_weights,
    read_seeds,
    votes_only,
)
from wm.errors import ModelError


@dataclass(frozen=True, eq=False)
class LeakageReport:
    """Result of the audit of one file."""

    findings: tuple[Finding, ...]
    """The worst first."""
    signature: NDArray[np.int64] | None
    """(m,) of 0 and 1, or None: the group, of two, of each tree, up to complement; bit 1 is the group with
    the heavier roots, or else the smaller one."""
    trigger_size: int | None
    """k, where it follows from weights of leaves and roots."""
    trigger_labels: tuple[int, ...] | None
    """Number of the k rows in each class, (c,), where it follows from the roots."""
    weights: tuple[float, ...]
    """Weight of a trigger row in the trees with bit 0 and bit 1, where known; one entry if they are equal."""
    distinct_seeds: int | None
    """Number of different seeds among the trees; None where the file holds none."""
    n_trees: int
    """m."""
    heavy_leaves: int
    """Number of leaves, in all trees, that hold rows of more than the usual weight."""
    _nodes: NodeWeights = field(repr=False)

    @property
    def leaks(self) -> bool:
        """Whether anything secret was found."""
        return any(finding.severity is not Severity.INFO for finding in self.findings)

    def membership(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the share of trees in which each instance lands in a heavy leaf: (n, d) -> (n,).

        1.0 means that an instance is a trigger row or reaches the same leaves as one.

        Raises
        ------
        ModelError
            X has fewer features than the trees test, or is not finite.
        """
        matrix = np.asarray(X)
        width = self._nodes.forest.n_features
        if matrix.ndim != 2 or matrix.shape[1] < width:
            raise ModelError(f"instances have shape {matrix.shape}; the trees test {width} features or more")
        share: NDArray[np.float64] = self._nodes.heavy[self._nodes.forest.apply(matrix[:, :width])].mean(
            axis=1
        )
        return share


def inspect(
    *,
    offset: ArrayLike,
    left: ArrayLike,
    right: ArrayLike,
    feature: ArrayLike,
    threshold: ArrayLike,
    value: ArrayLike,
    impurity: ArrayLike | None = None,
    n_node_samples: ArrayLike | None = None,
    weighted_n_node_samples: ArrayLike | None = None,
    random_state: ArrayLike | None = None,
) -> LeakageReport:
    """Audit a model file, from its arrays alone, without data or votes.

    Parameters
    ----------
    offset : (m + 1,)
    left, right, feature, threshold : (nodes,)
        As in `wm.forest.Forest`.
    value : (nodes, c) or (nodes, 1, c)
        Class weights, or class shares.
    impurity, n_node_samples, weighted_n_node_samples : (nodes,), optional
        As scikit-learn records them.
    random_state : (m,), optional
        Each tree's seed.

    Raises
    ------
    ModelError
        Arrays that are not a forest, or do not fit it.
    """
    forest = read_forest(value, feature, offset=offset, left=left, right=right, threshold=threshold)
    nodes = read_node_weights(forest, n_node_samples, weighted_n_node_samples, impurity)
    seeds = read_seeds(random_state, forest.n_trees)
    groups: NDArray[np.int64] | None = None
    at_roots: list[Finding] = []
    if votes_only(nodes):
        nodes = NodeWeights(forest)  # its counts are counts of leaves, not of rows
    else:
        groups, at_roots = root_groups(nodes)
    signature = _oriented(nodes, groups)
    weights, size = _weights_and_size(nodes, signature)
    found = [
        *at_roots,
        *leaf_findings(nodes, size, weights),
        *seed_findings(seeds, signature),
        *order_findings(signature),
        *count_findings(nodes),
    ]
    rank = list(Severity)
    return LeakageReport(
        findings=tuple(sorted(found, key=lambda finding: rank.index(finding.severity))),
        signature=signature,
        trigger_size=size,
        trigger_labels=_trigger_labels(nodes, signature, weights, size),
        weights=weights,
        distinct_seeds=None if seeds is None else len(np.unique(seeds)),
        n_trees=forest.n_trees,
        heavy_leaves=int(nodes.heavy.sum()),
        _nodes=nodes,
    )


def _oriented(nodes: NodeWeights, groups: NDArray[np.int64] | None) -> NDArray[np.int64] | None:
    """Give bit 1 to the heavier group, as flipped labels need more weight, or else to the smaller one."""
    if groups is None:
        return None
    if nodes.weight is not None:
        roots = nodes.weight[nodes.roots]
        heavier = roots[groups == 1].mean() - roots[groups == 0].mean()
        if abs(heavier) > 0:
            return groups if heavier > 0 else 1 - groups
    return groups if 2 * groups.sum() <= len(groups) else 1 - groups


def _weights_and_size(
    nodes: NodeWeights, signature: NDArray[np.int64] | None
) -> tuple[tuple[float, ...], int | None]:
    """Solve excess = k (w - 1) at the roots of each group, w - 1 being the unit of its leaves' excesses.

    Rows that share every leaf of a group look like fewer, heavier ones; k is then the smallest number that
    fits both groups.
    """
    if nodes.excess is None or nodes.bootstrap or not nodes.heavy.any():
        return (), None
    trees = nodes.forest.n_trees
    groups = [np.ones(trees, dtype=bool)] if signature is None else [signature == 0, signature == 1]
    excesses, sizes = [], []
    for group in groups:
        unit, found = nodes.unit(group), np.unique(np.round(nodes.excess[nodes.roots][group], 6))
        if unit is None or len(found) != 1:
            return (), None
        excesses.append(float(found[0]))
        sizes.append(round(excesses[-1] / unit))
    size = math.lcm(*sizes)
    if nodes.rows is None or not 0 < size <= nodes.rows[0]:
        return (), None
    return tuple(round(excess / size + 1.0, 6) for excess in excesses), size


def _trigger_labels(
    nodes: NodeWeights, signature: NDArray[np.int64] | None, weights: tuple[float, ...], size: int | None
) -> tuple[int, ...] | None:
    """Solve the roots' class weights for the true labels of the trigger rows (two classes, flipped in bit 1).

    With c rows of class 0 in the training set and a of the k trigger rows among them, the roots weigh
    c + a (w0 - 1) and c - a + (k - a) w1 in class 0.
    """
    if signature is None or size is None or len(weights) != 2 or nodes.weight is None:
        return None
    if len(nodes.forest.classes) != 2:
        return None
    zero, one = (int(nodes.roots[np.argmax(signature == bit)]) for bit in (0, 1))
    usual = nodes.class_weight[0]
    plain, flipped = (nodes.weight[root] * nodes.shares[root, 0] / usual for root in (zero, one))
    a = (size * weights[1] - (flipped - plain)) / (weights[0] + weights[1])
    whole = round(float(a))
    return (whole, size - whole) if abs(a - whole) < 1e-3 and 0 <= whole <= size else None
