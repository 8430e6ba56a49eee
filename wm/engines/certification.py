"""Certified impossibility: what one engine calls impossible, a proof of another kind confirms.

The incremental and the searching engines write no proofs. Their ``impossible`` is put once more to the SAT
engine, whose DRAT proof `wm.engines.proof` checks; the two share neither algorithm nor encoding.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Self

from wm.engines.isolated import IsolatedEngine
from wm.engines.protocol import ForgeryOutcome, ForgeryQuery, Status
from wm.forest import Forest

_PROVER = "sat"


class CertifyingEngine:
    """An engine each of whose ``impossible`` is confirmed by a checked proof, or said not to be.

    Parameters
    ----------
    engine
        Answers the queries; closed together with this one.
    forest
        Its forest.
    """

    def __init__(self, engine: IsolatedEngine, forest: Forest) -> None:
        self._engine = engine
        self._prover = IsolatedEngine(_PROVER, forest, {"certify": True})

    @property
    def name(self) -> str:
        """The answering engine's name."""
        return self._engine.name

    def solve(
        self, query: ForgeryQuery, *, timeout_s: float, memory_bytes: int | None = None
    ) -> ForgeryOutcome:
        """Answer one query; answer and certificate together within the limits.

        ``impossible`` stays so where the proof takes too long, and is marked as not certified.
        Where the prover finds a witness the two contradict each other: an ``error``.
        """
        started = time.perf_counter()
        outcome = self._engine.solve(query, timeout_s=timeout_s, memory_bytes=memory_bytes)
        if outcome.status is not Status.IMPOSSIBLE:
            return outcome
        left = max(1e-3, timeout_s - (time.perf_counter() - started))
        proved = self._prover.solve(query, timeout_s=left, memory_bytes=memory_bytes)
        seconds = outcome.seconds + proved.seconds
        return replace(certified(outcome, proved), seconds=seconds)

    def close(self) -> None:
        """Free both processes."""
        self._engine.close()
        self._prover.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def certified(outcome: ForgeryOutcome, proved: ForgeryOutcome) -> ForgeryOutcome:
    """Return an ``impossible`` outcome with what the prover says of it."""
    if proved.status is Status.FORGED:
        return replace(
            outcome,
            status=Status.ERROR,
            reason=f"{outcome.engine} proves it impossible ({outcome.reason}), {_PROVER} has a witness",
        )
    is_confirmed = proved.status is Status.IMPOSSIBLE
    text = (
        f"certified: {proved.reason}" if is_confirmed else f"not certified: {proved.status} ({proved.reason})"
    )
    return replace(outcome, certified=is_confirmed, reason=f"{outcome.reason}; {text}")
