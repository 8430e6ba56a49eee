"""Detection: reading the signature off the shape of the trees (Section 4.2.1).

The attacker measures each tree (depth, number of leaves) and guesses that flipped labels make trees larger.
Strategy A: bit 0 below mean - std, bit 1 above mean + std, else undecided. Strategy B: bit 0 below the mean,
else bit 1; where all trees are alike it guesses 1 everywhere, as in the paper's table for ijcnn1.
"""

from __future__ import annotations

from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from wm.attacks.detection.rows import Row
from wm.codebook import Codebook, Marks, flat_bits, repeated
from wm.forest import Forest
from wm.signature import Signature

UNDECIDED = -1


class Measure(StrEnum):
    """A number that the attacker takes of each tree."""

    DEPTH = "depth"
    LEAVES = "leaves"


class Strategy(StrEnum):
    """A rule that makes a guess of a measure."""

    A = "A"
    B = "B"


def measure_trees(forest: Forest, measure: Measure) -> NDArray[np.int64]:
    """Return one number for each tree: (m,)."""
    return forest.tree_depths if measure is Measure.DEPTH else forest.tree_leaves


def guess_signature(values: NDArray[np.int64], strategy: Strategy) -> NDArray[np.int64]:
    """Return a guess for each bit, 0, 1 or `UNDECIDED`: (m,)."""
    mean, std = values.mean(), values.std()
    if strategy is Strategy.B:
        return np.where(values < mean, 0, 1)
    return np.select([values < mean - std, values > mean + std], [0, 1], UNDECIDED)


def detect(forest: Forest, marks: Marks) -> list[Row]:
    """Try both strategies on both measures and score them against the true signature.

    Of a codebook a guess for a tree counts for each of its bits. `p_value` is one-sided binomial: the chance
    that fair coins get as many of the decided bits right. There is none where bits are not one as often as
    zero: to guess the more frequent one would then already pass for a finding.
    """
    from scipy import stats

    rows, signature, is_even = [], flat_bits(marks), _is_even(marks)
    for measure in Measure:
        values = measure_trees(forest, measure)
        for strategy in Strategy:
            guess = repeated(guess_signature(values, strategy), marks)
            correct, wrong, uncertain = _count(guess, signature)
            rows.append(
                Row(
                    measure=measure.value,
                    strategy=strategy.value,
                    mean=float(values.mean()),
                    std=float(values.std()),
                    correct=correct,
                    wrong=wrong,
                    uncertain=uncertain,
                    p_value=float(stats.binom.sf(correct - 1, correct + wrong, 0.5)) if is_even else None,
                    p_value_exact=exact_p_value(guess, signature),
                )
            )
    return rows


def _is_even(marks: Marks) -> bool:
    """Return whether ones are as frequent as zeros: as drawn for a codebook, as counted in a signature."""
    if isinstance(marks, Codebook):
        return marks.share == 0.5
    return abs(2 * marks.ones - len(marks)) <= 1


def _count(guess: NDArray[np.int64], signature: Signature) -> tuple[int, int, int]:
    decided = guess != UNDECIDED
    correct = int((guess == signature.array)[decided].sum())
    return correct, int(decided.sum()) - correct, int((~decided).sum())


def exact_p_value(guess: NDArray[np.int64], signature: Signature) -> float:
    """Return P(at least as many correct) over all signatures with as many ones, for a fixed guess.

    The ones fall on the trees guessed 1, guessed 0 and undecided as in a draw without replacement; with a
    ones on trees guessed 1 and b on trees guessed 0, a + (#guessed 0) - b bits are right.
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
        max_on_zero = a + guessed_zero - correct
        if max_on_zero >= 0:
            total += weight * stats.hypergeom.cdf(max_on_zero, rest, guessed_zero, ones - a)
    return float(min(1.0, total))
