"""`sat-incremental`: one CDCL solver for all queries to a forest, each of them a set of assumptions.

Learned clauses serve later queries, so a signature's queries get faster. As its witnesses would depend on
earlier queries, this solver only decides whether there is one; `sat` then finds the witness in a fresh
solver.
"""

from __future__ import annotations

from pysat.solvers import Solver as PysatSolver

from wm.engines.cnf import whole_forest
from wm.engines.encoding import Box, leaf_bounds, query_box
from wm.engines.protocol import Answer, ForgeryQuery, OutOfResourcesError, Status
from wm.engines.sat import BACK_END, SatSolver
from wm.forest import Forest


class IncrementalStatus:
    """Decides whether queries to a forest have a witness, with one CDCL solver for all of them."""

    def __init__(self, forest: Forest) -> None:
        self._formula = whole_forest(forest, leaf_bounds(forest))
        self._solver = PysatSolver(name=BACK_END)
        self._solver.append_formula(self._formula.clauses)

    def has_witness(self, query: ForgeryQuery, box: Box, max_conflicts: int = -1) -> bool | None:
        """Return whether some point of a query's box, which is not empty, draws the wanted votes.

        None if more conflicts than a limit (-1: none) are needed.
        """
        self._solver.conf_budget(max_conflicts)
        found: bool | None = self._solver.solve_limited(assumptions=self._formula.assumptions(query, *box))
        return found


class SatIncrementalSolver:
    """Answers queries by one CDCL solver on the whole forest's formula."""

    def __init__(self, forest: Forest) -> None:
        self._status = IncrementalStatus(forest)
        self._pruned = SatSolver(forest)

    def answer(self, query: ForgeryQuery) -> Answer:
        """Answer one query."""
        box = query_box(query.centre, query.eps)
        if (box[0] > box[1]).any():
            return Answer(None, "empty box")
        if not self._status.has_witness(query, box):
            return Answer(None)
        answer = self._pruned.answer(query)
        if answer.witness is None:
            raise OutOfResourcesError(Status.ERROR, "the incremental solver and the fresh one disagree")
        return answer
