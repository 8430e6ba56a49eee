"""Proofs in the whole domain [0, 1]^d, kept where queries come in: they outlive the solving process."""

from __future__ import annotations

from wm.engines.encoding import query_box
from wm.engines.protocol import ForgeryQuery, Pair

MOST = 10_000
"""Proofs that are kept, the newest ones: about a megabyte."""


class WholeDomainProofs:
    """The signatures and labels for which no instance at all is forged."""

    def __init__(self) -> None:
        self._pairs: dict[Pair, None] = {}

    def __contains__(self, pair: Pair) -> bool:
        return pair in self._pairs

    def add(self, pair: Pair) -> None:
        """Remember a signature and label, such as those of a query that was answered by such a proof."""
        self._pairs[pair] = None
        if len(self._pairs) > MOST:
            del self._pairs[next(iter(self._pairs))]

    def settle(self, query: ForgeryQuery) -> bool:
        """Return whether a query is impossible for that reason; one with an empty box has a better one."""
        return query.pair in self._pairs and not _is_empty(query)


def _is_empty(query: ForgeryQuery) -> bool:
    # Most often so, and sooner seen than the box is computed.
    if query.centre.min(initial=0) >= 0 and query.centre.max(initial=1) <= 1:
        return False
    lower, upper = query_box(query.centre, query.eps)
    return bool((lower > upper).any())
