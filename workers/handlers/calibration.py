"""Job kind `calibration`: p-values of false claims over part of a population."""

from __future__ import annotations

from collections.abc import Iterator

from wm import streams
from wm.attacks.calibration import gather, presence_p_values
from wm.attacks.detection import PresenceStatistics, presence_statistics
from wm.attacks.populations import Case, false_case, honest_forests, other_owners_forests
from wm.datasets import Split
from wm.embedding.common import trigger_size
from wm.embedding.training import Caps
from wm.forest import Forest
from wm.streams import Role
from workers.handlers.inputs import read_split
from workers.jobs import (
    BaselineResult,
    CalibrationParameters,
    CalibrationResult,
    JobKind,
    NamedPValues,
)
from workers.runtime.context import Context


def run(parameters: CalibrationParameters, context: Context) -> CalibrationResult:
    """Train forests that have never seen a claim, and take every p-value of it."""
    split = read_split(context)
    baseline = context.input(JobKind.BASELINE, BaselineResult)
    caps = Caps(baseline.cap_depth, baseline.cap_leaves)
    if parameters.population == "presence":
        found = _presence(parameters, split, baseline.n_estimators, caps)
    else:
        cases = _cases(parameters, split, baseline.n_estimators, caps)
        found = gather(cases, parameters.seed, first=parameters.first)
    return CalibrationResult(
        population=parameters.population,
        rows=tuple(NamedPValues(name=name, values=tuple(values)) for name, values in found.items()),
    )


def _cases(parameters: CalibrationParameters, split: Split, n_trees: int, caps: Caps) -> Iterator[Case]:
    """Yield false claims; their trigger rows are test rows, which the forests have never seen."""
    size = trigger_size(len(split.y_train), parameters.trigger_share)
    forests = _forests(parameters, split, n_trees, caps, size)
    for number, forest in enumerate(forests, parameters.first):
        yield false_case(
            forest,
            split.X_test,
            split.y_test,
            trigger_size=min(size, len(split.y_test) // 2),
            ones_share=parameters.ones_share,
            rng=streams.generator(parameters.seed, Role.NULL, "claim", parameters.population, number),
        )


def _forests(
    parameters: CalibrationParameters, split: Split, n_trees: int, caps: Caps, size: int
) -> Iterator[Forest]:
    if parameters.population == "honest":
        return _honest(parameters, split, n_trees, caps, parameters.first, parameters.count)
    return other_owners_forests(
        split.X_train,
        split.y_train,
        n_trees=n_trees,
        caps=caps,
        trigger_size=size,
        count=parameters.count,
        seed=parameters.seed,
        first=parameters.first,
        ones_share=parameters.ones_share,
    )


def _honest(
    parameters: CalibrationParameters, split: Split, n_trees: int, caps: Caps, first: int, count: int
) -> Iterator[Forest]:
    return honest_forests(
        split.X_train,
        split.y_train,
        n_trees=n_trees,
        caps=caps,
        count=count,
        seed=parameters.seed,
        first=first,
    )


def _presence(
    parameters: CalibrationParameters, split: Split, n_trees: int, caps: Caps
) -> dict[str, list[float]]:
    """Hold the tested honest forests against the first `reference` ones."""

    def statistics(first: int, count: int) -> list[PresenceStatistics]:
        forests = _honest(parameters, split, n_trees, caps, first, count)
        return [
            presence_statistics(forest, streams.generator(parameters.seed, Role.NULL, "presence", number))
            for number, forest in enumerate(forests, first)
        ]

    tested = statistics(parameters.reference + parameters.first, parameters.count)
    return presence_p_values(statistics(0, parameters.reference), tested)
