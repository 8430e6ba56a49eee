"""Evidence on a boosted model: the signs of its trees' margins, and their sum alone.

With the margin of each tree a vote is the sign about the tree's centre (docs/adr/0022), and bits are judged
as those of a codebook. Of the sums there is a test of its own. Let S be the number of trees of an output
(`wm.boosting`) that are to be above their centres on a trigger row, less that of the others. Bits are fair
coins, so that given the rows and every |S| the signs of S are fair coins too, independent of each other, also
those of several outputs on one row, whose trees differ, and, under the null hypothesis of
`wm.verification.randomization`, of the suspect. The statistic is the sum of S D over trigger rows and
outputs, D being how far the row's margin lies above the median of the trigger rows of its label. Its
distribution over all signs is exact, by convolution; p is at least 2^-k for k rows of two classes, 2^-ck of
c > 2, however many trees there are.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wm.boosting import tree_classes
from wm.codebook import Codebook
from wm.errors import ClaimError
from wm.models import TreeModel
from wm.verification.answers import AnswerKind, Answers
from wm.verification.randomization import RowTruth, Test, adjusted, each_test, unadjusted

_STEPS = 1000
"""Whole number that the largest weight of a row is scaled to: equal sums are then equal numbers."""

MAX_ROWS = 500
"""Most trigger rows whose signs are counted exactly, a second; of more Chernoff's bound is taken."""

_LEAST = 1e-12
"""Probabilities nearer to 0 or 1 count as this: servers round."""

_FARTHEST = 2.0
"""Deviations count up to so many times their median: one row alone shall not decide."""


def boosted_tests(answers: Mapping[AnswerKind, Answers], truth: RowTruth) -> tuple[Test, ...]:
    """Return every test that the answers allow; as `wm.verification.randomization.run_tests`."""
    found = each_test(answers, truth)
    if "probabilities" in answers:
        found.append(sum_test(answers["probabilities"].values, truth))
    return adjusted(found)


def wrong_signs(model: TreeModel, X: ArrayLike, y: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return which trees of a boosted model are on the wrong side of their centres: (n, d) -> (n, m).

    Parameters
    ----------
    y : (n,)
        Labels, 0, 1, ....
    """
    margins = model.margins
    several = margins is not None and len(margins.base) > 1
    classes = margins.column if margins is not None and several else None
    return Answers("votes", model.forest.vote_codes(X), tree_classes=classes).wrong_votes(y)


def sum_test(probabilities: NDArray[np.float64], truth: RowTruth) -> Test:
    """Return the test of the sums of margins.

    Parameters
    ----------
    probabilities : (n,) or (n, c)
        Of class 1, or of each of several classes, on the rows of `truth`.

    Raises
    ------
    ClaimError
        A claim without a codebook of fair coins.
    """
    codebook = truth.signature
    if not isinstance(codebook, Codebook) or 2 * codebook.expected_ones != codebook.trees:
        raise ClaimError("sums of margins are judged by a codebook of fair coins only")
    classes = 2 if probabilities.ndim == 1 else probabilities.shape[1]
    margins = _margins(probabilities[truth.is_trigger])
    labels = truth.labels[truth.is_trigger]
    deviations = _deviations(margins, labels)
    leaning = _leaning(codebook, labels, classes)
    log10_p, floor = log10_signs((np.abs(leaning) * deviations).ravel(), np.sign(leaning).ravel())
    counted = deviations * leaning
    rows = "trigger rows" if classes == 2 else "margins of trigger rows"
    return unadjusted(
        "rows by sums",
        log10_p,
        floor,
        f"the margin leans to the side of most bits on {int((counted > 0).sum())} of "
        f"{int((counted != 0).sum())} {rows}",
    )


def _margins(probabilities: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return margins up to what a link forgets: (k, 1) of two classes, (k, c) about their mean of more."""
    shares = np.clip(probabilities, _LEAST, 1 - _LEAST)
    if shares.ndim == 1:
        return np.log(shares / (1 - shares))[:, None]
    logs = np.log(shares)
    centred: NDArray[np.float64] = logs - logs.mean(axis=1, keepdims=True)
    return centred


def _leaning(codebook: Codebook, labels: NDArray[np.int64], classes: int) -> NDArray[np.int64]:
    """Return how many more trees are to be above their centres than not, by row and output: (k, outputs)."""
    own = tree_classes(codebook.trees, classes)
    above = np.where((labels[:, None] == own) != (codebook.array == 1), 1, -1)
    wanted = np.array([1] if classes == 2 else range(classes))
    return np.stack([above[:, own == each].sum(axis=1) for each in wanted], axis=1)


def _deviations(margins: NDArray[np.float64], labels: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return each trigger row's margins less the median of those of its label, cut off: (k, outputs)."""
    found = margins.copy()
    for label in np.unique(labels):
        found[labels == label] -= np.median(found[labels == label], axis=0)
    most = _FARTHEST * float(np.median(np.abs(found)))
    return np.clip(found, -most, most) if most > 0 else found


def log10_signs(weights: NDArray[np.float64], signs: NDArray[np.int64]) -> tuple[float, float]:
    """Return log10 P(sum of weights times fair random signs >= that of the given signs), and its floor.

    Exact for weights rounded to whole numbers, the largest being `_STEPS`, for up to `MAX_ROWS` of them; else
    Chernoff's bound, exp(-t s) prod cosh(t w) at its best t >= 0.

    Parameters
    ----------
    weights : (k,)
        Of either sign.
    signs : (k,)
        1 or -1. Rows of weight or sign 0 are left out.
    """
    largest = float(np.abs(weights).max(initial=0.0))
    whole = np.rint(weights / largest * _STEPS).astype(np.int64) if largest > 0 else np.zeros_like(signs)
    seen_of_each = (whole * signs)[(whole != 0) & (signs != 0)]
    sizes, seen = np.abs(seen_of_each), int(seen_of_each.sum())
    floor = -len(sizes) * math.log10(2)
    if not len(sizes):
        return 0.0, 0.0
    if len(sizes) > MAX_ROWS:
        return _log10_bound(sizes, seen), floor
    # The sum is at least `seen` iff the sizes that count negative add up to at most `most`.
    most = (int(sizes.sum()) - seen) // 2
    table = np.zeros(most + 1)
    table[0] = 1.0
    for size in sizes.tolist():
        table /= 2
        if size <= most:
            table[size:] += table[:-size].copy()
    return min(0.0, math.log10(float(table.sum()))), floor


def _log10_bound(sizes: NDArray[np.int64], seen: int) -> float:
    from scipy.optimize import minimize_scalar

    scaled, target = sizes / float(sizes.max()), seen / float(sizes.max())

    def exponent(t: float) -> float:
        return float(np.logaddexp(t * scaled, -t * scaled).sum()) - len(scaled) * math.log(2) - t * target

    best = minimize_scalar(exponent, bounds=(0.0, 50.0), method="bounded")
    return min(0.0, float(best.fun) / math.log(10))
