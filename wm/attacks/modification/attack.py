"""The modification attack: each listed modification over its strengths, scored against the claim."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Annotated, Self

from pydantic import BeforeValidator, Field, model_validator

from wm.attacks.base import RELEASED, Attack, AttackOptions, Choices, Result, Scene, Streams
from wm.attacks.modification.common import AttackerData
from wm.attacks.modification.evaluation import (
    MODIFICATIONS,
    Judged,
    Row,
    Step,
    evaluate,
    evaluate_margins,
    modify,
)
from wm.attacks.modification.margins import MARGIN_MODIFICATIONS, modify_margins
from wm.streams import Role


def _chain(name: object) -> object:
    if isinstance(name, str):
        known = {**MODIFICATIONS, **MARGIN_MODIFICATIONS}
        for step in name.split("+"):
            if step not in known:
                raise ValueError(
                    f"unknown modification {step!r}; known are: {', '.join(known)}, "
                    'and several in a row joined by "+"'
                )
        for step in name.split("+")[:-1]:
            if step in MODIFICATIONS and MODIFICATIONS[step].changes_votes:
                raise ValueError(f"{name!r}: {step} changes votes alone: put it last")
    return name


class Curve(AttackOptions):
    """One chain of modifications over its strengths."""

    steps: tuple[str, ...] = Field(min_length=1)
    """Names of modifications, done in this order."""
    strengths: tuple[tuple[float, ...], ...] = Field(min_length=1)
    """One strength for each step, for each point of the curve."""
    tries: int = Field(ge=1)
    """Times that each point is done with other random numbers."""


class Options(AttackOptions):
    """Changes of the stolen forest: each listed modification over its strengths."""

    modifications: Choices[Annotated[str, BeforeValidator(_chain)]] = tuple(MODIFICATIONS)
    """Modifications; several in a row joined by "+", as in "drop+noise"; their strengths grow together. Left
    out, all those of forests; for a boosted model name those of models that add margins."""
    strengths: Choices[float] | None = None
    """Replaces the usual strengths of every listed modification."""
    tries: int = Field(default=1, ge=1, le=1_000)
    """Times that each point is done with other random numbers."""

    @model_validator(mode="after")
    def _strengths_are_possible(self) -> Self:
        for chain in self.modifications:
            for step, strength in itertools.product(chain.split("+"), self.strengths or ()):
                kind = MODIFICATIONS.get(step) or MARGIN_MODIFICATIONS[step]
                if fault := kind.fault(strength):
                    raise ValueError(f"strengths: {strength:g} is impossible for {step}, which needs {fault}")
        return self

    def parts(self) -> Iterator[Curve]:
        """Yield the curve of each chain."""
        for chain in self.modifications:
            yield Curve(steps=tuple(chain.split("+")), strengths=self._points(chain), tries=self.tries)

    def refusal(self, *, trees_vote: bool) -> str:
        """Return which modifications are not of such models; empty if all are."""
        possible = MODIFICATIONS if trees_vote else MARGIN_MODIFICATIONS
        others = [each for each in self.modifications if not possible.keys() >= set(each.split("+"))]
        if not others:
            return ""
        kind = "vote" if trees_vote else "add margins"
        return f"{', '.join(others)} cannot change models whose trees {kind}; {', '.join(possible)} can"

    def overlaps(self, other: Options) -> bool:
        """Return whether two attacks would draw one curve twice."""
        return self != other and not set(self.modifications).isdisjoint(other.modifications)

    def _points(self, chain: str) -> tuple[tuple[float, ...], ...]:
        """Return the strengths of each step, for each point of a chain's curve."""
        steps = chain.split("+")
        if self.strengths is not None:
            return tuple((strength,) * len(steps) for strength in self.strengths)
        usual = [
            (MODIFICATIONS if step in MODIFICATIONS else MARGIN_MODIFICATIONS)[step].strengths
            for step in steps
        ]
        count = min(map(len, usual))
        return tuple(
            tuple(each[math.ceil((point + 1) * len(each) / count) - 1] for each in usual)
            for point in range(count)
        )


def run(scene: Scene, options: Options | Curve, rng: Streams) -> Result:
    """Change the stolen forest at each strength, and score the changed forest against the claim.

    Half of the test rows are the thief's, the other half measure accuracy and fidelity.
    """
    curves = options.parts() if isinstance(options, Options) else [options]
    return Result([row for curve in curves for row in _rows(scene, curve, rng)])


def _rows(scene: Scene, curve: Curve, rng: Streams) -> Iterator[Row]:
    for attempt in range(curve.tries):
        data, judged = _divided(scene, rng, attempt)
        for strengths in curve.strengths:
            steps = [Step(name, strength) for name, strength in zip(curve.steps, strengths, strict=True)]
            key = ("+".join(curve.steps), attempt, "+".join(map(repr, strengths)))
            if scene.models:
                stolen = scene.models[RELEASED]
                copy = modify_margins(stolen, steps, data, rng.own("modification", *key))
                yield evaluate_margins(stolen, copy, steps, judged, attempt)
                continue
            changed = modify(scene.forest, steps, data, rng.own("modification", *key))
            null = rng.generator(Role.NULL, *key)
            yield evaluate(scene.forest, changed, steps, judged, null, attempt)


def _divided(scene: Scene, rng: Streams, attempt: int) -> tuple[AttackerData, Judged]:
    split, trigger_set = scene.split, scene.claim.trigger_set
    shuffled = rng.own("modification", "rows", attempt).permutation(len(split.y_test))
    own, others = shuffled[: len(shuffled) // 2], shuffled[len(shuffled) // 2 :]
    return (
        AttackerData(split.X_test[own], split.y_test[own], scene.caps),
        Judged(
            trigger_set.X,
            trigger_set.y,
            scene.claim.bits,
            split.X_test[others],
            split.y_test[others],
            scene.proof,
        ),
    )


ATTACK = Attack(
    kind="modification",
    summary="Watermark and accuracy left in modified forests",
    options=Options,
    part=Curve,
    row=Row,
    run=run,
    version=4,
)
