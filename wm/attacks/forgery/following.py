"""Answers that follow from the answer at another distance, and the query order in which most do.

`forged` holds for every larger eps, with the same witness, because larger boxes contain smaller ones;
`impossible` holds for every smaller eps.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, replace

from wm.engines.protocol import ForgeryOutcome, Status


@dataclass(frozen=True)
class Turn:
    """One of several ascending distances, in query order."""

    place: int
    """Its position among the distances."""
    helpers: tuple[int, ...]
    """Positions of the nearest smaller and the nearest larger distance that come before in query order, where
    they exist. No answer follows from a farther distance that does not follow from these."""


def query_order(count: int) -> Iterator[Turn]:
    """Yield each of `count` ascending distances once, in the order of a binary search: the middle first.

    Where every answer is a decision, about log2(count) of them have to be computed; the others follow.
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
    """Return whether the answer at distance `at` is also the answer at distance `eps`."""
    return (status is Status.FORGED and at <= eps) or (status is Status.IMPOSSIBLE and at >= eps)


def followed(outcome: ForgeryOutcome, *, at: float) -> ForgeryOutcome:
    """Return the outcome that follows from one at a distance; it names the distance that was computed."""
    origin = at if outcome.followed_from is None else outcome.followed_from
    return replace(outcome, seconds=0.0, followed_from=origin)
