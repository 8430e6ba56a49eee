"""Proofs that carry over from one query to the next.

For one (signature, label), `impossible` in a box holds in every box inside it; above all, `impossible` in the
whole domain [0, 1]^d answers every instance at every distance.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from wm.engines.box_search import BoxSearch
from wm.engines.encoding import Box
from wm.engines.protocol import WHOLE_DOMAIN, ForgeryQuery, Pair

BOXES = 32
"""Impossible boxes kept for each (signature, label); looking through them must stay cheaper than a search."""

SUBJECTS = 64
"""(signature, label) pairs kept, those used last."""


@dataclass
class Subject:
    """What is known about one (signature, label).

    Attributes
    ----------
    whole
        The search in the whole domain as far as it came; None before it began, and once given up or put off.
    whole_impossible
        It ended with a proof.
    whole_settled
        It ended, either way, or was given up.
    whole_asked
        An incremental SAT solver was asked about it.
    last_query
        Number of the last query about it.
    whole_work
        Work spent on it: choices of a leaf times `BoxSearch.words`.
    whole_due
        Work that it has earned by the queries that were not settled at once.
    """

    whole: BoxSearch | None = None
    whole_impossible: bool = False
    whole_settled: bool = False
    whole_asked: bool = False
    last_query: int = 0
    whole_work: float = 0.0
    whole_due: float = 0.0
    _lower: list[NDArray[np.float32]] = field(default_factory=list)
    _upper: list[NDArray[np.float32]] = field(default_factory=list)

    def reason(self, box: Box) -> str | None:
        """Return what proves a box impossible; None if nothing known does."""
        if self.whole_impossible:
            return WHOLE_DOMAIN
        if self._lower:
            inside = (np.array(self._lower) <= box[0]).all(axis=1) & (np.array(self._upper) >= box[1]).all(
                axis=1
            )
            if inside.any():
                return "larger box"
        return None

    def add(self, box: Box) -> None:
        """Remember an impossible box, and forget the oldest beyond `BOXES`."""
        self._lower.append(box[0])
        self._upper.append(box[1])
        del self._lower[:-BOXES], self._upper[:-BOXES]

    def settle_whole(self, *, impossible: bool) -> None:
        """End the search in the whole domain and free its memory."""
        self.whole, self.whole_settled, self.whole_impossible = None, True, impossible

    def put_off_whole(self) -> None:
        """Free the memory of the search in the whole domain; it begins anew when it is earned anew."""
        self.whole, self.whole_work, self.whole_due = None, 0.0, 0.0


OPEN = 2
"""Searches in the whole domain that may be unfinished at a time, each up to some 100 MB: both labels of one
signature."""

STALE = 64
"""A search in the whole domain makes room for another one after so many queries about other pairs."""

WORTH = 2.0
"""So it does for one that has earned so many times the work spent on it: that pair's queries are hard."""


class ProofMemory:
    """The subjects used last."""

    def __init__(self) -> None:
        self._subjects: OrderedDict[Pair, Subject] = OrderedDict()
        self._queries = 0

    def subject(self, query: ForgeryQuery) -> Subject:
        """Return what is known about a query's signature and label."""
        key = query.pair
        if key not in self._subjects:
            self._subjects[key] = Subject()
        self._subjects.move_to_end(key)
        self._queries += 1
        self._subjects[key].last_query = self._queries
        if len(self._subjects) > SUBJECTS:
            self._subjects.popitem(last=False)
        return self._subjects[key]

    def has_room(self, wanting: Subject) -> bool:
        """Return whether a search in the whole domain may begin; put off a stale one if that makes room.

        Pairs that are asked about in turn must not drive out each other's searches: then none would end. They
        do not, as they earn alike; one that was asked about before, and is not now, falls behind.
        """
        unfinished = [subject for subject in self._subjects.values() if subject.whole is not None]
        if len(unfinished) >= OPEN:
            oldest = unfinished[0]
            is_stale = self._queries - oldest.last_query > STALE
            if is_stale or wanting.whole_due > WORTH * oldest.whole_work:
                unfinished.pop(0).put_off_whole()
        return len(unfinished) < OPEN
