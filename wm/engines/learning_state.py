"""What `learning_kernel` keeps in arrays between two calls.

Thresholds ("atoms") are numbered through all features, and so are positions: those of a feature with atoms
a..b are a..b + 1, and position p is above exactly the atoms from a to p - 1. Literal 2 a is "position <= a",
literal 2 a + 1 "position > a".
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

LEVEL, TRAIL, QUEUE, CLAUSES, LITERALS, ORIGINAL, CONFLICTS, WORK, STABLE, SWITCH_AT = range(10)
RESTART_AT, REDUCE_AT, REDUCTIONS, LUBY, STAMP, LOGGED, NUMBERS = range(10, 17)
"""Places in `State.numbers`."""

INCREMENT, FAST, SLOW, AVERAGES = range(4)
"""Places in `State.averages`: what a conflict adds to an atom's activity; recent and long-term glue."""


class State(NamedTuple):
    """The state of a search; n atoms, d features."""

    numbers: NDArray[np.int64]
    """(NUMBERS,): counts and limits."""
    averages: NDArray[np.float64]
    feature: NDArray[np.int32]
    """(n,): feature of each atom."""
    lower: NDArray[np.int32]
    """(d,): first position still possible."""
    upper: NDArray[np.int32]
    """(d,): last position still possible."""
    trail: NDArray[np.int32]
    """(2 n + 8,): literals made true, in order; the next five are about these."""
    level: NDArray[np.int32]
    reason: NDArray[np.int32]
    """Clause that implied it; -1 for a decision or a learned literal."""
    previous: NDArray[np.int32]
    """The last one before on the same side of the same feature; -1 without one."""
    before: NDArray[np.int32]
    """The bound that it replaced."""
    last: NDArray[np.int32]
    """(2 d,): the last entry of the trail for side s of feature f, at 2 f + s."""
    first: NDArray[np.int32]
    """(2 n,): first watch of each literal; watch w of clause c is number 2 c + w."""
    following: NDArray[np.int32]
    literals: NDArray[np.int32]
    start: NDArray[np.int32]
    length: NDArray[np.int32]
    glue: NDArray[np.int32]
    """Levels in a learned clause when it was learned; 0 for the formula's."""
    needed: NDArray[np.int32]
    """(2 d,): literal that the conflict needs of each side; -1 for none."""
    place: NDArray[np.int32]
    """(2 d,): entry of the trail that made it true."""
    sides: NDArray[np.int32]
    """(2 d,): the sides needed."""
    stamp: NDArray[np.int64]
    learned: NDArray[np.int32]
    activity: NDArray[np.float64]
    """(2 s,): activities of the atoms from s on, and below them the maxima of pairs; s is a power of two."""
    saved: NDArray[np.int32]
    """(d,): the positions last tried."""
    centre: NDArray[np.int32]
    """(d,): the positions tried first, and again after each change of mode."""
    log: NDArray[np.int32]
    """Clauses learned and dropped: each its length, negative if dropped, and its literals; () for no log."""
