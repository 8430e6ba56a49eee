"""Engines: solver back ends that answer forgery queries.

`create` gives an engine by name; an engine answers under hard limits, in a child process, and replays every
witness on the original model. A new back end is one module with a class that is a `protocol.Solver`, and one
line in `_SOLVERS`.
"""

from __future__ import annotations

import importlib

from wm.engines.isolated import IsolatedEngine
from wm.engines.protocol import Answer, Engine, ForgeryOutcome, ForgeryQuery, Solver, Status
from wm.errors import QueryError
from wm.forest import Forest

_SOLVERS = {
    "z3": ("wm.engines.z3_real", "Z3RealSolver"),
    "sat": ("wm.engines.sat", "SatSolver"),
    "search": ("wm.engines.search", "SearchSolver"),
}

__all__ = ["Answer", "Engine", "ForgeryOutcome", "ForgeryQuery", "Status", "create", "names", "solver_class"]


def names() -> list[str]:
    """Return the names that `create` accepts."""
    return sorted(_SOLVERS)


def solver_class(name: str) -> type[Solver]:
    """Return a back end's class, importing its library only now.

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


def create(name: str, forest: Forest) -> IsolatedEngine:
    """Return an engine for one forest; close it, or use it as a context manager.

    Raises
    ------
    QueryError
        Unknown name.
    """
    solver_class(name)
    return IsolatedEngine(name, forest)
