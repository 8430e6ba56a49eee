"""`portfolio`: cheap checks, carried-over proofs, then two searches that take turns, and a global one.

A query that is not settled quickly shares its time with a search for its signature and label in the domain
[0, 1]^d. If that one proves impossible, every later query of the pair is answered at once. Budgets are
counted in choices of a leaf, not in seconds. In a small forest an incremental SAT solver is asked first
whether there is a witness, in the domain and then in the query's box. A query that stays hard is also given
to `learning`, in turn with `search`: each is sometimes hopeless where the other is quick. How much of its
tree `search` has seen tells which of them gets most of the time.

Earlier queries can only contribute proofs of `impossible`; a witness is found from its query alone, so
answers, apart from reasons, do not depend on history.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from wm.engines import learning
from wm.engines import search as searching
from wm.engines.box_search import BoxSearch, CellBox, Geometry
from wm.engines.carried_proofs import PairRecord, ProofMemory
from wm.engines.constrained import ConstrainedSolver
from wm.engines.encoding import Box, build_problem, nearest_witness, wanted_leaves
from wm.engines.learning import LearnedFormula
from wm.engines.protocol import GLOBAL_REASON, Answer, ForgeryQuery
from wm.engines.sat_incremental import IncrementalStatus
from wm.engines.search import witness
from wm.forest import Forest

QUICK_CHOICES = 1_000
"""A query settled within this many choices (half a millisecond) starts nothing else."""

SMALL_FOREST = 4_000
"""Up to this many leaves an incremental SAT solver is asked first: there it is several times faster."""

EASY_CHOICES = 40_000
"""A query settled within this many choices (about 15 milliseconds) is easy, and so are probably the next."""

EASY_SHARE, HARD_SHARE = 0.25, 5.0
"""Work on the global search for each unit of work on its pair's queries, within `EASY_CHOICES` and beyond. A
global proof saves all later queries, which soon costs less if these are hard."""

GLOBAL_WORK = 1_700_000_000
"""A pair's global search is given up after this much work (some 2 seconds); proofs on ijcnn1 take 1e9."""

GLOBAL_PROBE, GLOBAL_HOPE = 250_000_000, 5e-4
"""A global search is given up after this much work (some 0.3 seconds) if less than this share of its tree is
done: one that succeeds in time has seen several times as much by then."""

LEARN_AFTER = 120_000_000
"""A query still open after this much work (some 0.15 seconds) is also given to `learning`."""

EVEN_WORK = 320_000_000_000
"""Where `search` seems to need this much work in all (some 400 seconds), both get the same time."""

LEAST_SHARE, LARGEST_SHARE = 0.25, 8.0
"""Limits on the time of `learning` for each second of `search`."""

_LEARNING_WORK = 1.6
"""Work of `search` that takes as long as a unit of `learning`."""

_CONFLICTS = 200
"""Conflicts of `learning` (some 10 milliseconds) between two looks at its work."""

SMALL_CONFLICTS = 2_000
"""Limit on the conflicts (some 10 milliseconds) of the solver that is asked first in small forests."""

_SLICE = 4_000
"""Choices of the search between two turns of the others."""


