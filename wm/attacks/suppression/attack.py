"""The suppression attack: spot the trigger rows in a stream, filter them, read the signature off them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from wm.attacks.base import (
    Attack,
    AttackOptions,
    AttackRow,
    Distinct,
    OneOrMore,
    Result,
    Scene,
    Several,
    Streams,
)
from wm.attacks.detection.guesses import score_guess
from wm.attacks.suppression.filtering import filter_and_verify
from wm.attacks.suppression.recovery import (
    BudgetPoint,
    Spot,
    budget_curve,
    recover_signature,
    spot_by_votes,
)
from wm.attacks.suppression.scores import METHODS, SuppressionResult, evaluate, threshold_at_limit
from wm.attacks.suppression.shadow import ShadowPlan, Spotter, train_spotter
from wm.claims.claim import Claim
from wm.forest import Forest
from wm.streams import Role

Method = Literal["disagreement", "repeats", "shadow"]

_ROWS_PER_TRIGGER = 12
"""Of the attacker's rows, for each trigger row of a shadow model: half of them train it."""

_BUDGET_ROWS = 2000
"""Most ordinary queries in the streams of a query-budget curve."""

_MOST_TRIGGERS = 20
"""Last point of a query-budget curve."""


class Options(AttackOptions):
    """Spotting trigger queries, filtering them, and reading the signature off them."""

    methods: Annotated[tuple[Method, ...], OneOrMore, Several, Distinct] = ("disagreement", "repeats")
    """How queries are ranked: by disagreement, repeated votes, or a classifier trained on shadow models."""
    shadows: int = Field(default=4, ge=2, le=1_000)
    """Forests that method "shadow" watermarks itself."""
    orders: int = Field(default=10, ge=1, le=1_000)
    """Random orders of the stream that the query-budget curve is averaged over."""


class Row(AttackRow):
    """How well one method spots, and what it is good for."""

    method: str
    """How queries are ranked."""
    auc: float
    """Area under the ROC curve; 0.5 is chance."""
    tpr_at_1pct_fpr: float
    """Share of trigger queries spotted at a threshold that suspects at most 1% of ordinary ones."""
    triggers: int
    """Trigger queries."""
    ordinary: int
    """Ordinary queries."""
    false_positive_rate: tuple[float, ...]
    """Corners of the ROC curve, ascending."""
    true_positive_rate: tuple[float, ...]
    """The same."""
    triggers_spotted: float
    """Share of trigger queries that the filter catches, at a threshold set on the attacker's own rows."""
    ordinary_touched: float
    """Share of ordinary queries that it catches."""
    ordinary_votes_changed: float
    """Share of all votes on ordinary queries that it changes."""
    log10_p_before: float
    """Evidence of the claim without the filter, as log10 p."""
    log10_p_after: float
    """Evidence on the filtered answers."""
    bits: float | None
    """Share of the signature read off the spotted queries, up to complement; none where none was spotted."""
    null_bits: float | None
    """Mean of that share for an unrelated guess."""
    budget: tuple[BudgetPoint, ...]
    """Bits known after 1, 2, 3, ... trigger queries."""


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

    curve: SuppressionResult
    spotted: NDArray[np.bool_]
    spot: Callable[[_Stream], Spot]


def run(scene: Scene, options: Options, rng: Streams) -> Result:
    """Spot the trigger rows among test rows; then filter them, and read the signature off them.

    The attacker has half of the test rows, which thresholds are set and shadow models trained on; the other
    half comes as ordinary queries.
    """
    split, claim, forest = scene.split, scene.claim, scene.forest
    shuffled = rng.generator(Role.ATTACKER_SHADOWS, "rows").permutation(len(split.y_test))
    own, ordinary = shuffled[: len(shuffled) // 2], shuffled[len(shuffled) // 2 :]
    stream = _stream(forest, split.X_test[ordinary], claim)
    rows = []
    for method in options.methods:
        if method == "shadow":
            judged = _by_shadow(_spotter(scene, own, options, rng), stream)
        else:
            everything = _stream(forest, split.X_test, claim)
            judged = _by_votes(method, everything, forest.vote_codes(split.X_test[own]), stream)
        rows.append(_row(stream, judged, claim, options, rng))
    return Result(rows)


def _stream(forest: Forest, ordinary: NDArray[np.float32], claim: Claim) -> _Stream:
    X = np.concatenate([ordinary, claim.trigger_set.X])
    return _Stream(X, forest.vote_codes(X), np.arange(len(X)) >= len(ordinary))


def _by_votes(
    method: Method, everything: _Stream, own_codes: NDArray[np.int64], stream: _Stream
) -> _Judgement:
    """Judge by the votes alone; nothing is trained, so the ROC curve is that of all test rows."""
    score = METHODS[method]
    threshold = threshold_at_limit(score(own_codes))
    # `spot_by_votes` asks for more than its threshold, this one is the smallest that is suspected.
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


def _spotter(scene: Scene, own: NDArray[np.int64], options: Options, rng: Streams) -> Spotter:
    # The attacker does not know k: it marks as many rows as its own can spare, up to the true share.
    triggers = max(2, min(len(scene.claim.trigger_set.rows), len(own) // _ROWS_PER_TRIGGER))
    plan = ShadowPlan(
        n_trees=scene.forest.n_trees,
        caps=scene.caps,
        trigger_rows=triggers,
        shadows=options.shadows,
        scheme=scene.claim.scheme,
        seed=rng.seed,
        repeat=rng.repeat,
    )
    return train_spotter(scene.split.X_test[own], scene.split.y_test[own], plan)


def _row(stream: _Stream, judged: _Judgement, claim: Claim, options: Options, rng: Streams) -> Row:
    signature, spotted = claim.bits, judged.spotted
    filtered = filter_and_verify(
        judged.curve.method, stream.codes, stream.is_trigger, spotted, claim.trigger_set.y, signature
    )
    guess = recover_signature(stream.codes[spotted])
    scored = None if guess is None else score_guess(guess, signature)
    ordinary = np.flatnonzero(~stream.is_trigger)[:_BUDGET_ROWS]
    shorter = stream.part(np.concatenate([ordinary, np.flatnonzero(stream.is_trigger)]))
    budget = budget_curve(
        shorter.codes,
        shorter.is_trigger,
        judged.spot(shorter),
        signature,
        rng.generator(Role.ATTACKER_SHADOWS, "orders"),
        orders=options.orders,
        most=_MOST_TRIGGERS,
    )
    return Row(
        **asdict(judged.curve),
        triggers_spotted=filtered.triggers_spotted,
        ordinary_touched=filtered.ordinary_touched,
        ordinary_votes_changed=filtered.ordinary_votes_changed,
        log10_p_before=filtered.evidence_before.log10_p,
        log10_p_after=filtered.evidence.log10_p,
        bits=None if scored is None else scored.bits,
        null_bits=None if scored is None else scored.null_bits,
        budget=budget,
    )


ATTACK = Attack(
    kind="suppression",
    summary="How well trigger queries are spotted in each forest",
    options=Options,
    row=Row,
    run=run,
    version=2,
)
