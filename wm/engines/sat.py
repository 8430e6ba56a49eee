"""`sat`: one Boolean for each threshold, a clause for each unwanted leaf.

B(f, t) stands for x_f <= t. For each feature the thresholds are ordered: x_f <= t implies x_f <= t' for
t < t'. A leaf with an unwanted vote must not be reached: one of its bounds must fail, which is one clause.
Only leaves that meet the query's box take part, and of their bounds only those that the box leaves open, so
the formula shrinks with eps; where a tree has no wanted leaf left, no solver is asked at all.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from pysat.solvers import Solver as PysatSolver

from wm.engines.encoding import Problem, leaf_bounds, nearest_witness, next_below, pose
from wm.engines.protocol import Answer, ForgeryQuery
from wm.forest import Forest

_BACK_END = "glucose4"


class SatSolver:
    """Answers queries by a CDCL solver on the Boolean threshold encoding, a fresh one for each query."""

    def __init__(self, forest: Forest) -> None:
        self._forest = forest
        self._bounds = leaf_bounds(forest)
        # The two tests of an interval: x <= upper, and x <= (float32 just below lower), which must fail.
        self._upper_test = self._bounds.upper
        self._lower_test = next_below(self._bounds.lower)

    def answer(self, query: ForgeryQuery) -> Answer:
        """Answer one query."""
        problem = pose(self._forest, self._bounds, query)
        if problem.empty:
            return Answer(None, "empty box")
        if problem.hopeless:
            return Answer(None, "no leaf")
        feature, threshold, clauses = self._formula(problem)
        with PysatSolver(name=_BACK_END) as solver:
            solver.append_formula(clauses)
            if len(feature):
                # Prefer the cell of the centre: witnesses come out near it.
                inside = query.centre[feature] <= threshold
                names = np.arange(1, len(feature) + 1)
                solver.set_phases(np.where(inside, names, -names).tolist())
            if not solver.solve():
                return Answer(None)
            model = np.array(solver.get_model() or [], dtype=np.int64)
        point = problem.upper.copy()
        # Descending, so that the smallest threshold that x is at most comes last and stays.
        true = np.flatnonzero(model[: len(feature)] > 0)[::-1]
        point[feature[true]] = threshold[true]
        return Answer(nearest_witness(self._forest, self._bounds, point, query))

    def _formula(self, problem: Problem) -> tuple[NDArray[np.int64], NDArray[np.float32], list[list[int]]]:
        """Return feature and threshold of each variable 1, 2, ... (ordered) and the clauses."""
        bounds = self._bounds
        rows = np.flatnonzero(problem.unwanted[bounds.leaf])
        leaf, feature = bounds.leaf[rows], bounds.feature[rows]
        open_above = self._upper_test[rows] < problem.upper[feature]
        open_below = bounds.lower[rows] > problem.lower[feature]
        literal_leaf = np.concatenate([leaf[open_above], leaf[open_below]])
        literal_feature = np.concatenate([feature[open_above], feature[open_below]])
        literal_threshold = np.concatenate(
            [self._upper_test[rows][open_above], self._lower_test[rows][open_below]]
        )
        # x <= upper must fail: a negative literal; x <= below lower must hold: a positive one.
        sign = np.concatenate([np.full(open_above.sum(), -1), np.full(open_below.sum(), 1)])

        order = np.lexsort((literal_threshold, literal_feature))
        sorted_feature, sorted_threshold = literal_feature[order], literal_threshold[order]
        new = np.ones(len(order), dtype=bool)
        new[1:] = (sorted_feature[1:] != sorted_feature[:-1]) | (
            sorted_threshold[1:] != sorted_threshold[:-1]
        )
        name = np.empty(len(order), dtype=np.int64)
        name[order] = np.cumsum(new)
        variable_feature, variable_threshold = sorted_feature[new], sorted_threshold[new]

        chained = np.flatnonzero(variable_feature[1:] == variable_feature[:-1]) + 1
        clauses: list[list[int]] = np.stack([-chained, chained + 1], axis=1).tolist()
        by_leaf = np.argsort(literal_leaf, kind="stable")
        literals = (sign * name)[by_leaf].tolist()
        count = np.bincount(literal_leaf, minlength=len(bounds.node))[np.flatnonzero(problem.unwanted)]
        ends = np.cumsum(count).tolist()
        clauses += [literals[end - size : end] for end, size in zip(ends, count.tolist(), strict=True)]
        return variable_feature, variable_threshold, clauses
