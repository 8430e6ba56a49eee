"""An engine: a solver in a child process under hard limits, its witnesses replayed here.

Also the `wm.isolation.Service` that runs in that child.
"""

from __future__ import annotations

import time
import traceback
from collections.abc import Mapping
from dataclasses import replace
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

from wm.engines.encoding import distance, query_box
from wm.engines.protocol import (
    WHOLE_DOMAIN,
    Answer,
    ForgeryOutcome,
    ForgeryQuery,
    OutOfResourcesError,
    Solver,
    Status,
)
from wm.engines.whole_domain import WholeDomainProofs
from wm.errors import QueryError
from wm.forest import Forest
from wm.isolation import ChildError, ChildKilledError, Sandbox, requests


class IsolatedEngine:
    """Answers forgery queries about one forest; see `wm.engines.create`.

    The solver runs in a child process that is killed when a limit strikes, whatever it does; the next query
    finds a new child ready. The clock of a query starts when the child has its forest loaded. A query whose
    child something else kills, the kernel for want of memory say, is put once more to a fresh one.

    Proofs that hold in the whole domain are remembered here too: they outlive the child, and what follows
    from them need not cross over to it.

    Attributes
    ----------
    whole_domain
        These proofs; those that a like engine found for the same forest may be added.
    """

    def __init__(self, name: str, forest: Forest, options: Mapping[str, Any] | None = None) -> None:
        self._name = name
        self._forest = forest
        self._sandbox = Sandbox("wm.engines.isolated", name, forest.to_bytes(), dict(options or {}))
        self.whole_domain = WholeDomainProofs()

    @property
    def name(self) -> str:
        """The engine's name in the registry."""
        return self._name

    @property
    def child_pid(self) -> int | None:
        """Process that solves; None before the first query."""
        return self._sandbox.child_pid

    def __enter__(self) -> IsolatedEngine:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the child process."""
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
            Hard limit in seconds, above 0; a second try has it anew, so that it finds what the first would.
        memory_bytes
            Limit on the resident memory of the solving process; None for no limit.

        Raises
        ------
        QueryError
            The query does not fit the forest, or the limit is not positive.
        ChildError
            The solving process cannot be started at all.
        """
        query.check(self._forest)
        if not timeout_s > 0:
            raise QueryError(f"timeout_s must be above 0, not {timeout_s}")
        started = time.perf_counter()
        if self.whole_domain.settle(query):
            seconds = time.perf_counter() - started
            return ForgeryOutcome(Status.IMPOSSIBLE, None, None, seconds, self._name, WHOLE_DOMAIN)
        try:
            return self._try(query, timeout_s, memory_bytes)
        except ChildKilledError:
            pass  # most often not this query's fault; if it is, the next child is killed too
        try:
            return self._try(query, timeout_s, memory_bytes)
        except ChildKilledError as death:
            reason = f"its process was killed twice: {death}"
            return ForgeryOutcome(Status.ERROR, None, None, time.perf_counter() - started, self._name, reason)

    def _try(self, query: ForgeryQuery, timeout_s: float, memory_bytes: int | None) -> ForgeryOutcome:
        self._sandbox.ready()
        started = time.perf_counter()

        def ended(status: Status, reason: str) -> ForgeryOutcome:
            return ForgeryOutcome(status, None, None, time.perf_counter() - started, self._name, reason)

        try:
            answer = self._sandbox.ask(query, timeout_s=timeout_s, memory_bytes=memory_bytes)
        except TimeoutError:
            return ended(Status.TIMEOUT, f"time limit of {timeout_s:g} s")
        except MemoryError:
            return ended(Status.MEMOUT, f"memory limit of {memory_bytes} bytes")
        except ChildKilledError:
            raise
        except ChildError as reason:
            return ended(Status.ERROR, str(reason))
        if isinstance(answer, OutOfResourcesError):
            return ended(answer.status, str(answer))
        if not isinstance(answer, Answer):
            return ended(Status.ERROR, str(answer))
        if answer.witness is None:
            if answer.is_global:
                self.whole_domain.add(query.pair)
            return replace(ended(Status.IMPOSSIBLE, answer.reason), certified=answer.certified)
        if fault := replay_fault(self._forest, query, answer.witness):
            return ended(Status.ERROR, fault)
        return ForgeryOutcome(
            status=Status.FORGED,
            witness=answer.witness,
            distance=distance(answer.witness, query.centre),
            seconds=time.perf_counter() - started,
            engine=self._name,
            reason=answer.reason,
        )


def replay_fault(forest: Forest, query: ForgeryQuery, witness: np.ndarray) -> str | None:
    """Return why a witness does not answer its query on the original model, or None if it does.

    Checks type and shape, the closed box around the centre, the range [0, 1] and every tree's vote.
    """
    if witness.dtype != np.float32 or witness.shape != query.centre.shape:
        return f"the witness has type {witness.dtype} and shape {witness.shape}"
    lower, upper = query_box(query.centre, query.eps)
    if not ((witness >= lower) & (witness <= upper)).all():
        return "the witness lies outside its box"
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
