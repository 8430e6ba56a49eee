"""Job kind `detection`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict
from functools import partial

import numpy as np
from numpy.typing import NDArray

from wm import streams
from wm.attacks.detection import (
    GuessScore,
    Mode,
    SpectrumResult,
    ValueScore,
    detect,
    detect_by_shape,
    detect_by_spectrum,
    leaf_probes,
    presence_statistics,
    presence_test,
    vote_spectrum,
)
from wm.attacks.populations import honest_forests
from wm.embedding.training import Caps
from wm.forest import Forest
from wm.signature import Signature
from wm.streams import Role
from workers.handlers.inputs import read_claim, read_forest, read_split
from workers.jobs import (
    BaselineResult,
    DetectionMethod,
    DetectionParameters,
    DetectionResult,
    DetectionRow,
    JobKind,
    SpectrumRow,
)
from workers.runtime.context import Context

_PROBES = 12_000
"""Most leaf probes of one spectrum; a larger forest's leaves are sampled."""

_STRENGTHS = 20


def run(parameters: DetectionParameters, context: Context) -> DetectionResult:
    """Guess the signature, or that there is one, from the bare forest, and score the guesses.

    A ranking of the trees, or a presence test, guesses no bit: all of them count as uncertain.
    """
    forest, signature = read_forest(context), read_claim(context).bits
    spectra = list(_spectra(forest, signature, parameters, context))
    methods: dict[DetectionMethod, Callable[[], list[DetectionRow]]] = {
        "strategies": lambda: [DetectionRow(**asdict(found)) for found in detect(forest, signature)],
        "shapes": partial(_by_shape, forest, signature),
        "spectrum": lambda: [
            row
            for found, _ in spectra
            for row in _scored(
                f"spectrum, {found.mode}", found.values, found.guess, signature, points=found.points
            )
        ],
        "presence": partial(_presence, forest, parameters, context),
    }
    return DetectionResult(
        rows=tuple(row for method in parameters.methods for row in methods[method]()),
        spectra=tuple(
            SpectrumRow(
                mode=result.mode,
                strengths=tuple(strengths[:_STRENGTHS].tolist()),
                scores=tuple(result.scores.tolist()),
                bits=tuple(signature.array.tolist()),
            )
            for result, strengths in spectra
        ),
    )


def _by_shape(forest: Forest, signature: Signature) -> list[DetectionRow]:
    return [
        row
        for found in detect_by_shape(forest, signature)
        for row in _scored(
            found.shape.value, found.values, found.guess, signature, mean=found.mean, std=found.std
        )
    ]


def _scored(
    measure: str, values: ValueScore, guess: GuessScore, signature: Signature, **common: float | None
) -> list[DetectionRow]:
    """Return the rows of a ranking of the trees and of the guess that divides them at the median."""
    trees = len(signature)
    right = round(guess.bits * trees)
    return [
        DetectionRow(
            measure=measure,
            strategy="ranking",
            correct=0,
            wrong=0,
            uncertain=trees,
            p_value=values.p_value,
            p_value_exact=values.p_value,
            auc=values.auc,
            **common,
        ),
        DetectionRow(
            measure=measure,
            strategy="median split",
            correct=right,
            wrong=trees - right,
            uncertain=0,
            p_value=guess.p_value,
            p_value_exact=guess.p_value,
            bits=guess.bits,
            null_bits=guess.null_bits,
            **common,
        ),
    ]


def _spectra(
    forest: Forest, signature: Signature, parameters: DetectionParameters, context: Context
) -> Iterator[tuple[SpectrumResult, NDArray[np.float64]]]:
    """Yield the spectrum of the votes on the attacker's sample, and on probes of the forest's leaves.

    Probes start from the sample or, for an attacker without data, from uniform points.
    """
    if "spectrum" not in parameters.methods:
        return
    rng = streams.generator(parameters.seed, Role.ATTACKER_PROBES, parameters.repeat)
    sample = read_split(context).X_test
    points: dict[Mode, NDArray[np.float32]] = {
        "sample": sample,
        "leaf-probe": leaf_probes(forest, rng, base=sample, limit=_PROBES),
        "blind leaf-probe": leaf_probes(forest, rng, limit=_PROBES),
    }
    for mode, X in points.items():
        codes = forest.vote_codes(X)
        yield detect_by_spectrum(codes, signature, mode=mode), vote_spectrum(codes).strengths


def _presence(forest: Forest, parameters: DetectionParameters, context: Context) -> list[DetectionRow]:
    """Rank the forest among honest ones under the same limits, trained on rows that are the attacker's."""
    split = read_split(context)
    baseline = context.input(JobKind.BASELINE, BaselineResult)
    population = honest_forests(
        split.X_train,
        split.y_train,
        n_trees=forest.n_trees,
        caps=Caps(baseline.cap_depth, baseline.cap_leaves),
        count=parameters.honest,
        seed=parameters.seed,
    )
    key = (parameters.seed, Role.ATTACKER_PROBES, parameters.repeat)
    honest = [
        presence_statistics(one, streams.generator(*key, "honest", number))
        for number, one in enumerate(population)
    ]
    found = presence_test(presence_statistics(forest, streams.generator(*key, "suspect")), honest)
    return [
        DetectionRow(
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
