"""The detection attack: every method on one forest, scored against the true signature."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict
from functools import partial
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

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
from wm.attacks.detection.guesses import GuessScore, ValueScore
from wm.attacks.detection.presence import presence_statistics, presence_test
from wm.attacks.detection.shapes import detect_by_shape
from wm.attacks.detection.spectrum import (
    Mode,
    SpectrumResult,
    detect_by_spectrum,
    leaf_probes,
    vote_spectrum,
)
from wm.attacks.detection.strategies import detect
from wm.attacks.populations import honest_forests
from wm.forest import Forest
from wm.signature import Signature
from wm.streams import Role

PROBES = 12_000
"""Most leaf probes of one spectrum; a larger forest's leaves are sampled."""

_STRENGTHS = 20

Method = Literal["strategies", "shapes", "spectrum", "presence"]


class Options(AttackOptions):
    """Reading the signature off the bare forest, or that there is one."""

    methods: Annotated[tuple[Method, ...], OneOrMore, Several, Distinct] = (
        "strategies",
        "shapes",
        "spectrum",
    )
    """What is tried: the paper's strategies, shapes of trees, the spectrum of votes, presence tests."""
    honest: int = Field(default=49, ge=0, le=10_000)
    """Honest forests, trained for each watermark, that "presence" compares with; at least 2."""

    @model_validator(mode="after")
    def _presence_has_forests(self) -> Options:
        if "presence" in self.methods and self.honest < 2:
            raise ValueError('honest must be at least 2 for "presence"')
        return self

    def parts(self) -> Iterator[Options]:
        """Yield these options, without forests that nothing is compared with."""
        yield self if "presence" in self.methods else self.model_copy(update={"honest": 0})


class Row(AttackRow):
    """One strategy on one measure; bits without a guess are uncertain."""

    measure: str
    """What is measured on the trees or votes."""
    strategy: str
    """How a measure becomes a guess: the paper's A and B, a ranking, a split at the median, a rank test."""
    mean: float | None = None
    """Of the measure over the trees."""
    std: float | None = None
    """Population standard deviation over the trees."""
    correct: int
    """Bits guessed right."""
    wrong: int
    """Bits guessed wrong."""
    uncertain: int
    """Bits without a guess."""
    p_value: float
    """Chance to do as well: of fair coins for the paper's strategies, otherwise exact."""
    p_value_exact: float
    """The same against a random signature with as many ones; adjusted where several guesses are tried."""
    bits: float | None = None
    """Share of the signature guessed, up to complement."""
    null_bits: float | None = None
    """Mean of that share for guesses that have nothing to do with the signature."""
    auc: float | None = None
    """Area under the curve of the ranking of the trees."""
    points: int | None = None
    """Instances that votes were taken on; for presence the honest forests."""


class SpectrumRow(AttackRow):
    """A vote spectrum."""

    mode: str
    """Where the points came from."""
    strengths: tuple[float, ...]
    """Shares of the variance along the leading directions, at most 20."""
    scores: tuple[float, ...]
    """Each tree's entry of the leading direction."""
    bits: tuple[int, ...]
    """Each tree's true bit."""


def run(scene: Scene, options: Options, rng: Streams) -> Result:
    """Guess the signature, or that there is one, from the bare forest, and score the guesses.

    A ranking of the trees, or a presence test, guesses no bit: all of them count as uncertain.
    """
    forest, signature = scene.forest, scene.claim.bits
    spectra = list(_spectra(scene, options, rng))
    methods: dict[Method, Callable[[], list[Row]]] = {
        "strategies": lambda: [Row(**asdict(found)) for found in detect(forest, signature)],
        "shapes": partial(_by_shape, forest, signature),
        "spectrum": lambda: [
            row
            for found, _ in spectra
            for row in _scored(
                f"spectrum, {found.mode}", found.values, found.guess, signature, points=found.points
            )
        ],
        "presence": partial(_presence, scene, options, rng),
    }
    return Result(
        [row for method in options.methods for row in methods[method]()],
        {
            "spectra": [
                SpectrumRow(
                    mode=found.mode,
                    strengths=tuple(strengths[:_STRENGTHS].tolist()),
                    scores=tuple(found.scores.tolist()),
                    bits=tuple(signature.array.tolist()),
                )
                for found, strengths in spectra
            ]
        },
    )


