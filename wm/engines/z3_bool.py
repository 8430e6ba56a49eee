"""`z3-bool`: Z3 over Boolean thresholds, a second encoding next to `z3` over the reals.

The whole forest's formula (`cnf.whole_forest`) for Z3's solver of finite domains; signature, label and box
are assumptions.
"""

from __future__ import annotations

import bisect
import itertools

import numpy as np
import z3
from numpy.typing import NDArray

from wm.engines.cnf import whole_forest
from wm.engines.encoding import leaf_bounds, nearest_witness, query_box
from wm.engines.protocol import Answer, ForgeryQuery
from wm.engines.z3_real import unknown_error
from wm.forest import Forest


class Z3BoolSolver:
    """Answers queries by Z3 over Booleans."""

    def __init__(self, forest: Forest) -> None:
        self._forest = forest
        self._bounds = leaf_bounds(forest)
        self._formula = whole_forest(forest, self._bounds)
        # Reading text is many times faster than building terms in Python or copying them.
        clauses = self._formula.clauses
        lines = [f"p cnf {self._formula.n_variables} {len(clauses)}"]
        lines += [" ".join(map(str, [*clause, 0])) for clause in clauses]
        self._text = "\n".join(lines) + "\n"

    def answer(self, query: ForgeryQuery) -> Answer:
        """Answer one query in a fresh context, so that the answer does not depend on earlier queries."""
        lower, upper = query_box(query.centre, query.eps)
        if (lower > upper).any():
            return Answer(None, "empty box")
        context = z3.Context()
        solver = z3.SolverFor("QF_FD", ctx=context)
        solver.from_string(self._text)
        assumed = [
            z3.Bool(literal, context) if literal > 0 else z3.Not(z3.Bool(-literal, context))
            for literal in self._formula.assumptions(query, lower, upper)
        ]
        result = solver.check(assumed)
        if result == z3.unsat:
            return Answer(None)
        if result == z3.unknown:
            raise unknown_error(solver.reason_unknown())
        point = self._point(solver.model(), context, upper)
        return Answer(nearest_witness(self._forest, self._bounds, point, query))

    def _point(
        self, model: z3.ModelRef, context: z3.Context, upper: NDArray[np.float32]
    ) -> NDArray[np.float32]:
        """Return a model's point by bisection over each feature's ordered Booleans: evaluation is slow."""

        def is_true(place: int) -> bool:
            variable = z3.Bool(place + 1, context)
            return bool(z3.is_true(model.eval(variable, model_completion=True)))

        encoding = self._formula.encoding
        ends = np.searchsorted(encoding.feature, np.arange(len(upper) + 1)).tolist()
        model_literals = -np.arange(1, len(encoding.feature) + 1)
        for start, end in itertools.pairwise(ends):
            first = bisect.bisect_left(range(start, end), True, key=is_true)
            model_literals[start + first : end] *= -1
        return encoding.point(model_literals, upper)
