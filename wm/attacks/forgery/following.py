"""What the answer at one distance says of other distances, and in which order to ask so that it says most.

`forged` holds for every larger eps, with the same witness: its box holds the smaller ones. `impossible` holds
for every smaller one.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, replace

from wm.engines.protocol import ForgeryOutcome, Status


@dataclass(frozen=True)
class Turn:
    """One of several ascending distances, when it is its turn to be asked about.

    Attributes
    ----------
    place
        Which one.
    helpers
        Places, asked before, of the nearest smaller and the nearest larger distance, so far as there are any.
        Answers farther away say nothing that these do not say.
    """

    place: int
    helpers: tuple[int, ...]


def asking_order(count: int) -> Iterator[Turn]:
    """Yield each of `count` ascending distances once, as a binary search would ask: the middle first.

    Where every answer is a decision, about log2(count) of them are left to be asked about.
    """
    ranges = deque([(0, count)])
    while ranges:
        first, end = ranges.popleft()
        if first == end:
            continue
        middle = (first + end) // 2
        yield Turn(middle, tuple(place for place in (first - 1, end) if 0 <= place < count))
        ranges += [(first, middle), (middle + 1, end)]


def settles(status: Status, *, at: float, eps: float) -> bool:
    """Return whether the answer at one distance, `at`, is that at another, `eps`, too."""
    return (status is Status.FORGED and at <= eps) or (status is Status.IMPOSSIBLE and at >= eps)


def followed(outcome: ForgeryOutcome, *, at: float) -> ForgeryOutcome:
    """Return the outcome that follows from one at a distance, naming the one that was asked for."""
    origin = at if outcome.followed_from is None else outcome.followed_from
    return replace(outcome, seconds=0.0, followed_from=origin)
