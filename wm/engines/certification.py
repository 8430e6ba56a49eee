"""Certified impossibility: a proof of another kind confirms what an engine calls impossible.

The incremental and the searching engines write no proofs. The SAT engine is asked again about what they call
``impossible``, and `wm.engines.proof` checks its DRAT proof; the two share neither algorithm nor encoding.
"""

from __future__ import annotations

from dataclasses import replace

from wm.engines.isolated import IsolatedEngine
from wm.engines.protocol import Engine, ForgeryOutcome, ForgeryQuery, Status
from wm.forest import Forest
from wm.isolation import Closing

_PROVER = "sat"


class CertifyingEngine(Closing):
    """An engine whose ``impossible`` outcomes are marked as confirmed by a checked proof or not.

    Parameters
    ----------
    engine
        Answers the queries; closed together with this one.
    forest
        Its forest.

    Attributes
    ----------
    name
        The answering engine's name.
    """

    def __init__(self, engine: Engine, forest: Forest) -> None:
        self.name = engine.name
        self._engine = engine
        self._prover: Engine = IsolatedEngine(_PROVER, forest, {"certify": True})

    def solve(
        self, query: ForgeryQuery, *, timeout_s: float, memory_bytes: int | None = None
    ) -> ForgeryOutcome:
        """Answer one query; answer and proof together within the limits.

        ``impossible`` stays so if the proof takes too long, and is marked as not certified. If the prover
        finds a witness, the two contradict each other: an ``error``.
        """
        outcome = self._engine.solve(query, timeout_s=timeout_s, memory_bytes=memory_bytes)
        if outcome.status is not Status.IMPOSSIBLE:
            return outcome
        # Only solving time counts: an engine that starts meanwhile leaves the proof its share of the limit.
        left = max(1e-3, timeout_s - outcome.seconds)
        proof = self._prover.solve(query, timeout_s=left, memory_bytes=memory_bytes)
        return replace(certified(outcome, proof), seconds=outcome.seconds + proof.seconds)

    def close(self) -> None:
        """End both processes."""
        self._engine.close()
        self._prover.close()


def certified(outcome: ForgeryOutcome, proof: ForgeryOutcome) -> ForgeryOutcome:
    """Return an ``impossible`` outcome with the result of the prover added."""
    if proof.status is Status.FORGED:
        return replace(
            outcome,
            status=Status.ERROR,
            reason=f"{outcome.engine} proves it impossible ({outcome.reason}), {_PROVER} has a witness",
        )
    if proof.status is Status.IMPOSSIBLE:
        return replace(outcome, certified=True, reason=f"{outcome.reason}; certified: {proof.reason}")
    reason = f"{outcome.reason}; not certified: {proof.status} ({proof.reason})"
    return replace(outcome, certified=False, reason=reason)
