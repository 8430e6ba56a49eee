"""The attacker's draws, and an engine that answers forgery queries within limits.

Signatures and instances come from streams of their own, independent of the owner's randomness.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from wm import engines, streams
from wm.attacks.forgery.following import followed, query_order, settles
from wm.engines import ForgeryOutcome, ForgeryQuery
from wm.engines.certification import CertifyingEngine
from wm.errors import QueryError
from wm.forest import Forest
from wm.isolation import Closing
from wm.signature import Signature, random_signature
from wm.streams import Role

if TYPE_CHECKING:
    from wm.engines.minimal import MinimalSearch


def attacker_signature(seed: int, *, number: int, length: int, ones_share: float, repeat: int) -> Signature:
    """Return the attacker's signature of a given number; it does not depend on other draws."""
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
    """Instances with their true labels, to be forged for one signature within one distance."""

    X: NDArray[np.floating]
    """(n, d): centres."""
    labels: NDArray[np.int64]
    """(n,): class values; a forged instance keeps its centre's label."""
    signature: Signature
    """m bits."""
    eps: float
    """At least 0."""

    def queries(self) -> Iterator[ForgeryQuery]:
        """Yield the query of each instance."""
        for centre, label in zip(self.X, self.labels, strict=True):
            yield ForgeryQuery(signature=self.signature, label=label, centre=centre, eps=self.eps)


class Forger(Closing):
    """An engine for forgery on one forest; a context manager that closes it.

    Parameters
    ----------
    forest
        The suspect.
    engine
        Name of the engine.
    certify
        Whether every ``impossible`` is confirmed by a checked proof; not with `nearest`.
    options
        The engine's own, see `wm.engines.options_model`.
    timeout_s, memory_bytes
        Limits on each query, or on the whole search for one instance's smallest distance.
    """

    def __init__(
        self,
        forest: Forest,
        engine: str = "portfolio",
        *,
        timeout_s: float,
        memory_bytes: int | None = None,
        certify: bool = False,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        plain = self._plain = engines.create(engine, forest, **(options or {}))
        self._engine = CertifyingEngine(plain, forest) if certify else plain
        self._timeout_s, self._memory_bytes = timeout_s, memory_bytes
        self.forest = forest
        self.proofs = plain.global_proofs
        """Signatures and labels for which it is proved that no instance at all can be forged."""

    @property
    def child_pid(self) -> int | None:
        """Process of the solver; None before the first query."""
        return self._plain.child_pid

    def close(self) -> None:
        """End the solver's process."""
        self._engine.close()

    def ask(self, query: ForgeryQuery) -> ForgeryOutcome:
        """Answer one query."""
        return self._engine.solve(query, timeout_s=self._timeout_s, memory_bytes=self._memory_bytes)

    @cached_property
    def _search(self) -> MinimalSearch:
        from wm.engines.minimal import MinimalSearch  # imports numba

        return MinimalSearch(self.forest, self._engine)

    def nearest(self, query: ForgeryQuery) -> ForgeryOutcome:
        """Find the smallest distance at which a query can be forged, at most its eps.

        The outcome's `distance` and `witness` are those of the nearest instance known, whatever the status.
        """
        found = self._search.find(query, timeout_s=self._timeout_s, memory_bytes=self._memory_bytes)
        return ForgeryOutcome(
            found.status, found.witness, found.forged_at, found.seconds, found.engine, found.reason
        )

    def over_distances(self, query: ForgeryQuery, distances: Sequence[float]) -> list[ForgeryOutcome]:
        """Answer a query at several distances; answers that follow from others are not computed.

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
        for turn in query_order(len(distances)):
            eps = distances[turn.place]
            known = [
                (outcomes[place], distances[place])
                for place in turn.helpers
                if settles(outcomes[place].status, at=distances[place], eps=eps)
            ]
            outcomes[turn.place] = (
                followed(known[0][0], at=known[0][1]) if known else self.ask(replace(query, eps=eps))
            )
        return [outcomes[number] for number in range(len(distances))]
