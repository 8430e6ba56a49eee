"""One child process for each engine and any number of forests: what engines cost, without their start.

`wm.engines.create` starts an interpreter for each forest. Benchmarks over many small forests would measure
little else, so here the child is told which forest it is to answer for. It is also the `wm.isolation.Service`
that runs in that child.
"""

from __future__ import annotations

import time
from multiprocessing.connection import Connection
from types import TracebackType
from typing import Self

from wm.engines import Answer, ForgeryOutcome, ForgeryQuery, Status, solver_class
from wm.engines.encoding import distance
from wm.engines.isolated import replay_fault
from wm.engines.protocol import OutOfResourcesError
from wm.forest import Forest
from wm.isolation import ChildError, Sandbox, requests

BUILD_LIMIT_S = 120.0
"""Longest that a solver may take to prepare for a forest."""


class Racer:
    """An engine that answers queries to one forest after the other; use it as a context manager."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._sandbox = Sandbox("research.benchmarks.racing", name)
        self._forest: Forest | None = None
        self._loaded: int | None = None

    def __enter__(self) -> Self:
        """Return the engine."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the child."""
        self._sandbox.close()

    def load(self, forest: Forest) -> None:
        """Turn to another forest."""
        self._forest, self._loaded = forest, None

    def solve(self, query: ForgeryQuery, *, timeout_s: float) -> ForgeryOutcome:
        """Answer a query to the forest loaded last; the clock runs from when a solver for it is ready.

        Raises
        ------
        ChildError
            The solver cannot be built.
        """
        if self._forest is None:
            raise ValueError("load a forest first")
        self._prepare(self._forest)
        started = time.perf_counter()
        try:
            answer = self._sandbox.ask(query, timeout_s=timeout_s)
        except TimeoutError:
            return self._ended(Status.TIMEOUT, time.perf_counter() - started, "time limit")
        except ChildError as reason:
            return self._ended(Status.ERROR, time.perf_counter() - started, str(reason))
        seconds = time.perf_counter() - started
        if isinstance(answer, OutOfResourcesError):
            return self._ended(answer.status, seconds, str(answer))
        if answer.witness is None:
            return self._ended(Status.IMPOSSIBLE, seconds, answer.reason)
        if fault := replay_fault(self._forest, query, answer.witness):
            return self._ended(Status.ERROR, seconds, fault)
        far = distance(answer.witness, query.centre)
        return ForgeryOutcome(Status.FORGED, answer.witness, far, seconds, self._name, answer.reason)

    def _prepare(self, forest: Forest) -> None:
        """Have the child, a new one perhaps, build its solver."""
        self._sandbox.ready()
        if self._loaded != self._sandbox.child_pid:
            self._sandbox.ask(forest.to_bytes(), timeout_s=BUILD_LIMIT_S)
            self._loaded = self._sandbox.child_pid

    def _ended(self, status: Status, seconds: float, reason: str) -> ForgeryOutcome:
        return ForgeryOutcome(status, None, None, seconds, self._name, reason)


def prepare(name: str) -> str:
    """Import the engine, and compile it, in the template process."""
    forest = Forest.from_arrays(
        offset=[0, 1],
        left=[-1],
        right=[-1],
        feature=[-1],
        threshold=[0.0],
        value=[[1.0, 0.0]],
        n_features=1,
        classes=[0, 1],
    )
    solver_class(name)(forest).answer(ForgeryQuery(signature=[0], label=0, centre=[0.5], eps=0.1))
    return name


def serve(connection: Connection, name: str) -> None:
    """Answer in the child process: a forest makes a solver, a query is put to it."""
    solver = None
    for message in requests(connection):
        if isinstance(message, bytes):
            solver = solver_class(name)(Forest.from_bytes(message))
            connection.send(None)
            continue
        if solver is None:
            raise ValueError("a query came before a forest")
        try:
            answer: Answer | OutOfResourcesError = solver.answer(message)
        except OutOfResourcesError as reason:
            answer = reason
        connection.send(answer)
