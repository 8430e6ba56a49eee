"""An engine: a solver in a child process under hard limits, with every witness replayed here.

What a bounded look settles is answered in this process, see `first_look`: a message to the child and back
takes longer than most queries.

The module is also the `wm.fork_server.ChildService` that runs in that child.
"""

from __future__ import annotations

import time
import traceback
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

from wm.engines.encoding import distance, query_box
from wm.engines.global_proofs import GlobalProofs
from wm.engines.protocol import (
    GLOBAL_REASON,
    ON_GRID,
    Answer,
    ForgeryOutcome,
    ForgeryQuery,
    OutOfResourcesError,
    Solver,
    Status,
)
from wm.errors import QueryError
from wm.forest import Forest
from wm.fork_server import requests
from wm.isolation import ChildError, ChildKilledError, Closing, Sandbox, SuspendedError

LOOK_TIMEOUT_S = 0.1
"""Queries with a shorter limit, or with one on memory, go to the child at once, where limits are enforced."""


class IsolatedEngine(Closing):
    """Answers forgery queries about one forest; see `wm.engines.create`.

    The solver runs in a child process that is killed when a limit is reached; the next query finds a new
    child ready. A solver with a first look (see `Solver`) answers the queries that this settles without a
    child, which starts when it is first needed. A query's clock stands still while a child is prepared. A
    query whose child is killed by something else, such as the kernel when memory runs out, is asked once more
    in a fresh child. So is one that reached its limit in a try during which all processes were suspended.
    """

    def __init__(self, name: str, forest: Forest, options: Mapping[str, Any] | None = None) -> None:
        self.name = name
        self._forest = forest
        from wm.engines import solver_class

        solver = solver_class(name)
        self._answers_constrained = getattr(solver, "answers_constrained", False)
        self._options = dict(options or {})
        self._look = _first_look(solver, forest)
        self._sandbox: Sandbox | None = None
        if self._look is None:
            self._child()
        self.global_proofs = GlobalProofs()
        """Kept here because they outlive the child and answer queries without it. Proofs that the same kind
        of engine found for the same forest may be added."""

    @property
    def child_pid(self) -> int | None:
        """Process of the solver; None before the first query that needs it."""
        return None if self._sandbox is None else self._sandbox.child_pid

    def _child(self) -> Sandbox:
        """Return the solver's process, started if it is not there yet."""
        if self._sandbox is None:
            self._sandbox = Sandbox("wm.engines.isolated", self.name, self._forest.to_bytes(), self._options)
        return self._sandbox

    def close(self) -> None:
        """End the child process."""
        if self._sandbox is not None:
            self._sandbox.close()

    def solve(
        self, query: ForgeryQuery, *, timeout_s: float, memory_bytes: int | None = None
    ) -> ForgeryOutcome:
        """Answer one query within its limits.

        Parameters
        ----------
        query
            Must fit the forest.
        timeout_s
            Hard limit in seconds, above 0; a second attempt has all of it again.
        memory_bytes
            Limit on the resident memory of the child; None for no limit.

        Raises
        ------
        QueryError
            The query does not fit the forest, or the limit is not positive.
        ChildError
            The child cannot be started at all.
        """
        query.check(self._forest)
        if not timeout_s > 0:
            raise QueryError(f"timeout_s must be above 0, not {timeout_s}")
        if query.is_constrained and not self._answers_constrained:
            raise QueryError(
                f"engine {self.name!r} answers no queries with missing values, whole numbers or one-hot "
                "groups: take portfolio or sat"
            )
        started = self._clock()
        if not query.is_constrained and self.global_proofs.refutes(query):
            return self._unforged(started, Status.IMPOSSIBLE, GLOBAL_REASON)
        spent = 0.0
        if self._look is not None and timeout_s >= LOOK_TIMEOUT_S and memory_bytes is None:
            with suppress(Exception):  # the child looks too, and reports it
                if (answer := self._look.answer(query)) is not None:
                    return self._outcome(query, answer, started)
            spent = self._clock() - started
        for _ in range(2):
            try:
                return self._attempt(query, timeout_s, memory_bytes, spent)
            except (ChildKilledError, SuspendedError) as reason:
                failure = reason  # usually not the query's fault; if it is, the next child has it too
        if isinstance(failure, SuspendedError):
            return self._unforged(started, Status.TIMEOUT, f"time limit of {timeout_s:g} s")
        return self._unforged(started, Status.ERROR, f"its process was killed twice: {failure}")

    def _clock(self) -> float:
        """Return a time in seconds that stands still while this process is suspended."""
        return time.perf_counter() - (0.0 if self._sandbox is None else self._sandbox.suspended_s)

    def _unforged(self, started: float, status: Status, reason: str) -> ForgeryOutcome:
        if status is Status.IMPOSSIBLE and self._forest.input_dtype == "float64":
            reason = f"{reason}, {ON_GRID}"
        return ForgeryOutcome(status, None, None, self._clock() - started, self.name, reason)

    def _attempt(
        self, query: ForgeryQuery, timeout_s: float, memory_bytes: int | None, spent: float = 0.0
    ) -> ForgeryOutcome:
        """Put a query to the child, in the time that is left of its limit."""
        child = self._child()
        child.ready()
        started = self._clock() - spent
        try:
            answer = child.ask(query, timeout_s=timeout_s - spent, memory_bytes=memory_bytes)
        except SuspendedError:
            raise
        except TimeoutError:
            return self._unforged(started, Status.TIMEOUT, f"time limit of {timeout_s:g} s")
        except MemoryError:
            return self._unforged(started, Status.MEMOUT, f"memory limit of {memory_bytes} bytes")
        except ChildKilledError:
            raise
        except ChildError as reason:
            return self._unforged(started, Status.ERROR, str(reason))
        if isinstance(answer, OutOfResourcesError):
            return self._unforged(started, answer.status, str(answer))
        if not isinstance(answer, Answer):
            return self._unforged(started, Status.ERROR, str(answer))
        return self._outcome(query, answer, started)

    def _outcome(self, query: ForgeryQuery, answer: Answer, started: float) -> ForgeryOutcome:
        """Replay an answer's witness, or remember its global proof."""
        if answer.witness is None:
            if answer.is_global:
                self.global_proofs.add(query.pair)
            outcome = self._unforged(started, Status.IMPOSSIBLE, answer.reason)
            return replace(outcome, certified=answer.certified)
        if fault := replay_fault(self._forest, query, answer.witness):
            return self._unforged(started, Status.ERROR, fault)
        return replace(
            self._unforged(started, Status.FORGED, answer.reason),
            witness=answer.witness,
            distance=distance(answer.witness, query.centre),
        )


