"""`sat-incremental`: one CDCL solver for all queries to a forest, each of them a set of assumptions.

What the solver learns serves later queries, so a signature's queries get faster. Its witnesses would depend
on the queries before; hence it only says whether there is one. The witness, which is to be a function of
forest and query alone, is then found by `sat` in a fresh solver.
"""

from __future__ import annotations

from pysat.solvers import Solver as PysatSolver

from wm.engines.cnf import whole_forest
from wm.engines.encoding import leaf_bounds, query_box
from wm.engines.protocol import Answer, ForgeryQuery, OutOfResourcesError, Status
from wm.engines.sat import BACK_END, SatSolver
from wm.forest import Forest


class SatIncrementalSolver:
    """Answers queries by one CDCL solver on the whole forest's formula."""

    def __init__(self, forest: Forest) -> None:
        self._formula = whole_forest(forest, leaf_bounds(forest))
        self._solver = PysatSolver(name=BACK_END)
        self._solver.append_formula(self._formula.clauses)
        self._pruned = SatSolver(forest)

    def answer(self, query: ForgeryQuery) -> Answer:
        """Answer one query."""
        lower, upper = query_box(query.centre, query.eps)
        if (lower > upper).any():
            return Answer(None, "empty box")
        if not self._solver.solve(assumptions=self._formula.assumptions(query, lower, upper)):
            return Answer(None)
        answer = self._pruned.answer(query)
        if answer.witness is None:
            raise OutOfResourcesError(Status.ERROR, "the incremental solver and the fresh one disagree")
        return answer