class PortfolioSolver:
    """Answers queries with the help of proofs from earlier ones."""

    answers_constrained = True

    def __init__(self, forest: Forest) -> None:
        searching.compile_kernel()
        learning.compile_kernel()
        self._geometry = Geometry.of(forest)
        self._memory = ProofMemory()
        lower = np.zeros(forest.n_features, dtype=np.float32)
        self._domain = lower, np.ones_like(lower)
        self._domain_cells = self._geometry.cells.of(lower), self._geometry.cells.of(self._domain[1])
        leaves = int(forest.is_leaf.sum())
        self._words = leaves // 128  # about half of the leaves have a wanted vote
        self._status = IncrementalStatus(forest) if leaves <= SMALL_FOREST else None

    def answer(self, query: ForgeryQuery) -> Answer:
        """Answer one query."""
        if query.is_constrained:
            return self._constrained.answer(query)
        boxes = self._geometry.box_of(query)
        if boxes is None:
            return Answer(None, "empty box")
        box, cells = boxes
        record = self._memory.record(query)
        if reason := record.reason(box):
            return Answer(None, reason, is_global=record.is_impossible)
        if self._status is not None and self._is_impossible(self._status, query, box, record):
            reason = GLOBAL_REASON if record.is_impossible else "solver"
            return Answer(None, reason, is_global=record.is_impossible)
        search = self._start(query, record, cells)
        found = None
        if not search.advance(QUICK_CHOICES):
            found = self._share(search, query, box, record)
        if record.is_impossible:
            return Answer(None, GLOBAL_REASON, is_global=True)
        if search.found is not None:
            found = witness(self._geometry, query, box, search.found)
        if found is None:
            record.add(box)
            if self._is_domain(box):
                record.settle(impossible=True)
        return Answer(found, "no leaf" if search.trivial else "solver")

    def _start(self, query: ForgeryQuery, record: PairRecord, cells: CellBox) -> BoxSearch:
        geometry = self._geometry
        if record.wanted is None:
            record.wanted = wanted_leaves(geometry.forest, geometry.bounds, query)
        return BoxSearch(geometry, record.wanted, cells)

    @cached_property
    def _constrained(self) -> ConstrainedSolver:
        return ConstrainedSolver(self._geometry.forest)

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

    def _share(
        self, search: BoxSearch, query: ForgeryQuery, box: Box, record: PairRecord
    ) -> NDArray[np.float32] | None:
        """Advance `search`, the global search and `learning` in turn until one of them settles the query.

        Returns the witness of `learning` if that was first.
        """
        geometry = self._geometry
        choices, work, granted = QUICK_CHOICES, 0.0, 0.0
        is_domain = self._is_domain(box)
        formula = None
        while not search.is_over:
            if not record.is_settled and not is_domain:
                self._advance_global(query, record)
                if record.is_impossible:
                    return None
            search.advance(_SLICE)
            choices += _SLICE
            work += _SLICE * search.words
            share = EASY_SHARE if choices <= EASY_CHOICES else HARD_SHARE
            record.earned += share * _SLICE * search.words
            if work < LEARN_AFTER or search.is_over:
                continue
            if formula is None:
                problem = build_problem(geometry.forest, geometry.bounds, query)
                formula = LearnedFormula(geometry.bounds, problem, query.centre)
            granted += learning_share(work, search.progress) * _SLICE * search.words
            has_witness = None
            while has_witness is None and formula.work * _LEARNING_WORK < granted:
                has_witness = formula.has_witness(_CONFLICTS)
            if has_witness:
                return nearest_witness(geometry.forest, geometry.bounds, formula.point(), query)
            if has_witness is False:
                return None
        return None

    def _is_domain(self, box: Box) -> bool:
        return bool((box[0] <= self._domain[0]).all() and (box[1] >= self._domain[1]).all())

    def _advance_global(self, query: ForgeryQuery, record: PairRecord) -> None:
        """Continue the global search until the work earned for it is spent, if that is a slice or more."""
        if record.search is None:
            if record.earned < _SLICE * self._words or not self._memory.has_room(record):
                return
            record.search = self._start(query, record, self._domain_cells)
        # Work earned while there was no room may exceed the limit for any pair.
        budget = min(record.earned, GLOBAL_WORK + _SLICE * record.search.words)
        choices = int((budget - record.work) / max(1, record.search.words))
        if choices < _SLICE:
            return
        record.work += choices * record.search.words
        if record.search.advance(choices):
            record.settle(impossible=record.search.found is None)
        elif record.work >= GLOBAL_WORK or (
            record.work >= GLOBAL_PROBE and record.search.progress < GLOBAL_HOPE
        ):
            record.settle(impossible=False)


def learning_share(work: float, progress: float) -> float:
    """Return the time for `learning` for each second of `search`.

    Parameters
    ----------
    work
        Work that `search` has done.
    progress
        Share of its tree that it has seen by that, 0 to 1.
    """
    return min(max(work / EVEN_WORK / max(progress, 1e-12), LEAST_SHARE), LARGEST_SHARE)
