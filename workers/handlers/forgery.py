"""Job kind `forgery`: one batch of queries, continued slice by slice."""

from __future__ import annotations

import numpy as np

from wm import engines
from wm.attacks.forgery import Target, attacker_instances, attacker_signature, forge
from wm.engines.isolated import IsolatedEngine
from wm.forest import Forest
from workers.context import Context
from workers.handlers.inputs import read_split
from workers.jobs import EmbedResult, ForgeryAnswer, ForgeryParameters, ForgeryResult, JobKind

_warm: dict[tuple[str, str], IsolatedEngine] = {}
"""The engine used last, by (name, forest): the next batch is most often for the same."""


def run(parameters: ForgeryParameters, context: Context) -> ForgeryResult | None:
    """Answer what is unanswered of the batch; None when the slice is over before that."""
    embedded = context.input(JobKind.EMBED, EmbedResult)
    split = read_split(context)
    engine, forest = _engine(parameters.engine, embedded.forest, context)
    end = parameters.first + parameters.count
    shuffled = attacker_instances(
        parameters.seed, rows=len(split.y_test), count=end, repeat=parameters.repeat
    )
    signature = attacker_signature(
        parameters.seed,
        number=parameters.signature,
        length=forest.n_trees,
        ones_share=parameters.ones_share,
        repeat=parameters.repeat,
    )
    positions = np.arange(parameters.first, len(shuffled))
    left = [int(position) for position in positions if int(position) not in context.answered]
    rows = shuffled[left]
    target = Target(split.X_test[rows], split.y_test[rows], signature, parameters.eps)
    memory = None if parameters.query_memory_mb is None else parameters.query_memory_mb * 2**20
    done = forge(engine, target, timeout_s=parameters.timeout_s, memory_bytes=memory)
    for number, outcome in enumerate(done):
        context.answer(
            ForgeryAnswer(
                instance=left[number],
                row=int(rows[number]),
                status=outcome.status.value,
                distance=outcome.distance,
                seconds=outcome.seconds,
                reason=outcome.reason,
                witness=None if outcome.witness is None else outcome.witness.astype("<f4").tobytes(),
            )
        )
        if context.slice_over() and number + 1 < len(left):
            context.flush()
            return None
    return ForgeryResult(instances=len(positions))


def _engine(name: str, sha256: str, context: Context) -> tuple[IsolatedEngine, Forest]:
    forest = Forest.from_bytes(context.artifact(sha256))
    if (name, sha256) not in _warm:
        for engine in _warm.values():
            engine.close()
        _warm.clear()
        _warm[name, sha256] = engines.create(name, forest)
    return _warm[name, sha256], forest