def _first_look(solver: Any, forest: Forest) -> Any:
    """Return a solver's first look at a forest; None where it has none, or not for a forest of this size."""
    look = getattr(solver, "first_look", None)
    return look(forest) if look is not None and look.fits(forest) else None


def replay_fault(forest: Forest, query: ForgeryQuery, witness: np.ndarray) -> str | None:
    """Return why a witness does not answer its query on the original model, or None if it does.

    Checks type and shape, the closed box around the centre, the range [0, 1], missing values, the query's
    meaning, and every tree's vote.
    """
    if witness.dtype != np.float32 or witness.shape != query.centre.shape:
        return f"the witness has type {witness.dtype} and shape {witness.shape}"
    lower, upper = query_box(query.centre, query.eps)
    missing, was_missing = np.isnan(witness), np.isnan(query.centre)
    may_miss = was_missing if query.meaning is None else was_missing | query.meaning.may_miss
    if (missing & ~may_miss).any() or (was_missing & ~missing).any():
        return "the witness has or lacks a value against the query"
    if not (missing | ((witness >= lower) & (witness <= upper))).all():
        return "the witness lies outside its box"
    if query.meaning is not None and (fault := query.meaning.fault(witness)):
        return f"the witness has lost its meaning: {fault}"
    wrong = forest.votes(witness[None])[0] != query.label
    differing = int((wrong != (query.signature == 1)).sum())
    if differing:
        return f"the witness does not replay: {differing} trees vote otherwise"
    return None


def prepare(name: str, forest: bytes, options: dict[str, Any]) -> Solver:
    """Build the solver in the template process."""
    from wm.engines import solver_class

    return solver_class(name)(Forest.from_bytes(forest), **options)


def serve(connection: Connection, solver: Solver) -> None:
    """Answer queries in the child process until the connection closes."""
    for query in requests(connection):
        try:
            answer: object = solver.answer(query)
        except OutOfResourcesError as reason:
            answer = reason
        except MemoryError:
            answer = OutOfResourcesError(Status.MEMOUT, "the solver ran out of memory")
        except Exception:
            answer = traceback.format_exc(limit=-3)
        connection.send(answer)
