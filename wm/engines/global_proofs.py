"""Global proofs: pairs of signature and label that are impossible in all of [0, 1]^d.

They are kept in the process that asks the queries, so they outlive the solving process.
"""

from __future__ import annotations

from wm.engines.encoding import query_box
from wm.engines.protocol import ForgeryQuery, Pair

MAX_PROOFS = 10_000
"""Number of proofs kept, the newest ones: about a megabyte."""


class GlobalProofs:
    """The pairs of signature and label that no instance draws."""

    def __init__(self) -> None:
        self._pairs: dict[Pair, None] = {}

    def __contains__(self, pair: Pair) -> bool:
        return pair in self._pairs

    def add(self, pair: Pair) -> None:
        """Remember a pair."""
        self._pairs[pair] = None
        if len(self._pairs) > MAX_PROOFS:
            del self._pairs[next(iter(self._pairs))]

    def refutes(self, query: ForgeryQuery) -> bool:
        """Return whether a query is impossible by a global proof; an empty box is left to the solver."""
        return query.pair in self._pairs and not _is_empty(query)


def _is_empty(query: ForgeryQuery) -> bool:
    # A centre inside [0, 1] is the usual case and faster to see than the box is to compute.
    if query.centre.min(initial=0) >= 0 and query.centre.max(initial=1) <= 1:
        return False
    lower, upper = query_box(query.centre, query.eps)
    return bool((lower > upper).any())
