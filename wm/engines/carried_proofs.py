"""Proofs that carry over from one query to the next.

For one (signature, label), `impossible` in a box holds in every box inside it. `impossible` in the domain
[0, 1]^d answers every instance at every distance: a global proof.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from wm.engines.box_search import BoxSearch
from wm.engines.encoding import Box
from wm.engines.protocol import GLOBAL_REASON, ForgeryQuery, Pair

MAX_BOXES = 32
"""Impossible boxes kept for each pair; comparing with all of them must stay cheaper than a search."""

MAX_PAIRS = 64
"""(signature, label) pairs kept, the most recently used ones."""

MAX_UNFINISHED = 2
"""Global searches that may be unfinished at a time, each up to some 100 MB: both labels of one signature."""

STALE_AFTER = 64
"""Queries about other pairs after which an unfinished global search may be dropped for another one."""

OVERTAKES_AT = 2.0
"""It may also be dropped for a pair that earned this many times the work spent on it: that pair is harder."""


@dataclass
class PairRecord:
    """What is known about one (signature, label)."""

    wanted: NDArray[np.bool_] | None = None
    """(L,): leaves that vote as the pair's queries want; None before the first of them is searched."""
    search: BoxSearch | None = None
    """The unfinished global search; None before it begins and after it ended or was dropped."""
    is_impossible: bool = False
    """The global search ended with a proof."""
    is_settled: bool = False
    """The global search ended, or was given up."""
    sat_asked: bool = False
    """An incremental SAT solver was asked about the domain."""
    last_query: int = 0
    """Number of the last query about the pair."""
    work: float = 0.0
    """Work spent on `search`: choices of a leaf times `BoxSearch.words`."""
    earned: float = 0.0
    """Work that the pair's queries allow for the global search."""
    _lower: list[NDArray[np.float32]] = field(default_factory=list)
    _upper: list[NDArray[np.float32]] = field(default_factory=list)

    def reason(self, box: Box) -> str | None:
        """Return which earlier proof makes a box impossible; None if there is none."""
        if self.is_impossible:
            return GLOBAL_REASON
        if self._lower:
            holds = (np.array(self._lower) <= box[0]) & (np.array(self._upper) >= box[1])
            if holds.all(axis=1).any():
                return "larger box"
        return None

    def add(self, box: Box) -> None:
        """Remember an impossible box, and forget the oldest beyond `MAX_BOXES`."""
        self._lower.append(box[0])
        self._upper.append(box[1])
        del self._lower[:-MAX_BOXES], self._upper[:-MAX_BOXES]

    def settle(self, *, impossible: bool) -> None:
        """End the global search and free its memory."""
        self.search, self.is_settled, self.is_impossible = None, True, impossible

    def drop_search(self) -> None:
        """Free the memory of the global search; it begins again once it has earned new work."""
        self.search, self.work, self.earned = None, 0.0, 0.0


class ProofMemory:
    """Records of the most recently used pairs."""

    def __init__(self) -> None:
        self._records: OrderedDict[Pair, PairRecord] = OrderedDict()
        self._queries = 0

    def record(self, query: ForgeryQuery) -> PairRecord:
        """Return the record of a query's signature and label."""
        pair = query.pair
        record = self._records.setdefault(pair, PairRecord())
        self._records.move_to_end(pair)
        self._queries += 1
        record.last_query = self._queries
        if len(self._records) > MAX_PAIRS:
            self._records.popitem(last=False)
        return record

    def has_room(self, wanting: PairRecord) -> bool:
        """Return whether a global search may begin; drop a stale one if that makes room.

        Pairs that are queried in turn must not drop each other's searches: none would end. They do not,
        because they earn at the same rate; a pair that is no longer queried falls behind.
        """
        unfinished = [record for record in self._records.values() if record.search is not None]
        if len(unfinished) >= MAX_UNFINISHED:
            oldest = unfinished[0]
            is_stale = self._queries - oldest.last_query > STALE_AFTER
            if is_stale or wanting.earned > OVERTAKES_AT * oldest.work:
                unfinished.pop(0).drop_search()
        return len(unfinished) < MAX_UNFINISHED
