"""Suppression: spotting the judge's trigger queries among ordinary ones.

The paper calls this impossible by construction. But on a trigger row the trees are divided as the signature
divides them, and in the same way on each: both show in the votes. Two scores, higher = more suspicious:

- `disagreement`: share of trees outvoted, in [0, 0.5] for two classes;
- `repeats`: how often the same division (up to exchanging the classes) occurs among the other queries, times
  the disagreement. Unanimous votes repeat all the time and mean nothing: they score 0.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wm.attacks.divisions import disagreement, repeats

FALSE_POSITIVE_LIMIT = 0.01


@dataclass(frozen=True)
class SuppressionResult:
    """How well a score tells trigger queries from ordinary ones.

    Attributes
    ----------
    method
        Name of the score.
    auc
        Area under the ROC curve; 0.5 is chance.
    tpr_at_1pct_fpr
        Largest share of trigger queries spotted at a threshold that suspects at most 1% of ordinary ones.
    triggers, ordinary
        Numbers of queries.
    false_positive_rate, true_positive_rate
        The points of the ROC curve, ascending.
    """

    method: str
    auc: float
    tpr_at_1pct_fpr: float
    triggers: int
    ordinary: int
    false_positive_rate: tuple[float, ...]
    true_positive_rate: tuple[float, ...]


METHODS: dict[str, Callable[[NDArray[np.int64]], NDArray[np.float64]]] = {
    "disagreement": disagreement,
    "repeats": repeats,
}


def evaluate(method: str, scores: NDArray[np.float64], is_trigger: NDArray[np.bool_]) -> SuppressionResult:
    """Score a method on a stream whose trigger queries are known.

    Parameters
    ----------
    scores : (n,)
    is_trigger : (n,)
        At least one of each kind.
    """
    from sklearn.metrics import roc_auc_score, roc_curve

    # All points: scikit-learn's default drops some on straight stretches, and with them the best allowed one.
    false_positive, true_positive, _ = roc_curve(is_trigger, scores, drop_intermediate=False)
    allowed = false_positive <= FALSE_POSITIVE_LIMIT
    return SuppressionResult(
        method=method,
        auc=float(roc_auc_score(is_trigger, scores)),
        tpr_at_1pct_fpr=float(true_positive[allowed].max()),
        triggers=int(is_trigger.sum()),
        ordinary=int((~is_trigger).sum()),
        false_positive_rate=tuple(false_positive.tolist()),
        true_positive_rate=tuple(true_positive.tolist()),
    )


def suppress(codes: NDArray[np.int64], is_trigger: NDArray[np.bool_]) -> list[SuppressionResult]:
    """Run every method on a stream of queries' votes (n, m) and score it."""
    return [evaluate(name, score(codes), is_trigger) for name, score in METHODS.items()]


def threshold_at_limit(ordinary: NDArray[np.float64], limit: float = FALSE_POSITIVE_LIMIT) -> float:
    """Return the least threshold that suspects at most a share of ordinary queries' scores (n,): score >= it.

    An attacker sets it on ordinary queries of its own; n is at least 1.
    """
    levels = np.unique(ordinary)
    suspected = np.array([np.count_nonzero(ordinary >= level) for level in levels]) / len(ordinary)
    allowed = levels[suspected <= limit]
    return float(allowed[0]) if len(allowed) else float(np.nextafter(levels[-1], np.inf))
