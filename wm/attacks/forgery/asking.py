"""Forgery with prescribed signatures (Section 4.2.2): what the attacker draws, and one query after another.

The attacker has no part in the owner's randomness: signatures and instances come from streams of their own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from wm import streams
from wm.attacks.forgery.following import asking_order, settles
from wm.engines import Engine, ForgeryOutcome, ForgeryQuery
from wm.engines.minimal import MinimalOutcome, MinimalSearch
from wm.errors import QueryError
from wm.signature import Signature, random_signature
from wm.streams import Role


def attacker_signature(seed: int, *, number: int, length: int, ones_share: float, repeat: int) -> Signature:
    """Return the attacker's signature of a given number, the same whatever else is drawn."""
    rng = streams.generator(seed, Role.ATTACKER_SIGNATURE, repeat, number)
    return random_signature(length, ones_share, rng)


def attacker_instances(seed: int, *, rows: int, count: int, repeat: int) -> NDArray[np.int64]:
    """Return the indexes of `count` distinct test rows, a prefix of one fixed shuffle of all `rows`.

    Raises
    ------
    QueryError
        `count` is more than `rows`.
    """
    if count > rows:
        raise QueryError(f"{count} instances are wanted, but there are only {rows} test rows")
    return streams.generator(seed, Role.ATTACKER_INSTANCES, repeat).permutation(rows)[:count]


@dataclass(frozen=True, eq=False)
class Target:
    """What is to be forged: instances with their true labels, one signature, one distance.

    Attributes
    ----------
    X : (n, d)
        Centres.
    labels : (n,)
        Class values; a forged instance keeps its centre's label.
    signature
        m bits.
    eps
        At least 0.
    """

    X: NDArray[np.floating]
    labels: NDArray[np.int64]
    signature: Signature
    eps: float

    def queries(self) -> Iterator[ForgeryQuery]:
        """Yield the query of each instance."""
        for centre, label in zip(self.X, self.labels, strict=True):
            yield ForgeryQuery(signature=self.signature, label=label, centre=centre, eps=self.eps)


def forge(
    engine: Engine, target: Target, *, timeout_s: float, memory_bytes: int | None = None
) -> Iterator[ForgeryOutcome]:
    """Yield the outcome for each instance in turn; the forged trigger set is those with a witness."""
    for query in target.queries():
        yield engine.solve(query, timeout_s=timeout_s, memory_bytes=memory_bytes)


def forge_nearest(
    search: MinimalSearch, target: Target, *, timeout_s: float, memory_bytes: int | None = None
) -> Iterator[MinimalOutcome]:
    """Yield for each instance in turn the least distance at which it can be forged, at most `target.eps`.

    Limits hold for each instance as a whole.
    """
    for query in target.queries():
        yield search.find(query, timeout_s=timeout_s, memory_bytes=memory_bytes)


def forge_over_distances(
    engine: Engine,
    query: ForgeryQuery,
    distances: Sequence[float],
    *,
    timeout_s: float,
    memory_bytes: int | None = None,
) -> list[ForgeryOutcome]:
    """Answer one instance at several distances, asking no query whose answer follows from another.

    An outcome that follows names the eps that it follows from, and took no time; see
    `wm.attacks.forgery.following`.

    Parameters
    ----------
    query
        Its own eps is ignored.
    distances
        Ascending.
    """
    outcomes: dict[int, ForgeryOutcome] = {}
    for turn in asking_order(len(distances)):
        eps = distances[turn.place]
        known = [
            (outcomes[place], distances[place])
            for place in turn.helpers
            if settles(outcomes[place].status, at=distances[place], eps=eps)
        ]
        if known:
            outcome, at = known[0]
            origin = at if outcome.followed_from is None else outcome.followed_from
            outcomes[turn.place] = replace(outcome, seconds=0.0, followed_from=origin)
            continue
        asked = ForgeryQuery(signature=query.signature, label=query.label, centre=query.centre, eps=eps)
        outcomes[turn.place] = engine.solve(asked, timeout_s=timeout_s, memory_bytes=memory_bytes)
    return [outcomes[number] for number in range(len(distances))]
