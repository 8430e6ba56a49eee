"""Job kind `forgery`: one batch of queries, continued slice by slice."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from wm import engines
from wm.attacks.forgery import attacker_instances, attacker_signature
from wm.attacks.forgery.following import settles
from wm.datasets import Split
from wm.engines import ForgeryOutcome, ForgeryQuery, Status
from wm.engines.certification import CertifyingEngine
from wm.engines.isolated import IsolatedEngine
from wm.engines.minimal import MinimalOutcome, MinimalSearch
from wm.engines.whole_domain import WholeDomainProofs
from wm.forest import Forest
from workers.handlers.inputs import read_split
from workers.jobs import (
    EmbedResult,
    ForgeryAnswer,
    ForgeryParameters,
    ForgeryResult,
    ForgeryState,
    GlobalProof,
    JobKind,
)
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


def run(parameters: ForgeryParameters, context: Context) -> ForgeryResult | None:
    """Answer what is unanswered of the batch; None when the slice is over before that.

    What follows from a known answer at another distance is not asked; where all does, no engine is started.
    """
    split = read_split(context)
    state = context.state(ForgeryState)
    end = parameters.first + parameters.count
    shuffled = attacker_instances(
        parameters.seed, rows=len(split.y_test), count=end, repeat=parameters.repeat
    )
    left = [position for position in range(parameters.first, end) if position not in state.answered]
    following = _following(parameters, state)
    ask: _Asking | None = None
    for number, position in enumerate(left):
        if position in following:
            context.record(following[position])
        else:
            ask = ask or _asking(parameters, split, state, context)
            context.record(ask(position, int(shuffled[position])))
        if context.slice_over() and number + 1 < len(left):
            return None
    return ForgeryResult(instances=parameters.count)


def _following(parameters: ForgeryParameters, state: ForgeryState) -> dict[int, ForgeryAnswer]:
    """Return by instance the answers that follow from known ones; each names the one that was asked for."""
    if parameters.eps == "minimal":
        return {}
    found = {}
    for known in state.known:
        answer = known.answer
        if settles(Status(answer.status), at=known.eps, eps=parameters.eps):
            origin = known.eps if answer.followed_from is None else answer.followed_from
            found[answer.instance] = replace(answer, seconds=0.0, followed_from=origin)
    return found


def _asking(parameters: ForgeryParameters, split: Split, state: ForgeryState, context: Context) -> _Asking:
    """Return what asks about an instance, with its engine ready."""
    warm = _ready(parameters, context.input(JobKind.EMBED, EmbedResult).forest, context)
    signature = attacker_signature(
        parameters.seed,
        number=parameters.signature,
        length=warm.forest.n_trees,
        ones_share=parameters.ones_share,
        repeat=parameters.repeat,
    )
    eps = parameters.cap if parameters.eps == "minimal" else parameters.eps
    proved = set(state.proved)
    for label in proved:
        warm.proofs.add((signature.array.tobytes(), label))

    def ask(position: int, row: int) -> ForgeryAnswer:
        query = ForgeryQuery(signature=signature, label=split.y_test[row], centre=split.X_test[row], eps=eps)
        answer = _answer(warm, parameters, query, position, row)
        if query.pair in warm.proofs and query.label not in proved:
            proved.add(query.label)
            context.record(GlobalProof(query.label), at_once=True)
        return answer

    return ask


def _answer(
    warm: _Warm, parameters: ForgeryParameters, query: ForgeryQuery, position: int, row: int
) -> ForgeryAnswer:
    memory = None if parameters.query_memory_mb is None else parameters.query_memory_mb * 2**20
    found: ForgeryOutcome | MinimalOutcome
    if parameters.eps == "minimal":
        found = warm.minimal.find(query, timeout_s=parameters.timeout_s, memory_bytes=memory)
        distance, certified = found.forged_at, None
    else:
        found = warm.engine.solve(query, timeout_s=parameters.timeout_s, memory_bytes=memory)
        distance, certified = found.distance, found.certified
    return ForgeryAnswer(
        instance=position,
        row=row,
        status=found.status.value,
        distance=distance,
        seconds=found.seconds,
        reason=found.reason,
        witness=None if found.witness is None else found.witness.astype("<f4").tobytes(),
        certified=certified,
    )


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
