"""The attacks of a campaign file; each `[[attack]]` table is one of these, told apart by its `kind`."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import BeforeValidator, Discriminator, Field, Tag, model_validator

from orchestrator.spec.base import Distance, Distinct, OneOrMore, Several, SpecModel, known
from orchestrator.spec.model import EmbeddingSpec, Point
from wm import engines
from wm.attacks.modification import MODIFICATIONS, STRENGTHS
from workers.jobs import ClosedShare, DetectionMethod, FreeForgeryMethod, Minimal, Share, SuppressionMethod

WORD, NUMBERS = "<word>", "<numbers>"
"""Tags of `Distances`, which no key of a file can be."""

Engine = Annotated[str, known("engine", engines.names())]
Distances = Annotated[
    Annotated[Minimal, Tag(WORD)]
    | Annotated[tuple[Distance, ...], OneOrMore, Several, Distinct, Tag(NUMBERS)],
    Discriminator(lambda value: WORD if isinstance(value, str) else NUMBERS),
]
"""Told apart by type first, so that a fault in a list is not also called a wrong word."""

Timeout = Annotated[float, Field(gt=0, le=1e6)]


class OnlySpec(SpecModel):
    """Restricts an attack to part of the grid; a list left out restricts nothing."""

    scheme: Annotated[tuple[str, ...], OneOrMore] | None = None
    trigger_share: Annotated[tuple[float, ...], OneOrMore] | None = None
    ones_share: Annotated[tuple[float, ...], OneOrMore] | None = None
    repeats: int | None = Field(default=None, ge=1)

    def admits(self, scheme: str, trigger_share: float, ones_share: float, repeat: int) -> bool:
        """Return whether a point of the grid is attacked."""
        return (
            (self.scheme is None or scheme in self.scheme)
            and (self.trigger_share is None or trigger_share in self.trigger_share)
            and (self.ones_share is None or ones_share in self.ones_share)
            and (self.repeats is None or repeat < self.repeats)
        )

    def points(self, grid: EmbeddingSpec) -> Iterator[Point]:
        """Yield each point that is attacked."""
        for point in grid.points():
            if self.admits(*point, repeat=0):
                yield point


class _AttackSpec(SpecModel):
    """An attack on every watermark of the grid, or on those of `only`."""

    kind: str
    only: OnlySpec = OnlySpec()

    def meets(self, other: SpecModel, grid: EmbeddingSpec) -> bool:
        """Return whether two attacks of one kind would mix different results at one point of the grid."""
        return (
            isinstance(other, _AttackSpec)
            and self.kind == other.kind
            and not set(self.only.points(grid)).isdisjoint(other.only.points(grid))
            and self.model_copy(update={"only": other.only}) != other
        )


class LeakageSpec(_AttackSpec):
    """What the model files give away: as trained, as released, and the honest forest's."""

    kind: Literal["leakage"]


class DetectionSpec(_AttackSpec):
    """Reading the signature off the bare forest, or that there is one.

    `honest` is the number of honest forests, trained for each watermark, that "presence" compares with.
    """

    kind: Literal["detection"]
    methods: Annotated[tuple[DetectionMethod, ...], OneOrMore, Several, Distinct] = (
        "strategies",
        "shapes",
        "spectrum",
    )
    honest: int = Field(default=49, ge=2, le=10_000)


class SuppressionSpec(_AttackSpec):
    """Spotting trigger queries, filtering them, and reading the signature off them.

    `shadows` is the number of forests that method "shadow" watermarks itself; `orders` that of the random
    orders behind the query-budget curve.
    """

    kind: Literal["suppression"]
    methods: Annotated[tuple[SuppressionMethod, ...], OneOrMore, Several, Distinct] = (
        "disagreement",
        "repeats",
    )
    shadows: int = Field(default=4, ge=2, le=1_000)
    orders: int = Field(default=10, ge=1, le=1_000)


BATCH = 100
"""Forgery queries of one job where nothing else is asked for."""


