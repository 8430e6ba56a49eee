"""Detection: reading the signature off the shape of the trees (Section 4.2.1).

The attacker measures each tree (depth, number of leaves) and guesses that flipped labels make trees larger.
Strategy A: bit 0 below mean - std, bit 1 above mean + std, else undecided. Strategy B: bit 0 below the mean,
else bit 1; with all trees alike it therefore guesses 1 everywhere, as in the paper's table for ijcnn1.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from wm.forest import Forest
from wm.signature import Signature

UNDECIDED = -1


class Measure(StrEnum):
    """What the attacker measures on each tree."""

    DEPTH = "depth"
    LEAVES = "leaves"


class Strategy(StrEnum):
    """How a measure becomes a guess."""

    A = "A"
    B = "B"


@dataclass(frozen=True)
class DetectionResult:
    """How much of a signature one strategy reads off.

    Attributes
    ----------
    measure, strategy
        What was tried.
    mean, std
        Of the measure over the ensemble (population standard deviation).
    correct, wrong, uncertain
        Bits; they sum to m.
    p_value
        One-sided binomial: chance of at least `correct` right among the decided bits by fair coins.
    p_value_exact
        The same for guesses as they are and a uniformly random signature with as many ones, which also holds
        when ones and zeros are not equally many.
    """

    measure: Measure
    strategy: Strategy
    mean: float
    std: float
    correct: int
    wrong: int
    uncertain: int
    p_value: float
    p_value_exact: float


def measure_trees(forest: Forest, measure: Measure) -> NDArray[np.int64]:
    """Return one number for each tree: (m,)."""
    return forest.tree_depths if measure is Measure.DEPTH else forest.tree_leaves


def guess_signature(values: NDArray[np.int64], strategy: Strategy) -> NDArray[np.int64]:
    """Return a guess for each bit, 0, 1 or `UNDECIDED`: (m,)."""
    mean, std = values.mean(), values.std()
    if strategy is Strategy.B:
        return np.where(values < mean, 0, 1)
    return np.select([values < mean - std, values > mean + std], [0, 1], UNDECIDED)


def detect(forest: Forest, signature: Signature) -> list[DetectionResult]:
    """Try both strategies on both measures and score them against the true signature."""
    from scipy import stats

    results = []
    for measure in Measure:
        values = measure_trees(forest, measure)
        for strategy in Strategy:
            guess = guess_signature(values, strategy)
            correct, wrong, uncertain = _count(guess, signature)
            results.append(
                DetectionResult(
                    measure=measure,
                    strategy=strategy,
                    mean=float(values.mean()),
                    std=float(values.std()),
                    correct=correct,
                    wrong=wrong,
                    uncertain=uncertain,
                    p_value=float(stats.binom.sf(correct - 1, correct + wrong, 0.5)),
                    p_value_exact=exact_p_value(guess, signature),
                )
            )
    return results


def _count(guess: NDArray[np.int64], signature: Signature) -> tuple[int, int, int]:
    decided = guess != UNDECIDED
    correct = int((guess == signature.array)[decided].sum())
    return correct, int(decided.sum()) - correct, int((~decided).sum())


def exact_p_value(guess: NDArray[np.int64], signature: Signature) -> float:
    """Return P(at least as many correct) over all signatures with as many ones, the guess held fixed.

    The ones fall on the trees guessed 1, guessed 0 and undecided as balls drawn from an urn; a draw with a
    ones on trees guessed 1 and b on trees guessed 0 gets a + (#guessed 0) - b right.
    """
    from scipy import stats

    trees, ones = len(signature), signature.ones
    guessed_one, guessed_zero = int((guess == 1).sum()), int((guess == 0).sum())
    correct, _, _ = _count(guess, signature)
    total = 0.0
    rest = trees - guessed_one
    on_one = np.arange(max(0, ones - rest), min(guessed_one, ones) + 1)
    weight_one = stats.hypergeom.pmf(on_one, trees, guessed_one, ones)
    for a, weight in zip(on_one, weight_one, strict=True):
        most_on_zero = a + guessed_zero - correct
        if most_on_zero >= 0:
            total += weight * stats.hypergeom.cdf(most_on_zero, rest, guessed_zero, ones - a)
    return float(min(1.0, total))
