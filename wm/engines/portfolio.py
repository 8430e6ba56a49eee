"""`portfolio`: free checks, carried-over proofs, then search, beside which the whole domain is searched too.

A query that is not settled quickly shares its time with a search for its signature and label in the whole
domain [0, 1]^d. If that one proves impossible, every later query of the pair is answered at once. Budgets are
counted in choices of a leaf, not in seconds. In a small forest an incremental SAT solver is asked first
whether there is a witness, in the whole domain and then in the query's box. A query that stays hard is put to
a SAT solver of its own, too, in turn with the search: each is sometimes hopeless where the other is quick.

What was learned only ever turns into `impossible`; a witness comes from what was done for the query itself,
so answers, reasons aside, do not depend on history.
"""

from __future__ import annotations

from contextlib import ExitStack

import numpy as np
from numpy.typing import NDArray

from wm.engines.box_search import BoxSearch, Geometry
from wm.engines.carried_proofs import ProofMemory, Subject
from wm.engines.encoding import Box, nearest_witness, pose, query_box
from wm.engines.protocol import WHOLE_DOMAIN, Answer, ForgeryQuery
from wm.engines.sat import PrunedFormula
from wm.engines.sat_incremental import IncrementalStatus
from wm.engines.search import compile_kernel, pose_box, witness
from wm.forest import Forest

QUICK_CHOICES = 1_000
"""A query settled within this many choices (half a millisecond) starts nothing else."""

SMALL_FOREST = 4_000
"""Up to this many leaves an incremental SAT solver is asked first: there it is several times faster."""

EASY_CHOICES = 40_000
"""A query settled within this many choices (about 15 milliseconds) is cheap, and so are those that follow."""

EASY_SHARE, HARD_SHARE = 0.25, 5.0
"""Work on the whole domain for each unit of work on queries of its signature and label, within a query's
`EASY_CHOICES` and beyond. A proof there saves all queries that follow; where these are hard, it soon pays."""

WHOLE_WORK = 1_700_000_000
"""After this much work (some 2 seconds) a pair's whole domain is given up; proofs on ijcnn1 take 1e9."""

SAT_AFTER = 200_000_000
"""A query still open after this much work (some 0.25 seconds) is put to a SAT solver, too."""

SAT_SHARE = 0.5
"""Time for that solver for each second of search."""

_PROPAGATION = 200.0
"""Work that takes as long as a propagation of the SAT solver, within a factor of a few."""

_CONFLICTS = 10
"""Asked for at a time: on large forests one takes milliseconds."""

SMALL_CONFLICTS = 2_000
"""Most conflicts (some 10 milliseconds) of the solver that is asked first in small forests."""

_STEP = 4_000


class PortfolioSolver:
    """Answers queries with what it has learned from those before."""

    def __init__(self, forest: Forest) -> None:
        compile_kernel()
        self._geometry = Geometry.of(forest)
        self._memory = ProofMemory()
        lower = np.zeros(forest.n_features, dtype=np.float32)
        self._domain = lower, np.ones_like(lower)
        leaves = int(forest.is_leaf.sum())
        self._words = leaves // 128  # about half of the leaves have a wanted vote
        small = leaves <= SMALL_FOREST
        self._status = IncrementalStatus(forest) if small else None

    def answer(self, query: ForgeryQuery) -> Answer:
        """Answer one query."""
        box = query_box(query.centre, query.eps)
        if (box[0] > box[1]).any():
            return Answer(None, "empty box")
        subject = self._memory.subject(query)
        if reason := subject.reason(box):
            return Answer(None, reason, is_global=subject.whole_impossible)
        if self._status is not None and self._is_impossible(self._status, query, box, subject):
            reason = WHOLE_DOMAIN if subject.whole_impossible else "solver"
            return Answer(None, reason, is_global=subject.whole_impossible)
        search = pose_box(self._geometry, query, box)
        found = None
        if not search.advance(QUICK_CHOICES):
            found = self._share(search, query, box, subject)
        if subject.whole_impossible:
            return Answer(None, WHOLE_DOMAIN, is_global=True)
        if search.found is not None:
            found = witness(self._geometry, query, box, search.found)
        if found is None:
            subject.add(box)
            if self._is_whole(box):
                subject.settle_whole(impossible=True)
        return Answer(found, "no leaf" if search.trivial else "solver")

    def _is_impossible(
        self, status: IncrementalStatus, query: ForgeryQuery, box: Box, subject: Subject
    ) -> bool:
        """Ask the incremental solver, once about the whole domain, then about the query."""
        if not subject.whole_settled and not subject.whole_asked:
            subject.whole_asked = True
            found = status.try_for(SMALL_CONFLICTS, query, self._domain)
            if found is not None:
                subject.settle_whole(impossible=not found)
        return subject.whole_impossible or status.try_for(SMALL_CONFLICTS, query, box) is False

    def _share(
        self, search: BoxSearch, query: ForgeryQuery, box: Box, subject: Subject
    ) -> NDArray[np.float32] | None:
        """Advance a query's search, the whole domain's and SAT in turn until one of them settles the query.

        Returns SAT's witness if that was first.
        """
        choices, work = QUICK_CHOICES, 0.0
        is_whole = self._is_whole(box)
        with ExitStack() as stack:
            formula = None
            while not search.is_over:
                if not subject.whole_settled and not is_whole:
                    self._advance_whole(query, subject)
                    if subject.whole_impossible:
                        return None
                search.advance(_STEP)
                choices += _STEP
                work += _STEP * search.words
                share = EASY_SHARE if choices <= EASY_CHOICES else HARD_SHARE
                subject.whole_due += share * _STEP * search.words
                if work < SAT_AFTER:
                    continue
                if formula is None:
                    formula = stack.enter_context(self._formula(query))
                has_witness = None
                while has_witness is None and formula.propagations * _PROPAGATION < SAT_SHARE * work:
                    has_witness = formula.try_for(_CONFLICTS)
                if has_witness:
                    return nearest_witness(
                        self._geometry.forest, self._geometry.bounds, formula.point(), query
                    )
                if has_witness is False:
                    return None
        return None

    def _is_whole(self, box: Box) -> bool:
        return bool((box[0] <= self._domain[0]).all() and (box[1] >= self._domain[1]).all())

    def _formula(self, query: ForgeryQuery) -> PrunedFormula:
        geometry = self._geometry
        return PrunedFormula(geometry.bounds, pose(geometry.forest, geometry.bounds, query), query.centre)

    def _advance_whole(self, query: ForgeryQuery, subject: Subject) -> None:
        """Work on the whole domain until it has had its due, if that is a step at least."""
        if subject.whole is None:
            if subject.whole_due < _STEP * self._words or not self._memory.has_room(subject):
                return
            subject.whole = pose_box(self._geometry, query, self._domain)
        # What was earned while there was no room may be more than any pair is worth.
        due = min(subject.whole_due, WHOLE_WORK + _STEP * subject.whole.words)
        choices = int((due - subject.whole_work) / max(1, subject.whole.words))
        if choices < _STEP:
            return
        subject.whole_work += choices * subject.whole.words
        if subject.whole.advance(choices):
            subject.settle_whole(impossible=subject.whole.found is None)
        elif subject.whole_work >= WHOLE_WORK:
            subject.settle_whole(impossible=False)
