"""Engines: solvers that answer forgery queries.

`create` returns an engine by name. It answers under hard limits, in a child process, and replays every
witness on the original model. A new engine is one module with a class that is a `protocol.Solver`, and one
line in `_SOLVERS`; a solver with options names their model as its attribute `Options`.
"""

from __future__ import annotations

import importlib
from typing import Any

from wm.engines.isolated import IsolatedEngine
from wm.engines.options import EngineOptions
from wm.engines.protocol import Answer, Engine, ForgeryOutcome, ForgeryQuery, Solver, Status
from wm.errors import QueryError
from wm.forest import Forest

_SOLVERS = {
    "z3": ("wm.engines.z3_real", "Z3RealSolver"),
    "z3-bool": ("wm.engines.z3_bool", "Z3BoolSolver"),
    "sat": ("wm.engines.sat", "SatSolver"),
    "sat-incremental": ("wm.engines.sat_incremental", "SatIncrementalSolver"),
    "learning": ("wm.engines.learning", "LearningSolver"),
    "search": ("wm.engines.search", "SearchSolver"),
    "portfolio": ("wm.engines.portfolio", "PortfolioSolver"),
}

__all__ = [
    "Answer",
    "Engine",
    "EngineOptions",
    "ForgeryOutcome",
    "ForgeryQuery",
    "Status",
    "create",
    "names",
    "options_model",
    "solver_class",
]


def names() -> list[str]:
    """Return the names that `create` accepts."""
    return sorted(_SOLVERS)


def solver_class(name: str) -> type[Solver]:
    """Return the class of an engine's solver, importing its library only now.

    Raises
    ------
    QueryError
        Unknown name.
    """
    if name not in _SOLVERS:
        raise QueryError(f"unknown engine {name!r}; known are: {', '.join(names())}")
    module, attribute = _SOLVERS[name]
    found: type[Solver] = getattr(importlib.import_module(module), attribute)
    return found


def options_model(name: str) -> type[EngineOptions]:
    """Return the model of an engine's options: their names, ranges, defaults and descriptions.

    Raises
    ------
    QueryError
        Unknown name.
    """
    return getattr(solver_class(name), "Options", EngineOptions)


def create(name: str, forest: Forest, **options: Any) -> IsolatedEngine:
    """Return an engine for one forest; close it, or use it as a context manager.

    Parameters
    ----------
    **options
        Fields of the engine's `options_model`, for instance ``margin=1e-4`` for "z3".

    Raises
    ------
    QueryError
        Unknown name, or an option that the engine does not have or whose value it refuses.

    Examples
    --------
    One tree that votes 1 right of 0.5; within 0.2 of 0.4 it can be made to, within 0.05 it cannot:

    >>> from wm.signature import Signature
    >>> forest = Forest.from_arrays(
    ...     offset=[0, 3], left=[1, -1, -1], right=[2, -1, -1], feature=[0, -1, -1],
    ...     threshold=[0.5, 0.0, 0.0], value=[[1, 1], [1, 0], [0, 1]], n_features=1, classes=[0, 1],
    ... )
    >>> with create("portfolio", forest) as engine:
    ...     for eps in (0.2, 0.05):
    ...         query = ForgeryQuery(signature=Signature.of("0"), label=1, centre=[0.4], eps=eps)
    ...         print(engine.solve(query, timeout_s=60).status)
    forged
    impossible
    """
    options_model(name).of(options, engine=name)
    return IsolatedEngine(name, forest, options)
