"""Result rows of detection."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from wm.attacks.base import AttackRow
from wm.attacks.detection.guesses import above_median, score_guess, score_values, score_values_of_rows
from wm.codebook import Codebook, Marks, flat_bits, repeated

RANKING, SPLIT = "ranking", "median split"
"""Strategies of the two rows that a measure of the trees gets."""

BEST_PROBE = "best probe"
"""Strategy of the row of probes of single trigger rows."""


class Row(AttackRow):
    """One strategy on one measure; bits without a guess are uncertain."""

    measure: str
    """Measure of the trees or of their votes."""
    strategy: str
    """Rule for a guess: the paper's A and B, a ranking, a median split, the best probe, a rank test."""
    mean: float | None = None
    """Of the measure over the trees."""
    std: float | None = None
    """Population standard deviation over the trees."""
    correct: int
    """Bits guessed right."""
    wrong: int
    """Bits guessed wrong."""
    uncertain: int
    """Bits without a guess."""
    p_value: float | None
    """Chance to do as well: of fair coins for the paper's strategies (none unless half of the bits are ones),
    otherwise exact."""
    p_value_exact: float
    """The same against a random signature with as many ones; adjusted where several guesses are tried."""
    bits: float | None = None
    """Share of the signature guessed, up to complement."""
    null_bits: float | None = None
    """Mean of that share for guesses that have nothing to do with the signature."""
    auc: float | None = None
    """Area under the curve of the ranking of the trees."""
    points: int | None = None
    """Instances that votes were taken on; for presence the honest forests."""


def ranked(measure: str, values: NDArray[np.float64], marks: Marks, **common: float | None) -> list[Row]:
    """Score a measure of the trees, (m,): as a ranking of the trees, and divided at the median.

    Of a codebook the number of a tree counts for each of its bits.

    Parameters
    ----------
    measure
        Its name.
    common
        Further fields of both rows.
    """
    signature = flat_bits(marks)
    trees = len(signature)
    if isinstance(marks, Codebook):
        ranking = score_values_of_rows(values, marks)
    else:
        ranking = score_values(values, marks)
    guess = score_guess(repeated(above_median(values), marks), signature)
    right = round(guess.bits * trees)
    both = common | {"measure": measure}
    return [
        Row.model_validate(
            both
            | {"strategy": RANKING, "correct": 0, "wrong": 0, "uncertain": trees, "auc": ranking.auc}
            | {"p_value": ranking.p_value, "p_value_exact": ranking.p_value}
        ),
        Row.model_validate(
            both
            | {"strategy": SPLIT, "correct": right, "wrong": trees - right, "uncertain": 0}
            | {"p_value": guess.p_value, "p_value_exact": guess.p_value}
            | {"bits": guess.bits, "null_bits": guess.null_bits}
        ),
    ]