def _by_shape(forest: Forest, signature: Signature) -> list[Row]:
    return [
        row
        for found in detect_by_shape(forest, signature)
        for row in _scored(
            found.shape.value, found.values, found.guess, signature, mean=found.mean, std=found.std
        )
    ]


def _scored(
    measure: str, values: ValueScore, guess: GuessScore, signature: Signature, **common: float | None
) -> list[Row]:
    """Return the rows of a ranking of the trees and of the guess that divides them at the median."""
    trees = len(signature)
    right = round(guess.bits * trees)
    return [
        Row.model_validate(
            common
            | {
                "measure": measure,
                "strategy": "ranking",
                "correct": 0,
                "wrong": 0,
                "uncertain": trees,
                "p_value": values.p_value,
                "p_value_exact": values.p_value,
                "auc": values.auc,
            }
        ),
        Row.model_validate(
            common
            | {
                "measure": measure,
                "strategy": "median split",
                "correct": right,
                "wrong": trees - right,
                "uncertain": 0,
                "p_value": guess.p_value,
                "p_value_exact": guess.p_value,
                "bits": guess.bits,
                "null_bits": guess.null_bits,
            }
        ),
    ]


def _spectra(
    scene: Scene, options: Options, rng: Streams
) -> Iterator[tuple[SpectrumResult, NDArray[np.float64]]]:
    """Yield the spectrum of the votes on the attacker's sample, and on probes of the forest's leaves.

    Probes start from the sample or, for an attacker without data, from uniform points.
    """
    if "spectrum" not in options.methods:
        return
    forest, sample, draws = scene.forest, scene.split.X_test, rng.generator(Role.ATTACKER_PROBES)
    points: dict[Mode, NDArray[np.float32]] = {
        "sample": sample,
        "leaf-probe": leaf_probes(forest, draws, base=sample, limit=PROBES),
        "blind leaf-probe": leaf_probes(forest, draws, limit=PROBES),
    }
    for mode, X in points.items():
        codes = forest.vote_codes(X)
        yield detect_by_spectrum(codes, scene.claim.bits, mode=mode), vote_spectrum(codes).strengths


def _presence(scene: Scene, options: Options, rng: Streams) -> list[Row]:
    """Rank the forest among honest ones under the same limits, trained on rows that are the attacker's."""
    forest = scene.forest
    population = honest_forests(
        scene.split.X_train,
        scene.split.y_train,
        n_trees=forest.n_trees,
        caps=scene.caps,
        count=options.honest,
        seed=rng.seed,
    )
    honest = [
        presence_statistics(one, rng.generator(Role.ATTACKER_PROBES, "honest", number))
        for number, one in enumerate(population)
    ]
    suspect = presence_statistics(forest, rng.generator(Role.ATTACKER_PROBES, "suspect"))
    found = presence_test(suspect, honest)
    return [
        Row(
            measure=measure,
            strategy=strategy,
            correct=0,
            wrong=0,
            uncertain=forest.n_trees,
            points=found.honest,
            p_value=alone,
            p_value_exact=adjusted,
        )
        for measure, strategy, alone, adjusted in (
            ("presence", "largest deviation", found.p_value, found.p_value),
            *(
                (f"presence: {name}", "rank, Holm", alone, adjusted)
                for name, alone, adjusted in zip(found.names, found.p_values, found.holm, strict=True)
            ),
        )
    ]


ATTACK = Attack(
    kind="detection",
    summary="What detection reads off each forest",
    options=Options,
    row=Row,
    run=run,
    extra={"spectra": SpectrumRow},
    version=3,
)
