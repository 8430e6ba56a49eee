"""Job kind `forgery`: one batch of queries, continued slice by slice."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wm import engines
from wm.attacks.forgery import attacker_instances, attacker_signature
from wm.attacks.forgery.following import following_reason, settles
from wm.datasets import Split
from wm.engines import ForgeryOutcome, ForgeryQuery, Status
from wm.engines.certification import CertifyingEngine
from wm.engines.isolated import IsolatedEngine
from wm.engines.minimal import MinimalOutcome, MinimalSearch
from wm.engines.whole_domain import WholeDomainProofs
from wm.forest import Forest
from workers.handlers.inputs import read_split
from workers.jobs import EmbedResult, ForgeryAnswer, ForgeryParameters, ForgeryResult, JobKind, KnownAnswer
from workers.runtime.context import Context


@dataclass(frozen=True)
class _Warm:
    """An engine that is ready, and the forest that it answers about."""

    engine: IsolatedEngine | CertifyingEngine
    minimal: MinimalSearch
    forest: Forest
    proofs: WholeDomainProofs


_warm: dict[tuple[str, bool, str], _Warm] = {}
"""The engine used last, by (name, certify, forest): the next batch is most often for the same."""


_Asking = Callable[[int, int], ForgeryAnswer]
"""Takes an instance's position and row."""

_Answering = Callable[[ForgeryQuery, int, int], ForgeryAnswer]
"""Takes a query with its position and row."""


def run(parameters: ForgeryParameters, context: Context) -> ForgeryResult | None:
    """Answer what is unanswered of the batch; None when the slice is over before that.

    What follows from a known answer at another distance is not asked; where all does, no engine is started.
    """
    split = read_split(context)
    end = parameters.first + parameters.count
    shuffled = attacker_instances(
        parameters.seed, rows=len(split.y_test), count=end, repeat=parameters.repeat
    )
    left = [position for position in range(parameters.first, end) if position not in context.answered]
    settled = _settled(parameters, context.known)
    ask: _Asking | None = None
    for number, position in enumerate(left):
        row = int(shuffled[position])
        if position in settled:
            context.answer(_following(settled[position], row))
        else:
            ask = ask or _asking(parameters, split, context)
            context.answer(ask(position, row))
        if context.slice_over() and number + 1 < len(left):
            return None
    return ForgeryResult(instances=parameters.count)


def _settled(parameters: ForgeryParameters, known: Iterable[KnownAnswer]) -> dict[int, KnownAnswer]:
    """Return by instance the known answers that settle this batch's."""
    if parameters.eps == "minimal":
        return {}
    settling = [
        answer for answer in known if settles(Status(answer.status), at=answer.eps, eps=parameters.eps)
    ]
    return {answer.instance: answer for answer in settling}


def _following(known: KnownAnswer, row: int) -> ForgeryAnswer:
    return ForgeryAnswer(
        instance=known.instance,
        row=row,
        status=known.status,
        distance=known.distance,
        seconds=0.0,
        reason=following_reason(known.reason, at=known.eps),
        witness=known.witness,
    )


def _asking(parameters: ForgeryParameters, split: Split, context: Context) -> _Asking:
    """Return what asks about an instance, with its engine ready."""
    warm = _ready(parameters, context.input(JobKind.EMBED, EmbedResult).forest, context)
    signature = attacker_signature(
        parameters.seed,
        number=parameters.signature,
        length=warm.forest.n_trees,
        ones_share=parameters.ones_share,
        repeat=parameters.repeat,
    )
    answer = _minimal(warm, parameters) if parameters.eps == "minimal" else _asked(warm, parameters)
    eps = parameters.cap if parameters.eps == "minimal" else parameters.eps

    for label in context.proved:
        warm.proofs.add((signature.array.tobytes(), label))

    def ask(position: int, row: int) -> ForgeryAnswer:
        query = ForgeryQuery(signature=signature, label=split.y_test[row], centre=split.X_test[row], eps=eps)
        answered = answer(query, position, row)
        if query.pair in warm.proofs:
            context.prove(query.label)
        return answered

    return ask


def _asked(warm: _Warm, parameters: ForgeryParameters) -> _Answering:
    def answer(query: ForgeryQuery, position: int, row: int) -> ForgeryAnswer:
        found = warm.engine.solve(query, timeout_s=parameters.timeout_s, memory_bytes=_memory(parameters))
        return _record(found, found.distance, position, row)

    return answer


def _minimal(warm: _Warm, parameters: ForgeryParameters) -> _Answering:
    def answer(query: ForgeryQuery, position: int, row: int) -> ForgeryAnswer:
        found = warm.minimal.find(query, timeout_s=parameters.timeout_s, memory_bytes=_memory(parameters))
        return _record(found, found.forged_at, position, row)

    return answer


def _memory(parameters: ForgeryParameters) -> int | None:
    return None if parameters.query_memory_mb is None else parameters.query_memory_mb * 2**20


def _record(
    found: ForgeryOutcome | MinimalOutcome, distance: float | None, position: int, row: int
) -> ForgeryAnswer:
    return ForgeryAnswer(
        instance=position,
        row=row,
        status=found.status.value,
        distance=distance,
        seconds=found.seconds,
        reason=found.reason,
        witness=_bytes(found.witness),
    )


def _bytes(witness: NDArray[np.float32] | None) -> bytes | None:
    return None if witness is None else witness.astype("<f4").tobytes()


def _ready(parameters: ForgeryParameters, sha256: str, context: Context) -> _Warm:
    key = parameters.engine, parameters.certify, sha256
    if key not in _warm:
        for other in _warm.values():
            other.engine.close()
        _warm.clear()
        forest = Forest.from_bytes(context.artifact(sha256))
        plain = engines.create(parameters.engine, forest)
        engine = CertifyingEngine(plain, forest) if parameters.certify else plain
        _warm[key] = _Warm(engine, MinimalSearch(forest, engine), forest, plain.whole_domain)
    return _warm[key]
