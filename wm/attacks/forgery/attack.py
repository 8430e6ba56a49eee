"""The forgery attack: its options, and its queries answered one after another in this process."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from typing import Annotated, Literal

from pydantic import Discriminator, Field, Tag, model_validator

from wm import engines
from wm.attacks.base import (
    Attack,
    AttackOptions,
    AttackRow,
    Choices,
    ClosedShare,
    Distance,
    Result,
    Scene,
    Streams,
    Timeout,
    known,
)
from wm.attacks.forgery.forger import Forger, Target, attacker_instances, attacker_signature
from wm.engines import ForgeryOutcome, Status
from wm.errors import QueryError

Minimal = Literal["minimal"]
"""In place of a distance: find for each instance the smallest one at which it can be forged."""

WORD, NUMBERS = "<word>", "<numbers>"
"""Tags of `Distances`, which no key of a file can be."""

Distances = Annotated[
    Annotated[Minimal, Tag(WORD)] | Annotated[Choices[Distance], Tag(NUMBERS)],
    Discriminator(lambda value: WORD if isinstance(value, str) else NUMBERS),
]
"""Distinguished by type first: a fault in a list is then not also reported as a wrong word."""

DOMAIN = 1.0
"""Largest distance searched where no cap is given: all of [0, 1], for an instance inside it."""

BATCH = 100
"""Forgery queries of one job, by default."""


class Options(AttackOptions):
    """Forgery of prescribed signatures by a solver."""

    engine: Choices[Annotated[str, known("engine", engines.names())]] = ("portfolio",)
    """Which solvers answer."""
    signatures: int = Field(default=10, ge=1, le=100_000)
    """Random signatures that the attacker tries."""
    ones_share: ClosedShare = 0.5
    """Share of ones of each."""
    eps: Distances
    """Largest change of any feature; or "minimal": the smallest at which each instance can be forged."""
    cap: float | None = Field(default=None, ge=0, le=1)
    """Largest distance looked at with "minimal"; 1 unless given."""
    certify: bool = False
    """Have every "impossible" confirmed by a checked proof."""
    timeout_s: Timeout = 60.0
    """Limit on each query in seconds."""
    memory_mb: int | None = Field(default=None, ge=1)
    """Limit on each query's memory."""
    instances: int | None = Field(default=None, ge=1)
    """Test rows tried for each signature and distance; as many as the trigger set has unless given."""
    batch: int = Field(default=BATCH, ge=1, le=10_000)
    """Queries that are one job."""
    engine_options: dict[str, dict[str, bool | int | float | str]] = Field(
        default={}, exclude_if=operator.not_
    )
    """Options of engines by their names, as in { z3 = { margin = 1e-4 } }."""

    @model_validator(mode="after")
    def _options_have_a_meaning(self) -> Options:
        if self.cap is not None and self.eps != "minimal":
            raise ValueError('cap goes with eps = "minimal": leave it out')
        if self.certify and self.eps == "minimal":
            raise ValueError("certify proves single answers, not minimal distances: give eps as numbers")
        for name, values in self.engine_options.items():
            if name not in self.engine:
                raise ValueError(f"engine_options names {name}, which is not among the engines")
            try:
                engines.options_model(name).of(values, engine=name)
            except QueryError as reason:
                raise ValueError(f"engine_options: {reason}") from reason
        return self

    @property
    def distances(self) -> tuple[float | Minimal, ...]:
        """Distances of the queries, ascending; the one word "minimal" where the smallest are searched."""
        return ("minimal",) if self.eps == "minimal" else tuple(sorted(self.eps))

    @property
    def largest_distance(self) -> float:
        """Largest distance that is searched with "minimal"."""
        return DOMAIN if self.cap is None else self.cap

    def overlaps(self, other: Options) -> bool:
        """Return whether two attacks pose different queries to one engine at one distance."""
        return (
            not set(self.engine).isdisjoint(other.engine)
            and not set(self.distances).isdisjoint(other.distances)
            and any(
                getattr(self, name) != getattr(other, name)
                for name in Options.model_fields.keys() - {"engine", "eps", "signatures"}
            )
        )

    def problems(self, rows_test: int) -> Iterator[tuple[str, str]]:
        """Yield each option that needs more than the given number of test rows."""
        if (self.instances or 0) > rows_test:
            yield "instances", f"{self.instances} is more than the {rows_test} test rows"


