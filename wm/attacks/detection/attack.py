"""The detection attack: every method on one forest, scored against the true signature."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Literal

from pydantic import Field, model_validator

from wm.attacks.base import Attack, AttackOptions, AttackRow, Choices, Result, Scene, Streams
from wm.attacks.detection.presence import presence_statistics, presence_test
from wm.attacks.detection.row_probes import detect_rows
from wm.attacks.detection.rows import Row, ranked
from wm.attacks.detection.shapes import detect_by_shape
from wm.attacks.detection.spectrum import Spectrum, leaf_probes, vote_spectrum
from wm.attacks.detection.strategies import detect
from wm.attacks.populations import honest_forests
from wm.signature import Signature
from wm.streams import Role

MAX_PROBES = 12_000
"""Largest number of leaf probes of one spectrum; a larger forest's leaves are sampled."""

_MAX_STRENGTHS = 20

Method = Literal["strategies", "shapes", "spectrum", "rows", "presence"]


class Options(AttackOptions):
    """Reading the signature off the bare forest, or that there is one."""

    methods: Choices[Method] = ("strategies", "shapes", "spectrum")
    """Methods: the paper's strategies, shapes of trees, the spectrum of votes, probes of single trigger rows,
    presence tests."""
    honest: int = Field(default=49, ge=0, le=10_000)
    """Honest forests, trained for each watermark, that "presence" compares with; at least 2."""

    @model_validator(mode="after")
    def _presence_has_forests(self) -> Options:
        if "presence" in self.methods and self.honest < 2:
            raise ValueError('honest must be at least 2 for "presence"')
        return self

    def parts(self) -> Iterator[Options]:
        """Yield these options, without honest forests where no method uses them."""
        yield self if "presence" in self.methods else self.model_copy(update={"honest": 0})


class SpectrumRow(AttackRow):
    """A vote spectrum of a forest with a signature."""

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
    spectra = list(_spectra(scene, rng)) if "spectrum" in options.methods else []
    methods: dict[Method, Callable[[], list[Row]]] = {
        "strategies": lambda: detect(forest, signature),
        "shapes": lambda: detect_by_shape(forest, signature),
        "spectrum": lambda: [
            row
            for mode, found in spectra
            for row in ranked(f"spectrum, {mode}", found.scores, signature, points=len(found.projections))
        ],
        "rows": lambda: [
            detect_rows(
                forest,
                signature,
                scene.split.X_test,
                rng.generator(Role.ATTACKER_PROBES, "rows"),
                limit=MAX_PROBES,
            )
        ],
        "presence": lambda: _presence(scene, options, rng),
    }
    return Result(
        [row for method in options.methods for row in methods[method]()],
        {
            "spectra": [
                SpectrumRow(
                    mode=mode,
                    strengths=tuple(found.strengths[:_MAX_STRENGTHS].tolist()),
                    scores=tuple(found.scores.tolist()),
                    bits=tuple(signature.array.tolist()),
                )
                for mode, found in spectra
                if isinstance(signature, Signature)
            ]
        },
    )


def _spectra(scene: Scene, rng: Streams) -> Iterator[tuple[str, Spectrum]]:
    """Yield the spectrum of the votes on the attacker's sample, and on probes of the forest's leaves.

    Probes start from the sample or, for an attacker without data, from uniform points.
    """
    forest, sample, draws = scene.forest, scene.split.X_test, rng.generator(Role.ATTACKER_PROBES)
    points = {
        "sample": sample,
        "leaf-probe": leaf_probes(forest, draws, base=sample, limit=MAX_PROBES),
        "blind leaf-probe": leaf_probes(forest, draws, limit=MAX_PROBES),
    }
    for mode, X in points.items():
        yield mode, vote_spectrum(forest.vote_codes(X))


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
            points=len(honest),
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
    summary="Detection scores for each forest",
    options=Options,
    row=Row,
    run=run,
    extra={"spectra": SpectrumRow},
    version=4,
)
