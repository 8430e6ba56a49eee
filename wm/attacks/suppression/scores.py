"""Scores of queries: how suspicious each is, and how well a score separates trigger from ordinary queries.

The paper calls suppression impossible by construction. But on a trigger row the trees are divided as the
signature divides them, and in the same way on each: both show in the votes. Two scores, higher = more
suspicious:

- `disagreement`: share of trees outvoted, in [0, 0.5] for two classes;
- `repeats`: how often the same division (up to exchanging the classes) occurs among the other queries, times
  the disagreement. Unanimous votes repeat all the time and mean nothing: they score 0.

A third needs the model itself: `unusual_leaves`, how far the tuple of leaves that a query reaches is from
those of ordinary rows (the OC-score of arXiv 2206.13083, which spots evasions of tree ensembles).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from wm.attacks.base import AttackRow
from wm.attacks.divisions import disagreement, repeats

FALSE_POSITIVE_LIMIT = 0.01

METHODS: dict[str, Callable[[NDArray[np.int64]], NDArray[np.float64]]] = {
    "disagreement": disagreement,
    "repeats": repeats,
}


def unusual_leaves(
    leaves: NDArray[np.int64], reference: NDArray[np.int64], *, is_same: bool = False
) -> NDArray[np.float64]:
    """Return for each query the share of trees whose leaf differs from that of the nearest ordinary row.

    Parameters
    ----------
    leaves : (n, m), reference : (r, m)
        Leaves that queries and ordinary rows reach.
    is_same
        Whether both are the same rows: then no row is compared with itself.

    Returns
    -------
    (n,) in [0, 1]; 1 without ordinary rows to compare with.
    """
    found = np.ones(len(leaves))
    for index, row in enumerate(leaves):
        differing = (reference != row).mean(axis=1)
        if is_same:
            differing[index] = 1.0
        found[index] = differing.min(initial=1.0)
    return found


class SpotScore(AttackRow):
    """How well a score separates trigger queries from ordinary ones."""

    method: str
    """How queries are ranked."""
    auc: float
    """Area under the ROC curve; 0.5 is chance."""
    tpr_at_1pct_fpr: float
    """Share of trigger queries spotted at a threshold that suspects at most 1% of ordinary ones."""
    triggers: int
    """Trigger queries."""
    ordinary: int
    """Ordinary queries."""
    false_positive_rate: tuple[float, ...]
    """Corners of the ROC curve, ascending."""
    true_positive_rate: tuple[float, ...]
    """The same."""


def evaluate(method: str, scores: NDArray[np.float64], is_trigger: NDArray[np.bool_]) -> SpotScore:
    """Evaluate a score on a stream whose trigger queries are known.

    Parameters
    ----------
    scores : (n,)
    is_trigger : (n,)
        At least one of each kind.
    """
    from sklearn.metrics import roc_auc_score, roc_curve

    # All points: scikit-learn by default drops some on straight stretches, which may hold the best allowed
    # one.
    false_positive, true_positive, _ = roc_curve(is_trigger, scores, drop_intermediate=False)
    allowed = false_positive <= FALSE_POSITIVE_LIMIT
    return SpotScore(
        method=method,
        auc=float(roc_auc_score(is_trigger, scores)),
        tpr_at_1pct_fpr=float(true_positive[allowed].max()),
        triggers=int(is_trigger.sum()),
        ordinary=int((~is_trigger).sum()),
        false_positive_rate=tuple(false_positive.tolist()),
        true_positive_rate=tuple(true_positive.tolist()),
    )


def threshold_at_limit(ordinary: NDArray[np.float64], limit: float = FALSE_POSITIVE_LIMIT) -> float:
    """Return the smallest threshold that suspects at most a share of ordinary queries: score >= threshold.

    Parameters
    ----------
    ordinary : (n,)
        Scores of ordinary queries of the attacker's own; n is at least 1.
    """
    levels = np.unique(ordinary)
    suspected = np.array([np.count_nonzero(ordinary >= level) for level in levels]) / len(ordinary)
    allowed = levels[suspected <= limit]
    return float(allowed[0]) if len(allowed) else float(np.nextafter(levels[-1], np.inf))
