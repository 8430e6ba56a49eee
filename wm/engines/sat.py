"""`sat`: one Boolean for each threshold, a clause for each unwanted leaf, a fresh CDCL solver for each query.

A leaf with an unwanted vote must not be reached. Only leaves that meet the query's box take part, and of
their bounds only those that the box leaves open, so the formula shrinks with eps; where a tree has no wanted
leaf left, no solver is asked at all.

With ``certify=True`` every ``impossible`` is proved: the solver writes down how it came to it, and
`wm.engines.proof`, which shares no code with the solver or the encoding, checks that.
"""

from __future__ import annotations

from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from pysat.solvers import Solver as PysatSolver

from wm.engines.cnf import encode
from wm.engines.encoding import LeafBounds, Problem, leaf_bounds, nearest_witness, pose
from wm.engines.options import EngineOptions
from wm.engines.protocol import Answer, ForgeryQuery, OutOfResourcesError, Status
from wm.forest import Forest

BACK_END = "glucose4"
"""Fast on these formulas, and it can write proofs."""


class PrunedFormula:
    """One query's formula in a solver of its own; use it as a context manager.

    Parameters
    ----------
    problem
        Neither empty nor hopeless.
    centre : (d,)
        Where witnesses should be near.
    with_proof
        Have the solver write down a proof.
    """

    def __init__(
        self, bounds: LeafBounds, problem: Problem, centre: NDArray[np.float64], *, with_proof: bool = False
    ) -> None:
        self._encoding = encoding = encode(bounds, problem.unwanted, problem.lower, problem.upper)
        self._upper = problem.upper
        self._solver = PysatSolver(name=BACK_END, with_proof=with_proof)
        self._solver.append_formula(encoding.order)
        self._solver.append_formula(encoding.leaves)
        if len(encoding.feature):
            # Prefer the cell of the centre: witnesses come out near it.
            inside = centre[encoding.feature] <= encoding.threshold
            names = np.arange(1, len(encoding.feature) + 1)
            self._solver.set_phases(np.where(inside, names, -names).tolist())

    def __enter__(self) -> Self:
        """Return the formula."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Free the solver's memory."""
        self._solver.delete()

    @property
    def tests(self) -> list[tuple[int, float]]:
        """Feature and threshold of each variable, from 1 on."""
        encoding = self._encoding
        return list(zip(encoding.feature.tolist(), encoding.threshold.tolist(), strict=True))

    @property
    def propagations(self) -> int:
        """What the solver has done so far."""
        return int(self._solver.accum_stats()["propagations"])

    def has_witness(self) -> bool:
        """Solve it."""
        return bool(self._solver.solve())

    def try_for(self, conflicts: int) -> bool | None:
        """Return whether it has a witness; None if it takes more conflicts to tell."""
        self._solver.conf_budget(conflicts)
        found: bool | None = self._solver.solve_limited()
        return found

    def point(self) -> NDArray[np.float32]:
        """Return a point of the box that draws the wanted votes, once it is known that there is one: (d,)."""
        model = np.array(self._solver.get_model() or [], dtype=np.int64)
        return self._encoding.point(model, self._upper)

    def proof(self) -> list[str]:
        """Return the solver's proof that there is no witness."""
        steps: list[str] = self._solver.get_proof()
        return steps


class SatOptions(EngineOptions):
    """Options of `sat`."""

    certify: bool = False
    """Have every ``impossible`` checked independently; one that is refused ends as ``error``."""


class SatSolver:
    """Answers queries by a CDCL solver on the Boolean threshold encoding.

    Parameters
    ----------
    **options
        Fields of `SatOptions`.

    Raises
    ------
    QueryError
        There is no such option, or not with this value.
    """

    Options = SatOptions

    def __init__(self, forest: Forest, **options: Any) -> None:
        self._forest = forest
        self._bounds = leaf_bounds(forest)
        self._checker = None
        if SatOptions.of(options, engine="sat").certify:
            from wm.engines.proof import ProofChecker  # brings numba, which the solver does without

            self._checker = ProofChecker(forest)

    def answer(self, query: ForgeryQuery) -> Answer:
        """Answer one query."""
        problem = pose(self._forest, self._bounds, query)
        if problem.empty:
            return self._trivial(query, "empty box")
        if problem.hopeless:
            return self._trivial(query, "no leaf")
        with PrunedFormula(
            self._bounds, problem, query.centre, with_proof=self._checker is not None
        ) as formula:
            if formula.has_witness():
                return Answer(nearest_witness(self._forest, self._bounds, formula.point(), query))
            if self._checker is None:
                return Answer(None)
            return self._checked(query, formula.tests, formula.proof())

    def _trivial(self, query: ForgeryQuery, reason: str) -> Answer:
        """Return an impossibility that needed no solver, found again by the checker if there is one."""
        if self._checker is not None:
            found = self._checker.trivial_reason(query)
            if found != reason:
                raise OutOfResourcesError(Status.ERROR, f"not certified: {reason}; the checker finds {found}")
            return Answer(None, f"{reason}, checked", certified=True)
        return Answer(None, reason)

    def _checked(self, query: ForgeryQuery, tests: list[tuple[int, float]], proof: list[str]) -> Answer:
        from wm.engines.proof import ProofError

        assert self._checker is not None  # noqa: S101 - only then is there a proof
        # The verdict itself is the last step; Glucose leaves it out where it needed no search.
        steps = proof if "0" in proof else [*proof, "0"]
        try:
            number = self._checker.check(query, tests, steps)
        except ProofError as reason:
            raise OutOfResourcesError(Status.ERROR, f"not certified: {reason}") from reason
        return Answer(None, f"solver, proof checked ({number} steps)", certified=True)
