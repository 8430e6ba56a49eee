"""Reading the bits of single trigger rows off the bare forest: the trees that are outvoted at a probe.

A tree that must err on a trigger row has a leaf there that votes otherwise than the trees around it. A probe
that lands in enough of these leaves shows the row's bits. An attacker does not know which probe belongs to
which row; here the best one of each row is chosen for it, so that what is scored is an upper bound of what it
knows. How well the best of so many probes fits by chance is seen on the same bits with their trees permuted.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from wm.attacks.detection.rows import BEST_PROBE, Row
from wm.attacks.detection.spectrum import leaf_probes
from wm.attacks.divisions import disagreement, majority
from wm.codebook import Codebook, Marks
from wm.forest import Forest
from wm.statistics import rank_p_value

LEAST_DIVIDED = 0.1
"""Share of outvoted trees from which a probe may lie at a trigger row."""

MAX_PATTERNS = 2000
"""Most divisions of the trees that are compared with the bits, the most divided first."""

PERMUTATIONS = 99
"""Of the trees, for the null: the smallest p-value is 1 / (PERMUTATIONS + 1)."""


def detect_rows(
    forest: Forest, marks: Marks, base: NDArray[np.float32], rng: np.random.Generator, *, limit: int
) -> Row:
    """Score how well the divisions at probes of the leaves fit the bits of the trigger rows.

    Parameters
    ----------
    base : (n, d)
        The attacker's sample, from which probes start.
    rng
        Draws probes and permutations.
    limit
        Largest number of probes.
    """
    codes = forest.vote_codes(leaf_probes(forest, rng, base=base, limit=limit))
    divided = disagreement(codes)
    order = np.argsort(-divided, kind="stable")
    kept = order[divided[order] >= LEAST_DIVIDED]
    outvoted = np.unique(codes[kept] != majority(codes[kept])[:, None], axis=0)
    patterns = outvoted[np.argsort(-outvoted.sum(axis=1), kind="stable")][:MAX_PATTERNS]
    bits = marks.array == 1 if isinstance(marks, Codebook) else marks.wanted(1)
    found = _best_fit(patterns, bits)
    null = [_best_fit(patterns, bits[:, rng.permutation(bits.shape[1])]) for _ in range(PERMUTATIONS)]
    p = rank_p_value(found, null)
    return Row(
        measure="row probes",
        strategy=BEST_PROBE,
        correct=0,
        wrong=0,
        uncertain=bits.size,
        p_value=p,
        p_value_exact=p,
        bits=found,
        null_bits=float(np.mean(null)),
        points=len(codes),
    )


def _best_fit(patterns: NDArray[np.bool_], bits: NDArray[np.bool_]) -> float:
    """Return the mean over the rows of bits, (k, m), of the share that the best pattern, (p, m), has right.

    A pattern counts as it is, with its complement left out: the outvoted trees are the wrong ones. Without
    patterns every row is guessed to be zeros.
    """
    guesses = np.vstack([patterns, np.zeros((1, bits.shape[1]), dtype=bool)]).astype(np.float64)
    b = bits.astype(np.float64)
    right = b @ guesses.T + (1 - b) @ (1 - guesses).T
    return float(right.max(axis=1).mean() / bits.shape[1])
