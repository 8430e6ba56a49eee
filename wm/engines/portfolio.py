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

from wm.engines.box_search import BoxSearch
from wm.engines.carried_proofs import ProofMemory, Subject
from wm.engines.encoding import Box, query_box
from wm.engines.protocol import Answer, ForgeryQuery
from wm.engines.sat_incremental import IncrementalStatus
from wm.engines.search import compile_kernel, pose_box, prepare_geometry, witness
from wm.forest import Forest

QUICK_NODES = 500
"""A query settled within this many nodes (about a millisecond) starts nothing else."""

SMALL_FOREST = 4_000
"""Up to this many leaves an incremental SAT solver is asked first: there it is several times faster."""

WHOLE_SHARE = 8
"""Nodes for the whole domain for each node of a query: a proof there saves all queries that follow."""

WHOLE_NODES = 4_000_000
"""After this many nodes (about ten seconds) the whole domain of a pair is given up."""

_STEP = 2_000


class PortfolioSolver:
    """Answers queries with what it has learned from those before."""

    def __init__(self, forest: Forest) -> None:
        compile_kernel()
        self._geometry = prepare_geometry(forest)
        self._memory = ProofMemory()
        lower = np.zeros(forest.n_features, dtype=np.float32)
        self._domain = lower, np.ones_like(lower)
        small = int(forest.is_leaf.sum()) <= SMALL_FOREST
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
            return Answer(witness(self._geometry, query, search.found))
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
        while not search.is_over:
            if not subject.whole_settled:
                self._advance_whole(query, subject)
                if subject.whole_impossible:
                    return
            search.advance(_STEP)

    def _advance_whole(self, query: ForgeryQuery, subject: Subject) -> None:
        if subject.whole is None:
            subject.whole = pose_box(self._geometry, query, self._domain)
        subject.whole_nodes += WHOLE_SHARE * _STEP
        if subject.whole.advance(WHOLE_SHARE * _STEP):
            subject.settle_whole(impossible=subject.whole.found is None)
        elif subject.whole_nodes >= WHOLE_NODES:
            subject.settle_whole(impossible=False)
