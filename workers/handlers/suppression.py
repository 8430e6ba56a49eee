"""Job kind `suppression`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray

from wm import streams
from wm.attacks.detection import score_guess
from wm.attacks.suppression import (
    METHODS,
    ShadowPlan,
    Spot,
    Spotter,
    budget_curve,
    evaluate,
    filter_and_verify,
    recover_signature,
    spot_by_votes,
    threshold_at_limit,
    train_spotter,
)
from wm.attacks.suppression import SuppressionResult as Curve
from wm.claims.claim import Claim
from wm.datasets import Split
from wm.embedding.training import Caps
from wm.forest import Forest
from wm.streams import Role
from workers.handlers.inputs import read_claim, read_forest, read_split
from workers.jobs import (
    BaselineResult,
    BudgetRow,
    JobKind,
    SuppressionMethod,
    SuppressionParameters,
    SuppressionResult,
    SuppressionRow,
)
from workers.runtime.context import Context

_ROWS_PER_TRIGGER = 12
"""Of the attacker's rows, for each trigger row of a shadow model: half of them train it."""

_BUDGET_ROWS = 2000
"""Most ordinary queries in the streams of a query-budget curve."""

_MOST_TRIGGERS = 20
"""Last point of a query-budget curve."""


@dataclass(frozen=True, eq=False)
class _Stream:
    """Ordinary and trigger queries, with the suspect's votes and the truth."""

    X: NDArray[np.float32]
    codes: NDArray[np.int64]
    is_trigger: NDArray[np.bool_]

    def part(self, rows: NDArray[np.int64]) -> _Stream:
        """Return some of the queries, in the given order."""
        return _Stream(self.X[rows], self.codes[rows], self.is_trigger[rows])


@dataclass(frozen=True, eq=False)
class _Judgement:
    """How a method tells triggers apart, what it suspects of a stream, and of the queries seen so far."""

    curve: Curve
    spotted: NDArray[np.bool_]
    spot: Callable[[_Stream], Spot]


def run(parameters: SuppressionParameters, context: Context) -> SuppressionResult:
    """Spot the trigger rows among test rows; then filter them, and read the signature off them.

    The attacker has half of the test rows, which thresholds are set and shadow models trained on; the other
    half comes as ordinary queries.
    """
    split, claim, forest = read_split(context), read_claim(context), read_forest(context)
    shuffled = streams.generator(
        parameters.seed, Role.ATTACKER_SHADOWS, parameters.repeat, "rows"
    ).permutation(len(split.y_test))
    own, ordinary = shuffled[: len(shuffled) // 2], shuffled[len(shuffled) // 2 :]
    stream = _stream(forest, split.X_test[ordinary], claim)
    rows = []
    for method in parameters.methods:
        if method == "shadow":
            judged = _by_shadow(_spotter(split, own, forest, claim, parameters, context), stream)
        else:
            everything = _stream(forest, split.X_test, claim)
            judged = _by_votes(method, everything, forest.vote_codes(split.X_test[own]), stream)
        rows.append(_row(stream, judged, claim, parameters))
    return SuppressionResult(rows=tuple(rows))


def _stream(forest: Forest, ordinary: NDArray[np.float32], claim: Claim) -> _Stream:
    X = np.concatenate([ordinary, claim.trigger_set.X])
    return _Stream(X, forest.vote_codes(X), np.arange(len(X)) >= len(ordinary))


def _by_votes(
    method: SuppressionMethod, everything: _Stream, own_codes: NDArray[np.int64], stream: _Stream
) -> _Judgement:
    """Judge by the votes alone; nothing is trained, so the ROC curve is that of all test rows."""
    score = METHODS[method]
    threshold = threshold_at_limit(score(own_codes))
    # `spot_by_votes` asks for more than its threshold, this one is the least that is suspected.
    below = float(np.nextafter(threshold, -np.inf))
    return _Judgement(
        evaluate(method, score(everything.codes), everything.is_trigger),
        score(stream.codes) >= threshold,
        lambda part: spot_by_votes(part.codes, score, below),
    )


def _by_shadow(spotter: Spotter, stream: _Stream) -> _Judgement:
    def spot(part: _Stream) -> Spot:
        def judge(seen: NDArray[np.int64]) -> NDArray[np.bool_]:
            suspected: NDArray[np.bool_] = spotter.scores(part.X[seen], part.codes[seen]) >= spotter.threshold
            return suspected

        return judge

    scores = spotter.scores(stream.X, stream.codes)
    return _Judgement(evaluate("shadow", scores, stream.is_trigger), scores >= spotter.threshold, spot)


def _spotter(
    split: Split,
    own: NDArray[np.int64],
    forest: Forest,
    claim: Claim,
    parameters: SuppressionParameters,
    context: Context,
) -> Spotter:
    baseline = context.input(JobKind.BASELINE, BaselineResult)
    # The attacker does not know k: it marks as many rows as its own can spare, up to the true share.
    triggers = max(2, min(len(claim.trigger_set.rows), len(own) // _ROWS_PER_TRIGGER))
    plan = ShadowPlan(
        n_trees=forest.n_trees,
        caps=Caps(baseline.cap_depth, baseline.cap_leaves),
        trigger_rows=triggers,
        shadows=parameters.shadows,
        scheme=claim.scheme,
        seed=parameters.seed,
        repeat=parameters.repeat,
    )
    return train_spotter(split.X_test[own], split.y_test[own], plan)


def _row(
    stream: _Stream, judged: _Judgement, claim: Claim, parameters: SuppressionParameters
) -> SuppressionRow:
    signature, spotted = claim.bits, judged.spotted
    filtered = filter_and_verify(
        judged.curve.method, stream.codes, stream.is_trigger, spotted, claim.trigger_set.y, signature
    )
    guess = recover_signature(stream.codes[spotted])
    scored = None if guess is None else score_guess(guess, signature)
    rng = streams.generator(parameters.seed, Role.ATTACKER_SHADOWS, parameters.repeat, "orders")
    ordinary = np.flatnonzero(~stream.is_trigger)[:_BUDGET_ROWS]
    shorter = stream.part(np.concatenate([ordinary, np.flatnonzero(stream.is_trigger)]))
    budget = budget_curve(
        shorter.codes,
        shorter.is_trigger,
        judged.spot(shorter),
        signature,
        rng,
        orders=parameters.orders,
        most=_MOST_TRIGGERS,
    )
    return SuppressionRow(
        **asdict(judged.curve),
        triggers_spotted=filtered.triggers_spotted,
        ordinary_touched=filtered.ordinary_touched,
        ordinary_votes_changed=filtered.ordinary_votes_changed,
        log10_p_before=filtered.evidence_before.log10_p,
        log10_p_after=filtered.evidence.log10_p,
        bits=None if scored is None else scored.bits,
        null_bits=None if scored is None else scored.null_bits,
        budget=tuple(BudgetRow(**asdict(point)) for point in budget),
    )
