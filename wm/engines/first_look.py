"""The first look of `portfolio`: little work that settles most queries, with the proofs that carry over.

It is bounded by counts, not by a clock, so that it need not be ended by killing a process: `isolated` does it
where the query is asked, and has a child process only for what is left open.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wm.engines import search as searching
from wm.engines.box_search import BoxSearch, CellBox, Geometry
from wm.engines.carried_proofs import PairRecord, ProofMemory
from wm.engines.encoding import Box, wanted_leaves
from wm.engines.protocol import GLOBAL_REASON, Answer, ForgeryQuery
from wm.engines.sat_incremental import IncrementalStatus
from wm.engines.search import witness
from wm.forest import Forest

QUICK_WORK = 2_000_000
"""A query settled within this many words of choices (some 2 milliseconds) starts nothing else."""

LEAST_WORDS = 100
"""A choice counts as this many words at least: it takes time for each tree, too."""

SMALL_FOREST = 4_000
"""Up to this many leaves an incremental SAT solver is asked first: there it is several times faster."""

SMALL_CONFLICTS = 2_000
"""Limit on the conflicts (some 10 milliseconds) of that solver."""

LARGEST_FOREST = 200_000
"""Forests with more leaves are prepared in the child process only: a look at them takes longer."""

PATIENCE = 4
"""After this many looks in a row that settled nothing, one query in as many is looked at."""


def quick_choices(search: BoxSearch) -> int:
    """Return the number of choices that a look at a query takes at most."""
    return max(1, QUICK_WORK // max(LEAST_WORDS, search.words))


@dataclass(frozen=True, eq=False)
class Open:
    """A query that is not settled yet."""

    query: ForgeryQuery
    box: Box
    record: PairRecord
    search: BoxSearch


class FirstLook:
    """Settles the easy ones of the queries about one forest."""

    def __init__(self, forest: Forest) -> None:
        searching.compile_kernel()
        self.geometry = Geometry.of(forest)
        self.memory = ProofMemory()
        lower = np.zeros(forest.n_features, dtype=np.float32)
        self._domain = lower, np.ones_like(lower)
        leaves = int(forest.is_leaf.sum())
        self._status = IncrementalStatus(forest) if leaves <= SMALL_FOREST else None
        self._asked = self._misses = 0

    @staticmethod
    def fits(forest: Forest) -> bool:
        """Return whether a forest is small enough to be looked at outside the child process."""
        return int(forest.is_leaf.sum()) <= LARGEST_FOREST

    def answer(self, query: ForgeryQuery) -> Answer | None:
        """Answer a query if a look at it does; None if not, or if looks have settled nothing of late."""
        self._asked += 1
        if query.is_constrained or (self._misses >= PATIENCE and self._asked % PATIENCE):
            return None
        looked = self.look(query)
        if isinstance(looked, Open):
            self._misses += 1
            return None
        self._misses = 0
        return looked

    def look(self, query: ForgeryQuery) -> Answer | Open:
        """Look at a query that only its box limits."""
        boxes = self.geometry.box_of(query)
        if boxes is None:
            return Answer(None, "empty box")
        box, cells = boxes
        record = self.memory.record(query)
        if reason := record.reason(box):
            return Answer(None, reason, is_global=record.is_impossible)
        if self._status is not None and self._is_impossible(self._status, query, box, record):
            reason = GLOBAL_REASON if record.is_impossible else "solver"
            return Answer(None, reason, is_global=record.is_impossible)
        found = Open(query, box, record, self.start(query, record, cells))
        return self.conclude(found) if found.search.advance(quick_choices(found.search)) else found

    def start(self, query: ForgeryQuery, record: PairRecord, cells: CellBox) -> BoxSearch:
        """Return a new search for a query's votes in a box of cells."""
        if record.wanted is None:
            record.wanted = wanted_leaves(self.geometry.forest, self.geometry.bounds, query)
        return BoxSearch(self.geometry, record.wanted, cells)

    def conclude(self, settled: Open, found: NDArray[np.float32] | None = None) -> Answer:
        """Return the answer to a query that is settled, and remember what it proves.

        Parameters
        ----------
        settled
            The pair has a global proof, or the search is over, or another search was first.
        found
            The witness of that other search, if it has one.
        """
        query, box, record, search = settled.query, settled.box, settled.record, settled.search
        if record.is_impossible:
            return Answer(None, GLOBAL_REASON, is_global=True)
        if search.found is not None:
            found = witness(self.geometry, query, box, search.found)
        if found is None:
            record.add(box)
            if self.is_domain(box):
                record.settle(impossible=True)
        return Answer(found, "no leaf" if search.trivial else "solver")

    @property
    def domain_cells(self) -> CellBox:
        """All of [0, 1]^d in cells."""
        return self.geometry.cells.of(self._domain[0]), self.geometry.cells.of(self._domain[1])

    def is_domain(self, box: Box) -> bool:
        """Return whether a box is all of [0, 1]^d."""
        return bool((box[0] <= self._domain[0]).all() and (box[1] >= self._domain[1]).all())

    def _is_impossible(
        self, status: IncrementalStatus, query: ForgeryQuery, box: Box, record: PairRecord
    ) -> bool:
        """Ask the incremental solver, once about the domain, then about the query."""
        if not record.is_settled and not record.sat_asked:
            record.sat_asked = True
            found = status.has_witness(query, self._domain, SMALL_CONFLICTS)
            if found is not None:
                record.settle(impossible=not found)
        return record.is_impossible or status.has_witness(query, box, SMALL_CONFLICTS) is False
