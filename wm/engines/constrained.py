"""Queries with missing values, whole numbers or one-hot groups: a formula of its own for each.

The boxes of `encoding` are then not all that a leaf is: at a leaf, each feature tested on its path lies in an
interval, or is missing if all its tests on the path send missing values along it. So the pairwise argument of
`search` does not hold, and these queries go to a CDCL solver with a Boolean for "feature f is missing", one
for each "x_f <= t", and a clause for each unwanted leaf, as in `sat`.
"""

from __future__ import annotations

import itertools

import numpy as np
from numpy.typing import NDArray
from pysat.solvers import Solver as PysatSolver

from wm.engines.meaning import Meaning
from wm.engines.missing_values import HIGHEST, LOWEST, Leaf, Space, above, below, leaves
from wm.engines.protocol import Answer, ForgeryQuery
from wm.forest import Forest

_BACK_END = "glucose4"


class ConstrainedSolver:
    """Answers queries under a `Meaning`, or about rows with missing values, for one forest."""

    def __init__(self, forest: Forest) -> None:
        self._forest = forest
        self._leaves = list(leaves(forest))
        self._leaf_of = {leaf.node: leaf for leaf in self._leaves}

    def answer(self, query: ForgeryQuery) -> Answer:
        """Answer one query."""
        meaning = query.meaning or Meaning.of_missing(np.zeros(self._forest.n_features, dtype=bool))
        space = Space(query, meaning)
        if not (space.there | space.missing).all():
            return Answer(None, "empty box")
        label = self._forest.classes.tolist().index(query.label)
        unwanted, with_wanted = [], set()
        for leaf in self._leaves:
            if not space.meets(leaf):
                continue
            if (leaf.code == label) == (query.signature[leaf.tree] == 0):
                with_wanted.add(leaf.tree)
            else:
                unwanted.append(leaf)
        if len(with_wanted) < self._forest.n_trees:
            return Answer(None, "no leaf")
        formula = _Formula(space)
        for leaf in unwanted:
            formula.forbid(leaf)
        row = formula.row(meaning)
        return Answer(None if row is None else self._nearest(space, meaning, row))

    def _nearest(self, space: Space, meaning: Meaning, row: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return a row of the same votes, with fewer missing values, and as near as its leaves let it be."""
        votes = self._forest.vote_codes(row[None])[0]
        for feature in np.flatnonzero(np.isnan(row) & space.there).tolist():
            tried = row.copy()
            tried[feature] = space.nearest(feature, LOWEST, HIGHEST)
            if (self._forest.vote_codes(tried[None])[0] == votes).all():
                row = tried
        lower, upper = [LOWEST] * len(row), [HIGHEST] * len(row)
        for node in self._forest.apply(row[None])[0].tolist():
            for feature, condition in self._leaf_of[node].conditions.items():
                lower[feature] = max(lower[feature], condition.lower)
                upper[feature] = min(upper[feature], condition.upper)
        grouped = {feature for group in meaning.groups for feature, _ in group}
        for feature in set(np.flatnonzero(~np.isnan(row)).tolist()) - grouped:
            row[feature] = space.nearest(feature, lower[feature], upper[feature])
        return row


class _Formula:
    """The clauses that keep a row out of some leaves, and the row that meets them."""

    def __init__(self, space: Space) -> None:
        self._space = space
        self._clauses: list[list[int]] = []
        self._missing: dict[int, int] = {}
        """Variable of "feature f is missing", where it may also have a value."""
        self._at_most: dict[int, dict[float, int]] = {}
        """Variables of "x_f <= t", by f and t; free where x_f is missing."""
        self._guarded: dict[tuple[int, int], int] = {}
        """Literals of "x_f has a value, and this test holds", by feature and the test's literal."""
        self._variables = 0

    def _new(self) -> int:
        self._variables += 1
        return self._variables

    def _is_missing(self, feature: int) -> int:
        if feature not in self._missing:
            self._missing[feature] = self._new()
        return self._missing[feature]

    def _is_at_most(self, feature: int, threshold: float) -> int:
        known = self._at_most.setdefault(feature, {})
        if threshold not in known:
            known[threshold] = self._new()
        return known[threshold]

    def _there_and(self, feature: int, literal: int) -> int:
        if not self._space.missing[feature]:
            return literal
        if (feature, literal) not in self._guarded:
            self._guarded[feature, literal] = guarded = self._new()
            self._clauses += [[-guarded, -self._is_missing(feature)], [-guarded, literal]]
        return self._guarded[feature, literal]

    def forbid(self, leaf: Leaf) -> None:
        """Keep the row out of a leaf that meets the space."""
        space, clause = self._space, []
        for feature, each in leaf.conditions.items():
            if not space.there[feature]:  # missing, as the path allows
                continue
            if space.missing[feature] and not each.missing:
                clause.append(self._is_missing(feature))
            if not space.holds(feature, each.lower, each.upper):
                clause.append(-self._is_missing(feature))
                continue
            if each.upper < space.upper[feature]:
                clause.append(self._there_and(feature, -self._is_at_most(feature, each.upper)))
            if each.lower > space.lower[feature]:
                just_below = self._is_at_most(feature, below(each.lower))
                clause.append(self._there_and(feature, just_below))
        self._clauses.append(clause)

    def _keep_groups(self, meaning: Meaning) -> None:
        for group in meaning.groups:
            always, hot = 0, []
            for feature, value in group:
                values = self._space.values[feature]
                if value is None or not values or values[-1] != float(np.float32(value)):
                    continue
                if len(values) == 1:
                    always += 1
                else:
                    hot.append(-self._is_at_most(feature, values[0]))
            if always > 1:
                self._clauses.append([])
            if always:
                self._clauses += [[-each] for each in hot]
            else:
                self._clauses.append(hot)
                self._clauses += [[-a, -b] for place, a in enumerate(hot) for b in hot[place + 1 :]]

    def _keep_order(self) -> None:
        """Order the thresholds of each feature, and exclude cells between them without a permitted value."""
        for feature, known in self._at_most.items():
            thresholds = sorted(known)
            names = [known[each] for each in thresholds]
            self._clauses += [[-a, b] for a, b in itertools.pairwise(names)]
            gone = [self._missing[feature]] if feature in self._missing else []
            lowers = [LOWEST, *map(above, thresholds)]
            for place, (lower, upper) in enumerate(zip(lowers, [*thresholds, HIGHEST], strict=True)):
                if not self._space.holds(feature, lower, upper):
                    inside = [
                        *names[max(0, place - 1) : place],
                        *(-each for each in names[place : place + 1]),
                    ]
                    self._clauses.append(gone + inside)

    def row(self, meaning: Meaning) -> NDArray[np.float32] | None:
        """Return a row that keeps out of the forbidden leaves, near the centre; None if there is none."""
        self._keep_groups(meaning)
        self._keep_order()
        if [] in self._clauses:
            return None
        space = self._space
        near = [
            name if space.centre[feature] <= threshold else -name
            for feature, known in self._at_most.items()
            for threshold, name in known.items()
        ]
        with PysatSolver(name=_BACK_END, bootstrap_with=self._clauses) as solver:
            solver.set_phases([*near, *(-name for name in self._missing.values())])
            if not solver.solve():
                return None
            true = {literal for literal in solver.get_model() or [] if literal > 0}
        row = np.full(len(space.centre), np.nan, dtype=np.float32)
        for feature in np.flatnonzero(space.there).tolist():
            if self._missing.get(feature) not in true:
                row[feature] = space.nearest(feature, *self._cell(feature, true))
        return row

    def _cell(self, feature: int, true: set[int]) -> tuple[float, float]:
        lower = LOWEST
        for threshold, name in sorted(self._at_most.get(feature, {}).items()):
            if name in true:
                return lower, threshold
            lower = above(threshold)
        return lower, HIGHEST
