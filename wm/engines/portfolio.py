"""`portfolio`: free checks, carried-over proofs, then search, beside which the whole domain is searched too.

A query that is not settled quickly shares its time with a search for its signature and label in the whole
domain [0, 1]^d. If that one proves impossible, every later query of the pair is answered at once. Budgets are
counted in nodes, not in seconds. In a small forest an incremental SAT solver says first whether there is a
witness, in the whole domain and then in the query's box.

What was learned only ever turns into `impossible`; a witness comes from the query's own search, so answers,
reasons aside, do not depend on history.
"""

from __future__ import annotations

import numpy as np

from wm.engines.box_search import BoxSearch, Geometry
from wm.engines.carried_proofs import ProofMemory, Subject
from wm.engines.encoding import Box, query_box
from wm.engines.protocol import Answer, ForgeryQuery
from wm.engines.sat_incremental import IncrementalStatus
from wm.engines.search import compile_kernel, pose_box, witness
from wm.forest import Forest

QUICK_NODES = 500
"""A query settled within this many nodes (about a millisecond) starts nothing else."""

SMALL_FOREST = 4_000
"""Up to this many leaves an incremental SAT solver is asked first: there it is several times faster."""

EASY_NODES = 20_000
"""A query settled within this many nodes (about 40 milliseconds) is cheap, and so are those that follow."""

EASY_SHARE, HARD_SHARE = 0.25, 5.0
"""Work on the whole domain for each unit of work on queries of its signature and label: in all, and on a
query beyond its `EASY_NODES`. A proof there saves all queries that follow; where each is hard, it pays at
once."""

WHOLE_WORK = 1_000_000_000
"""After this much work (a few seconds) a pair's whole domain is given up; proofs on ijcnn1 take 6e8."""

_STEP = 2_000


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
            return Answer(None, reason)
        if self._status is not None and not self._is_possible(query, box, subject):
            return Answer(None, "whole domain" if subject.whole_impossible else "solver")
        search = pose_box(self._geometry, query, box)
        if not search.advance(QUICK_NODES):
            self._share(search, query, subject)
        if subject.whole_impossible:
            return Answer(None, "whole domain")
        if search.found is not None:
            return Answer(witness(self._geometry, query, box, search.found))
        subject.add(box)
        return Answer(None, "no leaf" if search.trivial else "solver")

    def _is_possible(self, query: ForgeryQuery, box: Box, subject: Subject) -> bool:
        """Ask the incremental solver, once about the whole domain, then about the query."""
        assert self._status is not None  # noqa: S101 - the caller looked
        if not subject.whole_settled:
            subject.settle_whole(impossible=not self._status.has_witness(query, self._domain))
        return not subject.whole_impossible and self._status.has_witness(query, box)

    def _share(self, search: BoxSearch, query: ForgeryQuery, subject: Subject) -> None:
        """Advance a query's search and the whole domain's in turn until either settles the query."""
        nodes, due = QUICK_NODES, 0.0
        while not search.is_over:
            if not subject.whole_settled:
                self._advance_whole(query, subject, EASY_SHARE * subject.work + due)
                if subject.whole_impossible:
                    return
            search.advance(_STEP)
            nodes += _STEP
            subject.work += _STEP * search.words
            if nodes > EASY_NODES:
                due += HARD_SHARE * _STEP * search.words

    def _advance_whole(self, query: ForgeryQuery, subject: Subject, due: float) -> None:
        """Work on the whole domain until it has had its due, if that is a step at least."""
        if subject.whole is None:
            if due < _STEP * self._words:
                return
            self._memory.make_room()
            subject.whole = pose_box(self._geometry, query, self._domain)
        nodes = int((due - subject.whole_work) / max(1, subject.whole.words))
        if nodes < _STEP:
            return
        subject.whole_work += nodes * subject.whole.words
        if subject.whole.advance(nodes):
            subject.settle_whole(impossible=subject.whole.found is None)
        elif subject.whole_work >= WHOLE_WORK:
            subject.settle_whole(impossible=False)
