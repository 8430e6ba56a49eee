"""Job kind `forgery`: one batch of queries, continued slice by slice."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from wm.attacks.forgery import Forger, attacker_instances, attacker_signature
from wm.attacks.forgery.following import settles
from wm.datasets import Split
from wm.engines import ForgeryQuery, Status
from wm.forest import Forest
from workers.handlers.steps import read_split
from workers.jobs.forging import ForgeryAnswer, ForgeryParameters, ForgeryResult, ForgeryState, GlobalProof
from workers.jobs.kinds import JobKind
from workers.jobs.owner import EmbedResult
from workers.runtime.context import Context

_ready: dict[tuple[object, ...], Forger] = {}
"""The engine used last, by name, options, certify, limits and forest: the next batch mostly uses the same."""

_Answer = Callable[[int, int], ForgeryAnswer]
"""Takes an instance's position and row."""


def run(parameters: ForgeryParameters, context: Context) -> ForgeryResult | None:
    """Answer the open queries of the batch; None when the slice is over before that.

    An answer that follows from a known one at another distance is not computed; if all do, no engine is
    started.
    """
    split = read_split(context)
    state = context.state(ForgeryState)
    end = parameters.first + parameters.count
    shuffled = attacker_instances(
        parameters.seed, rows=len(split.y_test), count=end, repeat=parameters.repeat
    )
    left = [position for position in range(parameters.first, end) if position not in state.answered]
    following = _following(parameters, state)
    answer: _Answer | None = None
    for number, position in enumerate(left):
        if position in following:
            context.record(following[position])
        else:
            answer = answer or _answer(parameters, split, state, context)
            context.record(answer(position, int(shuffled[position])))
        if context.slice_over() and number + 1 < len(left):
            return None
    return ForgeryResult(instances=parameters.count)


def _following(parameters: ForgeryParameters, state: ForgeryState) -> dict[int, ForgeryAnswer]:
    """Return by instance the answers that follow from known ones; each names the distance computed."""
    if parameters.eps == "minimal":
        return {}
    found = {}
    for known in state.known:
        answer = known.answer
        if settles(Status(answer.status), at=known.eps, eps=parameters.eps):
            origin = known.eps if answer.followed_from is None else answer.followed_from
            found[answer.instance] = replace(answer, seconds=0.0, followed_from=origin)
    return found


def _answer(parameters: ForgeryParameters, split: Split, state: ForgeryState, context: Context) -> _Answer:
    """Return a function that answers the query of an instance, with its engine ready."""
    forger = _forger(parameters, context.input(JobKind.EMBED, EmbedResult).forest, context)
    signature = attacker_signature(
        parameters.seed,
        number=parameters.signature,
        length=forger.forest.n_trees,
        ones_share=parameters.ones_share,
        repeat=parameters.repeat,
    )
    solve = forger.nearest if parameters.eps == "minimal" else forger.ask
    eps = parameters.cap if parameters.eps == "minimal" else parameters.eps
    proved = set(state.proved)
    for label in proved:
        forger.proofs.add((signature.array.tobytes(), label))

    def answer(position: int, row: int) -> ForgeryAnswer:
        query = ForgeryQuery(signature=signature, label=split.y_test[row], centre=split.X_test[row], eps=eps)
        found = solve(query)
        if query.pair in forger.proofs and query.label not in proved:
            proved.add(query.label)
            context.record(GlobalProof(query.label), at_once=True)
        return ForgeryAnswer(
            instance=position,
            row=row,
            status=found.status.value,
            distance=found.distance,
            seconds=found.seconds,
            reason=found.reason,
            witness=None if found.witness is None else found.witness.astype("<f4").tobytes(),
            certified=found.certified,
        )

    return answer


def _forger(parameters: ForgeryParameters, sha256: str, context: Context) -> Forger:
    options, timeout_s = parameters.engine_options, parameters.timeout_s
    memory = None if parameters.query_memory_mb is None else parameters.query_memory_mb * 2**20
    key = parameters.engine, tuple(sorted(options.items())), parameters.certify, timeout_s, memory, sha256
    if key not in _ready:
        for other in _ready.values():
            other.close()
        _ready.clear()
        forest = Forest.from_bytes(context.artifact(sha256))
        _ready[key] = Forger(
            forest,
            parameters.engine,
            timeout_s=timeout_s,
            memory_bytes=memory,
            certify=parameters.certify,
            options=options,
        )
    return _ready[key]
