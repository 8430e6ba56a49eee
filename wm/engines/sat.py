"""`sat`: one Boolean for each threshold, a clause for each unwanted leaf, a fresh CDCL solver for each query.

A clause forbids a leaf with an unwanted vote. The formula has only leaves that meet the query's box, and only
bounds that the box leaves open, so it shrinks with eps. If a tree has no wanted leaf left, no solver is
needed.

With ``certify=True`` every ``impossible`` is proved: the solver writes a proof, which `wm.engines.proof`
checks. That module shares no code with the solver or the encoding.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self

import numpy as np
from numpy.typing import NDArray
from pysat.solvers import Solver as PysatSolver

from wm.engines.cnf import encode
from wm.engines.constrained import ConstrainedSolver
from wm.engines.encoding import LeafBounds, Problem, build_problem, leaf_bounds, nearest_witness
from wm.engines.options import EngineOptions
from wm.engines.protocol import Answer, ForgeryQuery, OutOfResourcesError, Status
from wm.forest import Forest

if TYPE_CHECKING:
    from wm.engines.proof import ProofChecker

BACK_END = "glucose4"
"""CDCL solver that is fast on these formulas and can write proofs."""


class Formula(Protocol):
    """Decides one query's formula; see `PrunedFormula`."""

    def __init__(
        self, bounds: LeafBounds, problem: Problem, centre: NDArray[np.float64], *, with_proof: bool = False
    ) -> None:
        """Prepare; parameters as of `PrunedFormula`."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...

    @property
    def tests(self) -> list[tuple[int, float]]:
        """Feature and threshold of each variable, from 1 on."""

    def has_witness(self, max_conflicts: int = -1) -> bool | None:
        """Return whether it has a witness; None if more conflicts than a limit (-1: none) are needed."""

    def point(self) -> NDArray[np.float32]:
        """Return a point of the box that draws the wanted votes, after a witness was found: (d,)."""

    def proof(self) -> list[str]:
        """Return the proof that there is no witness, if one is written."""


class PrunedFormula:
    """One query's formula in a solver of its own; use it as a context manager.

    Parameters
    ----------
    problem
        One without a `trivial_reason`.
    centre : (d,)
        Witnesses should be near it.
    with_proof
        Whether the solver writes a proof.
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
            # Prefer the cell of the centre, so that witnesses are near it.
            inside = centre[encoding.feature] <= encoding.threshold
            names = np.arange(1, len(encoding.feature) + 1)
            self._solver.set_phases(np.where(inside, names, -names).tolist())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._solver.delete()

    @property
    def tests(self) -> list[tuple[int, float]]:
        """Feature and threshold of each variable, from 1 on."""
        return self._encoding.tests

    def has_witness(self, max_conflicts: int = -1) -> bool | None:
        """Return whether it has a witness; None if more conflicts than a limit (-1: none) are needed."""
        self._solver.conf_budget(max_conflicts)
        found: bool | None = self._solver.solve_limited()
        return found

    def point(self) -> NDArray[np.float32]:
        """Return a point of the box that draws the wanted votes, after a witness was found: (d,)."""
        model = np.array(self._solver.get_model() or [], dtype=np.int64)
        return self._encoding.point(model, self._upper)

    def proof(self) -> list[str]:
        """Return the solver's proof that there is no witness."""
        steps: list[str] = self._solver.get_proof()
        return steps


class SatOptions(EngineOptions):
    """Options of `sat`."""

    certify: bool = False
    """Have every ``impossible`` checked independently; one whose proof is refused ends as ``error``."""


class SatSolver:
    """Answers queries by a CDCL solver on the Boolean threshold encoding.

    Parameters
    ----------
    **options
        Fields of `SatOptions`.
    """

    Options = SatOptions
    answers_constrained = True
    formula: ClassVar[type[Formula]] = PrunedFormula
    """What decides a query's formula."""

    def __init__(self, forest: Forest, **options: Any) -> None:
        self._forest = forest
        self._bounds = leaf_bounds(forest)
        self._checker = None
        if SatOptions.of(options, engine="sat").certify:
            from wm.engines.proof import ProofChecker  # imports numba, which the solver does not need

            self._checker = ProofChecker(forest)

    def answer(self, query: ForgeryQuery) -> Answer:
        """Answer one query."""
        if query.is_constrained:
            if self._checker is not None:
                raise OutOfResourcesError(
                    Status.ERROR, "no proofs with missing values, whole numbers or one-hot groups"
                )
            return self._constrained.answer(query)
        problem = build_problem(self._forest, self._bounds, query)
        if problem.trivial_reason:
            return self._trivial(query, problem.trivial_reason)
        with_proof = self._checker is not None
        with self.formula(self._bounds, problem, query.centre, with_proof=with_proof) as formula:
            if formula.has_witness():
                return Answer(nearest_witness(self._forest, self._bounds, formula.point(), query))
            if self._checker is None:
                return Answer(None)
            return self._proved(self._checker, query, formula)

    @cached_property
    def _constrained(self) -> ConstrainedSolver:
        return ConstrainedSolver(self._forest)

    def _trivial(self, query: ForgeryQuery, reason: str) -> Answer:
        """Return an impossibility that needs no solver, checked if answers are certified."""
        if self._checker is None:
            return Answer(None, reason)
        found = self._checker.trivial_reason(query)
        if found != reason:
            raise OutOfResourcesError(Status.ERROR, f"not certified: {reason}; the checker finds {found}")
        return Answer(None, f"{reason}, checked", certified=True)

    def _proved(self, checker: ProofChecker, query: ForgeryQuery, formula: Formula) -> Answer:
        from wm.engines.proof import ProofError

        proof = formula.proof()
        if "0" not in proof:  # Glucose leaves out the empty clause if it needed no search
            proof.append("0")
        try:
            number = checker.check(query, formula.tests, proof)
        except ProofError as reason:
            raise OutOfResourcesError(Status.ERROR, f"not certified: {reason}") from reason
        return Answer(None, f"solver, proof checked ({number} steps)", certified=True)
