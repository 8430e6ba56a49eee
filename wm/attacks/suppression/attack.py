"""The suppression attack: spot the trigger rows in a stream, filter them, read the signature off them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from wm.attacks.base import Attack, AttackOptions, Choices, Result, Scene, Streams
from wm.attacks.suppression.filtering import Filtered, filter_and_verify
from wm.attacks.suppression.recovery import BudgetPoint, budget_curve, read_bits
from wm.attacks.suppression.scores import METHODS, SpotScore, evaluate, threshold_at_limit, unusual_leaves
from wm.attacks.suppression.shadow import ShadowPlan, Spotter, train_spotter
from wm.claims.claim import Claim
from wm.codebook import Codebook
from wm.embedding.options import PoolRows
from wm.forest import Forest
from wm.streams import Role

Method = Literal["disagreement", "repeats", "leaves", "shadow"]

_ROWS_PER_TRIGGER = 12
"""Of the attacker's rows, for each trigger row of a shadow model: half of them train it."""

_REFERENCE_ROWS = 1000
"""Largest number of the attacker's rows that leaves are compared with."""

_BUDGET_ROWS = 2000
"""Largest number of ordinary queries in the streams of a query-budget curve."""

_MAX_TRIGGERS = 20
"""Last point of a query-budget curve."""


class Options(AttackOptions):
    """Spotting trigger queries, filtering them, and reading the signature off them."""

    methods: Choices[Method] = ("disagreement", "repeats")
    """How queries are ranked: by disagreement, repeated votes, unusual leaves, or a classifier trained on
    shadow models."""
    shadows: int = Field(default=4, ge=2, le=1_000)
    """Forests that method "shadow" watermarks itself."""
    shadow_rows: PoolRows = Field(default="any", exclude_if=lambda value: value == "any")
    """How they choose trigger rows: any, or such as honest trees are divided on."""
    orders: int = Field(default=10, ge=1, le=1_000)
    """Random orders of the stream that the query-budget curve is averaged over."""


class Row(Filtered, SpotScore):
    """How well one method spots trigger queries, and the effect of acting on it."""

    bits: float | None
    """Share of the signature read off the spotted queries, up to complement, or of the codebook; none where
    none was spotted."""
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
class _Judge:
    """A method with its threshold; `score` takes rows (q, d) and votes (q, m)."""

    method: Method
    score: Callable[[NDArray[np.float32], NDArray[np.int64]], NDArray[np.float64]]
    threshold: float

    def scores(self, stream: _Stream) -> NDArray[np.float64]:
        """Return how suspicious each query is among those of the stream: (q,)."""
        return self.score(stream.X, stream.codes)

    def spot(self, stream: _Stream) -> NDArray[np.bool_]:
        """Return which queries are suspected: (q,)."""
        return self.scores(stream) >= self.threshold


def run(scene: Scene, options: Options, rng: Streams) -> Result:
    """Spot the trigger rows among test rows; then filter them, and read the signature off them.

    The attacker has half of the test rows, for setting thresholds and training shadow models; the other half
    comes as ordinary queries. A score of votes alone is not trained: its ROC curve is that of all test rows.
    """
    split, claim, forest = scene.split, scene.claim, scene.forest
    shuffled = rng.generator(Role.ATTACKER_SHADOWS, "rows").permutation(len(split.y_test))
    own, ordinary = shuffled[: len(shuffled) // 2], shuffled[len(shuffled) // 2 :]
    stream = _stream(forest, split.X_test[ordinary], claim)
    rows = []
    for method in options.methods:
        if method == "shadow":
            spotter = _spotter(scene, own, options, rng)
            judge, judged = _Judge(method, spotter.scores, spotter.threshold), stream
        elif method == "leaves":
            judge, judged = _by_leaves(forest, split.X_test[own]), stream
        else:
            judge = _by_votes(method, forest.vote_codes(split.X_test[own]))
            judged = _stream(forest, split.X_test, claim)
        curve = evaluate(method, judge.scores(judged), judged.is_trigger)
        rows.append(_row(stream, judge, curve, claim, options, rng))
    return Result(rows)


def _stream(forest: Forest, ordinary: NDArray[np.float32], claim: Claim) -> _Stream:
    X = np.concatenate([ordinary, claim.trigger_set.X])
    return _Stream(X, forest.vote_codes(X), np.arange(len(X)) >= len(ordinary))


def _by_votes(method: Method, own_codes: NDArray[np.int64]) -> _Judge:
    score = METHODS[method]
    return _Judge(method, lambda _, codes: score(codes), threshold_at_limit(score(own_codes)))


def _by_leaves(forest: Forest, own: NDArray[np.float32]) -> _Judge:
    reference = forest.apply(own[:_REFERENCE_ROWS])
    return _Judge(
        "leaves",
        lambda X, _: unusual_leaves(forest.apply(X), reference),
        threshold_at_limit(unusual_leaves(reference, reference, is_same=True)),
    )


def _spotter(scene: Scene, own: NDArray[np.int64], options: Options, rng: Streams) -> Spotter:
    # The attacker does not know k: it uses as many trigger rows as it has rows for, up to the true number.
    triggers = max(2, min(len(scene.claim.trigger_set.rows), len(own) // _ROWS_PER_TRIGGER))
    bits = scene.claim.bits
    plan = ShadowPlan(
        n_trees=scene.forest.n_trees,
        caps=scene.caps,
        trigger_rows=triggers,
        shadows=options.shadows,
        scheme=scene.claim.scheme,
        seed=rng.seed,
        repeat=rng.repeat,
        pool_rows=options.shadow_rows,
        ones_share=bits.share if isinstance(bits, Codebook) else None,  # the attacker knows the options
    )
    return train_spotter(scene.split.X_test[own], scene.split.y_test[own], plan)


def _row(
    stream: _Stream, judge: _Judge, curve: SpotScore, claim: Claim, options: Options, rng: Streams
) -> Row:
    signature, spotted = claim.bits, judge.spot(stream)
    filtered = filter_and_verify(stream.codes, stream.is_trigger, spotted, claim.trigger_set.y, signature)
    known = read_bits(stream.codes, stream.is_trigger, np.flatnonzero(spotted), signature)
    ordinary = np.flatnonzero(~stream.is_trigger)[:_BUDGET_ROWS]
    shorter = stream.part(np.concatenate([ordinary, np.flatnonzero(stream.is_trigger)]))
    budget = budget_curve(
        shorter.codes,
        shorter.is_trigger,
        lambda seen: judge.spot(shorter.part(seen)),
        signature,
        rng.generator(Role.ATTACKER_SHADOWS, "orders"),
        orders=options.orders,
        max_triggers=_MAX_TRIGGERS,
    )
    return Row(
        **curve.model_dump(),
        **filtered.model_dump(),
        bits=None if known is None else known.bits,
        null_bits=None if known is None else known.null_bits,
        budget=budget,
    )


ATTACK = Attack(
    kind="suppression",
    summary="Trigger queries spotted in each forest",
    options=Options,
    row=Row,
    run=run,
    version=2,
)