class Row(AttackRow):
    """Outcomes for one engine, signature and distance."""

    signature: int
    """Number of the attacker's signature."""
    eps: float | None
    """Largest change of any feature; none where the smallest distances were sought."""
    engine: str
    """Which solver answered."""
    instances: int
    """Queries planned; the five outcomes add up to fewer while some are pending."""
    trigger_size: int | None
    """Size of the true trigger set, which the forged set is compared with."""
    forged: int
    """Size of the forged trigger set: instances found and replayed on the model."""
    impossible: int
    """Queries that provably have no answer."""
    timeout: int
    """Queries ended by the time limit."""
    memout: int
    """Queries ended by the memory limit."""
    error: int
    """Queries ended by a fault."""
    seconds: float
    """Total solving time."""
    slowest_seconds: float | None
    """Longest solving time; none where every answer follows from another distance."""
    mean_distance: float | None
    """Mean distance of the forged instances."""
    followed: int
    """Answers that follow from those at another distance, and were not computed."""
    certified: int
    """Answers "impossible" that a checked proof confirms."""


def run(scene: Scene, options: Options, rng: Streams) -> Result:
    """Forge every signature at every distance, with the same queries as a campaign's jobs."""
    memory = None if options.memory_mb is None else options.memory_mb * 2**20
    rows: list[Row] = []
    for name in options.engine:
        with Forger(
            scene.forest,
            name,
            timeout_s=options.timeout_s,
            memory_bytes=memory,
            certify=options.certify,
            options=options.engine_options.get(name),
        ) as forger:
            for number in range(options.signatures):
                rows += [
                    _row(number, eps, name, outcomes, len(scene.claim.trigger_set.rows))
                    for eps, outcomes in _of_signature(scene, options, rng, forger, number)
                ]
    return Result(rows)


def _of_signature(
    scene: Scene, options: Options, rng: Streams, forger: Forger, number: int
) -> Iterator[tuple[float | None, list[ForgeryOutcome]]]:
    """Yield each distance with the outcomes of all instances."""
    split = scene.split
    count = min(options.instances or len(scene.claim.trigger_set.rows), len(split.y_test))
    chosen = attacker_instances(rng.seed, rows=len(split.y_test), count=count, repeat=rng.repeat)
    signature = attacker_signature(
        rng.seed, number=number, length=scene.n_trees, ones_share=options.ones_share, repeat=rng.repeat
    )
    target = Target(split.X_test[chosen], split.y_test[chosen], signature, options.largest_distance)
    if options.eps == "minimal":
        yield None, [forger.nearest(query) for query in target.queries()]
        return
    distances = sorted(options.eps)
    found = [forger.over_distances(query, distances) for query in target.queries()]
    for place, eps in enumerate(distances):
        yield eps, [outcomes[place] for outcomes in found]


def _row(
    number: int, eps: float | None, engine: str, outcomes: Sequence[ForgeryOutcome], trigger_size: int
) -> Row:
    counts = {status.value: sum(one.status is status for one in outcomes) for status in Status}
    distances = [one.distance for one in outcomes if one.distance is not None]
    asked = [one.seconds for one in outcomes if one.followed_from is None]
    return Row.model_validate(
        counts
        | {
            "signature": number,
            "eps": eps,
            "engine": engine,
            "instances": len(outcomes),
            "trigger_size": trigger_size,
            "seconds": sum(asked),
            "slowest_seconds": max(asked, default=None),
            "mean_distance": sum(distances) / len(distances) if distances else None,
            "followed": len(outcomes) - len(asked),
            "certified": sum(bool(one.certified) for one in outcomes),
        }
    )


ATTACK = Attack(
    kind="forgery",
    summary="Counts of forgery outcomes for each signature and distance",
    options=Options,
    row=Row,
    run=run,
    version=3,
    is_queried=True,
)
