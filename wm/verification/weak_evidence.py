"""Verification without votes: by class probabilities, or by labels only.

Null hypothesis: the suspect is independent of which rows are the trigger rows. If these were drawn at random
among rows of one kind, trigger rows and decoys (other rows of that kind, with their true labels) are
exchangeable: all choices of k among the k + n rows were equally likely. Both p-values are exact over these
choices; by probabilities it is an upper bound where exact counting would take too long. The judge must make
sure that the trigger rows were drawn at random and that the commitment is older than the suspect.

- probabilities: on a trigger row the share of the true label should be that of the trees with bit 0, which is
  rare on other rows; statistic: the sum, over trigger rows, of the ranks of closeness to that share;
- labels: the more trees err, the more often the majority does; statistic: errors on trigger rows. If fewer
  than half of the bits are ones, the majority stays right on most rows and the test has no power.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wm.codebook import Marks
from wm.errors import ClaimError
from wm.statistics import doubled_ranks
from wm.verification.tails import log10_tail


def log10_by_probabilities(triggers: ArrayLike, decoys: ArrayLike, signature: Marks) -> float:
    """Return log10 p of a suspect that gives class probabilities only.

    Parameters
    ----------
    triggers : (k,)
        Probability in [0, 1] that the suspect gives to the true label of each trigger row.
    decoys : (n,)
        The same for decoys.
    signature
        m bits, or a codebook.

    Raises
    ------
    ClaimError
        Values that are not probabilities, or no decoys.
    """
    marked, plain = _shares("triggers", triggers), _shares("decoys", decoys)
    expected = 1.0 - signature.share
    # Rounded, so that equal distances on either side of the expected share count as equal.
    closeness = -np.round(np.abs(np.concatenate([marked, plain]) - expected), 9)
    return log10_tail(doubled_ranks(closeness), len(marked))[0]


def log10_by_labels(triggers: ArrayLike, decoys: ArrayLike) -> float:
    """Return log10 p of a suspect that gives labels only (Fisher's exact test, one-sided).

    Parameters and errors as in `log10_by_probabilities`, except that `triggers` and `decoys` hold 1 for a
    wrong label and 0 for a right one.
    """
    from scipy.stats import hypergeom

    marked, plain = _shares("triggers", triggers), _shares("decoys", decoys)
    errors = np.concatenate([marked, plain])
    if not np.isin(errors, (0.0, 1.0)).all():
        raise ClaimError("labels are right or wrong: 0 or 1 is needed for each row")
    found = hypergeom.logsf(marked.sum() - 1, len(errors), errors.sum(), len(marked))
    return min(0.0, float(found) / math.log(10))


def _shares(name: str, values: ArrayLike) -> NDArray[np.float64]:
    """Return numbers in [0, 1], at least one of them."""
    try:
        array = np.asarray(values)
    except ValueError as reason:
        raise ClaimError(f"{name}: one number for each row is needed") from reason
    if array.ndim != 1 or not len(array) or array.dtype.kind not in "fiub":
        raise ClaimError(f"{name}: one number for each of one or more rows is needed")
    exact = array.astype(np.float64)
    if not ((exact >= 0) & (exact <= 1)).all():
        raise ClaimError(f"{name}: holds a number outside [0, 1]")
    return exact
