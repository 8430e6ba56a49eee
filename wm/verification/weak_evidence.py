"""Verification without votes: by class probabilities, or by labels only.

Null hypothesis: the suspect is independent of which rows are the trigger rows. If these were drawn at random
among rows of one kind, trigger rows and decoys (other rows of that kind, with their true labels) are
exchangeable: all choices of k among the k + n rows were equally likely. Both p-values are exact over these
choices, or an upper bound where exact counting would take too long. The judge must make sure that the trigger
rows were drawn at random and that the commitment is older than the suspect.

- probabilities: on a trigger row the share of the true label should be that of the trees with bit 0, which is
  rare on other rows; statistic: the sum, over trigger rows, of the ranks of closeness to that share;
- labels: the more trees err, the more often the majority does; statistic: errors on trigger rows. If fewer
  than half of the bits are ones, the majority stays right on most rows and the test has no power.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wm.codebook import Marks
from wm.errors import ClaimError
from wm.statistics import doubled_ranks
from wm.verification.evidence import DEFAULT_LEVEL
from wm.verification.tails import log10_tail

WeakKind = Literal["probabilities", "labels"]

_ASSUMES = (
    "the trigger rows were drawn at random among rows like the decoys, and the commitment is older than the "
    "suspect"
)


@dataclass(frozen=True)
class WeakEvidence:
    """Result of verification without votes.

    Attributes
    ----------
    source
        Kind of the suspect's answers.
    statistic
        Name of the statistic.
    trigger_size, decoys
        k and n.
    on_triggers, on_decoys
        Mean over each kind of row: of the true label's probability, or of errors.
    expected
        The mean on trigger rows of a model with the watermark.
    log10_p
        p-value over all choices of trigger rows, as a power of ten.
    exact
        Whether it is exact; else an upper bound.
    log10_floor
        Smallest possible log10_p: if it is above the level, more rows are needed.
    level, significant
        Level of significance, and whether p <= level.
    assumes
        Assumptions of the p-value.
    """

    source: WeakKind
    statistic: str
    trigger_size: int
    decoys: int
    on_triggers: float
    on_decoys: float
    expected: float
    log10_p: float
    exact: bool
    log10_floor: float
    level: float
    significant: bool
    assumes: str = _ASSUMES


def verify_probabilities(
    triggers: ArrayLike,
    decoys: ArrayLike,
    signature: Marks,
    *,
    level: float = DEFAULT_LEVEL,
) -> WeakEvidence:
    """Judge a suspect that gives class probabilities only.

    Parameters
    ----------
    triggers : (k,)
        Probability in [0, 1] that the suspect gives to the true label of each trigger row.
    decoys : (n,)
        The same for decoys.
    signature
        m bits, or a codebook.
    level
        In (0, 1).

    Raises
    ------
    ClaimError
        Values that are not probabilities, no decoys, or an impossible level.
    """
    marked, plain = _shares("triggers", triggers), _shares("decoys", decoys)
    expected = 1.0 - signature.share
    # Rounded, so that equal distances on either side of the expected share count as equal.
    closeness = -np.round(np.abs(np.concatenate([marked, plain]) - expected), 9)
    return _judged(
        "probabilities",
        f"rank sum of the closeness of the true label's probability to {expected:.3g}",
        doubled_ranks(closeness),
        (marked, plain),
        expected,
        level,
    )


def verify_labels(
    triggers: ArrayLike,
    decoys: ArrayLike,
    signature: Marks,
    *,
    level: float = DEFAULT_LEVEL,
) -> WeakEvidence:
    """Judge a suspect that gives labels only (Fisher's exact test, one-sided).

    Parameters and errors as in `verify_probabilities`, except that `triggers` and `decoys` hold 1 for a wrong
    label and 0 for a right one, and the signature decides the expected share only.
    """
    marked, plain = _shares("triggers", triggers), _shares("decoys", decoys)
    errors = np.concatenate([marked, plain])
    if not np.isin(errors, (0.0, 1.0)).all():
        raise ClaimError("labels are right or wrong: 0 or 1 is needed for each row")
    ones = signature.share
    expected = 1.0 if ones > 0.5 else 0.5 if ones == 0.5 else 0.0
    return _judged(
        "labels",
        "errors of the label on trigger rows",
        errors.astype(np.int64),
        (marked, plain),
        expected,
        level,
    )


def _judged(
    source: WeakKind,
    statistic: str,
    scores: NDArray[np.int64],
    shares: tuple[NDArray[np.float64], NDArray[np.float64]],
    expected: float,
    level: float,
) -> WeakEvidence:
    if not 0 < level < 1:
        raise ClaimError(f"the level {level} is outside (0, 1)")
    marked, plain = shares
    size = len(marked)
    log10_p, exact = log10_tail(scores, size)
    floor, _ = log10_tail(np.sort(scores)[::-1], size)
    return WeakEvidence(
        source=source,
        statistic=statistic,
        trigger_size=size,
        decoys=len(plain),
        on_triggers=float(marked.mean()),
        on_decoys=float(plain.mean()),
        expected=expected,
        log10_p=log10_p,
        exact=exact,
        log10_floor=floor,
        level=level,
        significant=log10_p <= math.log10(level),
    )


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
