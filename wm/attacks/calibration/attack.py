"""The calibration attack: p-values of false claims, part by part over populations of forests."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Literal, Self

from pydantic import Field, model_validator

from wm.attacks.base import (
    Attack,
    AttackOptions,
    AttackRow,
    ClosedShare,
    Result,
    Scene,
    Scope,
    Share,
    Streams,
)
from wm.attacks.calibration.p_values import Rate, calibrate, gather, presence_p_values
from wm.attacks.detection.presence import presence_statistics
from wm.attacks.populations import Case, false_case, honest_forests, other_owners_forests
from wm.embedding.common import trigger_size
from wm.forest import Forest
from wm.streams import Role, generator

Population = Literal["honest", "other owners", "presence"]


class Part(AttackOptions):
    """P-values of false claims over some forests of a population."""

    population: Population
    """``honest``, ``other owners``' watermarked forests, or ``presence``: honest ones against others."""
    first: int = Field(ge=0)
    """Number of the first forest."""
    count: int = Field(ge=1)
    """How many."""
    trigger_share: Share
    """Of the false claims."""
    ones_share: ClosedShare
    """Of the false claims."""
    reference: int = Field(default=0, ge=0)
    """Honest forests that presence compares with; only for that."""


class Options(AttackOptions):
    """False-positive rates of every p-value: over honest forests, and over other owners' watermarked ones."""

    honest: int = Field(default=200, ge=0, le=1_000_000)
    """Honest forests."""
    other_owners: int = Field(default=200, ge=0, le=1_000_000)
    """Forests that other owners watermarked."""
    presence: int = Field(default=0, ge=0, le=1_000_000)
    """Honest forests that are tested for presence."""
    reference: int = Field(default=99, ge=2, le=100_000)
    """Honest forests that these are compared with."""
    batch: int = Field(default=25, ge=1, le=10_000)
    """Forests that are one job."""
    trigger_share: Share | None = None
    """Of the false claims; the first of the campaign unless given."""
    ones_share: ClosedShare | None = None
    """Of the false claims; the first of the campaign unless given."""

    @model_validator(mode="after")
    def _some_forests(self) -> Self:
        if not any(self.populations.values()):
            raise ValueError("honest, other_owners and presence are all 0: there is nothing to calibrate")
        return self

    @property
    def populations(self) -> dict[Population, int]:
        """Number of forests of each population."""
        return {"honest": self.honest, "other owners": self.other_owners, "presence": self.presence}

    def parts(self) -> Iterator[Part]:
        """Yield parts of `batch` forests; shares that are not given are those of the defaults, 2% and 50%."""
        for population, total in self.populations.items():
            for first in range(0, total, self.batch):
                yield Part(
                    population=population,
                    first=first,
                    count=min(self.batch, total - first),
                    reference=self.reference if population == "presence" else 0,
                    trigger_share=0.02 if self.trigger_share is None else self.trigger_share,
                    ones_share=0.5 if self.ones_share is None else self.ones_share,
                )


class Row(AttackRow):
    """The p-values of one name over a part of a population."""

    population: Population
    """Which forests."""
    name: str
    """Name of the p-value."""
    values: tuple[float, ...]
    """One for each forest, in their order."""


def run(scene: Scene, options: Options | Part, rng: Streams) -> Result:
    """Train forests without a claim's watermark, and compute every p-value of the claim."""
    parts = options.parts() if isinstance(options, Options) else [options]
    return Result(
        [
            Row(population=part.population, name=name, values=tuple(values))
            for part in parts
            for name, values in _p_values(scene, part, rng.seed).items()
        ]
    )


def rates(rows: Sequence[Row]) -> Sequence[Rate]:
    """Return how often each p-value was small, over all given parts."""
    populations: dict[str, dict[str, list[float]]] = {}
    for row in rows:
        populations.setdefault(row.population, {}).setdefault(row.name, []).extend(row.values)
    return calibrate(populations)


def alarms(found: Sequence[Rate]) -> Sequence[str]:
    """Return a line for each p-value that is small too often."""
    return [
        f"anti-conservative p-value: {rate.p_value} over {rate.population}: {rate.hits} of {rate.trials} at "
        f"{rate.level:g}, rate {rate.rate:.3g} (95% interval {rate.low:.3g} to {rate.high:.3g})"
        for rate in found
        if rate.anti_conservative
    ]


def _p_values(scene: Scene, part: Part, seed: int) -> dict[str, list[float]]:
    if part.population == "presence":
        return _presence(scene, part, seed)
    return gather(_cases(scene, part, seed), seed, first=part.first)


def _cases(scene: Scene, part: Part, seed: int) -> Iterator[Case]:
    """Yield false claims; their trigger rows are test rows, which the forests were not trained on."""
    split = scene.split
    size = trigger_size(len(split.y_train), part.trigger_share)
    if part.population == "honest":
        forests = _forests(honest_forests, scene, seed, part.first, part.count)
    else:
        marks = {"trigger_size": size, "ones_share": part.ones_share}
        forests = _forests(other_owners_forests, scene, seed, part.first, part.count, **marks)
    for number, forest in enumerate(forests, part.first):
        yield false_case(
            forest,
            split.X_test,
            split.y_test,
            trigger_size=min(size, len(split.y_test) // 2),
            ones_share=part.ones_share,
            rng=generator(seed, Role.NULL, "claim", part.population, number),
        )


def _forests(
    draw: Callable[..., Iterator[Forest]], scene: Scene, seed: int, first: int, count: int, **marks: float
) -> Iterator[Forest]:
    """Draw forests of a population, trained on the scene's rows under its limits."""
    common = {"n_trees": scene.n_trees, "caps": scene.caps, "count": count, "seed": seed, "first": first}
    return draw(scene.split.X_train, scene.split.y_train, **common, **marks)


def _presence(scene: Scene, part: Part, seed: int) -> dict[str, list[float]]:
    """Return the presence p-values of honest forests, compared with the first `reference` ones."""

    def statistics(first: int, count: int) -> list[dict[str, float]]:
        forests = _forests(honest_forests, scene, seed, first, count)
        return [
            presence_statistics(forest, generator(seed, Role.NULL, "presence", number))
            for number, forest in enumerate(forests, first)
        ]

    tested = statistics(part.reference + part.first, part.count)
    return presence_p_values(statistics(0, part.reference), tested)


ATTACK = Attack(
    kind="calibration",
    summary="False-positive rate of each p-value",
    options=Options,
    part=Part,
    row=Row,
    run=run,
    shown=Rate,
    aggregate=rates,
    alarms=alarms,
    scope=Scope.CAMPAIGN,
    version=3,
)
