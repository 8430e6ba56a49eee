"""An engine for many small forests, one after the other: what engines cost, without their start.

`wm.engines.create` starts an interpreter for each forest, and a race over many would measure little else:
here a child process goes from forest to forest. This is also the `wm.fork_server.ChildService` that runs in
that child.
"""

from __future__ import annotations

from multiprocessing.connection import Connection
from typing import Any

from wm.engines import ForgeryOutcome, ForgeryQuery, solver_class
from wm.engines.global_proofs import GlobalProofs
from wm.engines.isolated import IsolatedEngine
from wm.engines.isolated import serve as serve_one
from wm.forest import Forest
from wm.isolation import Sandbox
from wm.testing import forest_of

BUILD_LIMIT_S = 120.0
"""Longest that a solver may take to prepare for a forest."""

NOTHING = forest_of([0], n_features=1, classes=[0, 1])


class Racer(IsolatedEngine):
    """An engine that answers queries to one forest after the other."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._look = None  # it would be prepared for each forest in this process
        self.load(NOTHING)
        self._sandbox: Sandbox = Sandbox("research.benchmarks.racing", name)

    def __enter__(self) -> Racer:
        return self

    def load(self, forest: Forest) -> None:
        """Turn to another forest."""
        self._forest, self.global_proofs = forest, GlobalProofs()
        self._loaded: int | None = None  # child that has the forest

    def _attempt(
        self, query: ForgeryQuery, timeout_s: float, memory_bytes: int | None, spent: float = 0.0
    ) -> ForgeryOutcome:
        """Have the child, a new one perhaps, build its solver; the clock runs from then on."""
        self._sandbox.ready()
        if self._loaded != self._sandbox.child_pid:
            self._sandbox.ask(self._forest.to_bytes(), timeout_s=BUILD_LIMIT_S)
            self._loaded = self._sandbox.child_pid
        return super()._attempt(query, timeout_s, memory_bytes, spent)


def prepare(name: str) -> str:
    """Import the engine, and compile it, in the template process."""
    solver_class(name)(NOTHING).answer(ForgeryQuery(signature=[0], label=0, centre=[0.5], eps=0.1))
    return name


class _Changing:
    """A solver of the forest that came last, which comes as bytes."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._solver: Any = None

    def answer(self, message: Any) -> Any:
        if isinstance(message, bytes):
            self._solver = solver_class(self._name)(Forest.from_bytes(message))
            return None
        return self._solver.answer(message)


def serve(connection: Connection, name: str) -> None:
    """Answer in the child process: a forest makes a solver, a query is put to it."""
    serve_one(connection, _Changing(name))