class ForgerySpec(_AttackSpec):
    """Forgery of prescribed signatures by a solver.

    `instances` is the number of test rows tried per signature and distance, by default the trigger set's.
    With `eps = "minimal"` the least distance of each is sought, at most `cap`: the answers to all distances.
    `certify` has every "impossible" confirmed by a checked proof. `batch` queries are one job.
    """

    kind: Literal["forgery"]
    engine: Annotated[tuple[Engine, ...], OneOrMore, Several, Distinct] = ("portfolio",)
    signatures: int = Field(default=10, ge=1, le=100_000)
    ones_share: ClosedShare = 0.5
    eps: Distances
    cap: float | None = Field(default=None, ge=0, le=1)
    certify: bool = False
    timeout_s: Timeout = 60.0
    memory_mb: int | None = Field(default=None, ge=1)
    instances: int | None = Field(default=None, ge=1)
    batch: int = Field(default=BATCH, ge=1, le=10_000)

    @model_validator(mode="after")
    def _options_have_a_meaning(self) -> ForgerySpec:
        if self.cap is not None and self.eps != "minimal":
            raise ValueError('cap goes with eps = "minimal": leave it out')
        if self.certify and self.eps == "minimal":
            raise ValueError("certify proves single answers, not least distances: give eps as numbers")
        return self

    @property
    def distances(self) -> tuple[float | Minimal, ...]:
        """The distances asked about, ascending; the one word "minimal" where the least ones are sought."""
        return ("minimal",) if self.eps == "minimal" else tuple(sorted(self.eps))

    def meets(self, other: SpecModel, grid: EmbeddingSpec) -> bool:
        """Return whether two attacks ask other questions about one engine, distance and watermark."""
        questions = ("ones_share", "timeout_s", "memory_mb", "instances", "cap", "certify", "batch")
        return (
            isinstance(other, ForgerySpec)
            and not set(self.engine).isdisjoint(other.engine)
            and not set(self.distances).isdisjoint(other.distances)
            and not set(self.only.points(grid)).isdisjoint(other.only.points(grid))
            and any(getattr(self, name) != getattr(other, name) for name in questions)
        )


class FreeForgerySpec(_AttackSpec):
    """Forgery where the claimant chooses the signature, or has read the true one off the model."""

    kind: Literal["free-forgery"]
    methods: Annotated[tuple[FreeForgeryMethod, ...], OneOrMore, Several, Distinct] = (
        "all zeros",
        "best pattern",
        "clones",
        "local search",
        "recovered signature",
    )
    eps: Distance = 0.5
    instances: int | None = Field(default=None, ge=1)
    least_ones: ClosedShare = 0.25
    most_ones: ClosedShare = 0.75
    timeout_s: Timeout = 10.0

    @model_validator(mode="after")
    def _quota_is_ordered(self) -> FreeForgerySpec:
        if self.least_ones > self.most_ones:
            raise ValueError(f"least_ones {self.least_ones} is above most_ones {self.most_ones}")
        return self


def _chain(name: object) -> object:
    if isinstance(name, str):
        for step in name.split("+"):
            if step not in MODIFICATIONS:
                raise ValueError(
                    f"unknown modification {step!r}; known are: {', '.join(MODIFICATIONS)}, "
                    'and several in a row joined by "+"'
                )
        if "collapse" in name.split("+")[:-1]:
            raise ValueError(f"{name!r}: collapse changes votes alone: put it last")
    return name


Chain = Annotated[str, BeforeValidator(_chain)]


class ModificationSpec(_AttackSpec):
    """What a thief does to the stolen forest: each listed modification over its strengths.

    Several in a row are joined by "+", as in "drop+noise"; their strengths grow together. `strengths`
    replaces the usual ones of every listed modification.
    """

    kind: Literal["modification"]
    modifications: Annotated[tuple[Chain, ...], OneOrMore, Several, Distinct] = tuple(MODIFICATIONS)
    strengths: Annotated[tuple[float, ...], OneOrMore, Several, Distinct] | None = None
    tries: int = Field(default=1, ge=1, le=1_000)

    def meets(self, other: SpecModel, grid: EmbeddingSpec) -> bool:
        """Return whether two attacks would draw one curve twice."""
        return (
            isinstance(other, ModificationSpec)
            and not set(self.modifications).isdisjoint(other.modifications)
            and super().meets(other, grid)
        )

    def points(self, chain: str) -> tuple[tuple[float, ...], ...]:
        """Return the strengths of each step, for each point of a chain's curve."""
        steps = chain.split("+")
        if self.strengths is not None:
            return tuple((strength,) * len(steps) for strength in self.strengths)
        count = min(len(STRENGTHS[step]) for step in steps)
        return tuple(
            tuple(
                STRENGTHS[step][math.ceil((point + 1) * len(STRENGTHS[step]) / count) - 1] for step in steps
            )
            for point in range(count)
        )


class CalibrationSpec(SpecModel):
    """False-positive rates of every p-value: over honest forests, and over other owners' watermarked ones.

    `batch` forests are one job. Shares of the false claims are by default the first of the grid.
    """

    kind: Literal["calibration"]
    honest: int = Field(default=200, ge=0, le=1_000_000)
    other_owners: int = Field(default=200, ge=0, le=1_000_000)
    presence: int = Field(default=0, ge=0, le=1_000_000)
    reference: int = Field(default=99, ge=2, le=100_000)
    batch: int = Field(default=25, ge=1, le=10_000)
    trigger_share: Share | None = None
    ones_share: ClosedShare | None = None

    def meets(self, other: SpecModel, grid: EmbeddingSpec) -> bool:
        """Return whether two calibrations differ: a campaign has one."""
        return isinstance(other, CalibrationSpec) and self != other


AttackSpec = Annotated[
    LeakageSpec
    | DetectionSpec
    | SuppressionSpec
    | ForgerySpec
    | FreeForgerySpec
    | ModificationSpec
    | CalibrationSpec,
    Field(discriminator="kind"),
]
