"""Job kind `free-forgery`."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from wm import engines, streams
from wm.attacks.detection import leaf_probes, split_at_median, vote_spectrum
from wm.attacks.forged_sets import ForgedSet, ForgedSetScore, score_forged_set
from wm.attacks.forgery import Target, attacker_instances, attacker_signature, forge
from wm.attacks.free_forgery import all_zeros, best_pattern, clones, forge_locally, of_outcomes
from wm.datasets import Split
from wm.forest import Forest
from wm.signature import Signature
from wm.streams import Role
from wm.verification.evidence import Evidence
from workers.handlers.inputs import read_baseline, read_claim, read_forest, read_split
from workers.jobs import (
    ForgedSetRow,
    FreeForgeryMethod,
    FreeForgeryParameters,
    FreeForgeryResult,
)
from workers.runtime.context import Context

_PROBES = 12_000


@dataclass(frozen=True, eq=False)
class _Scene:
    """What the claimant has: the model, natural rows, and how many forged ones it wants."""

    forest: Forest
    split: Split
    parameters: FreeForgeryParameters
    size: int

    def rng(self, name: str) -> np.random.Generator:
        """Return the generator of one method."""
        key = (self.parameters.repeat, name)
        return streams.generator(self.parameters.seed, Role.ATTACKER_FREE_FORGERY, *key)

    def target(self, signature: Signature) -> Target:
        """Return test rows to be changed until they draw a signature."""
        count = min(self.parameters.instances or self.size, len(self.split.y_test))
        rows = attacker_instances(
            self.parameters.seed, rows=len(self.split.y_test), count=count, repeat=self.parameters.repeat
        )
        return Target(self.split.X_test[rows], self.split.y_test[rows], signature, self.parameters.eps)


def run(parameters: FreeForgeryParameters, context: Context) -> FreeForgeryResult:
    """Forge by every method and put each set before the judge.

    The natural rows are the test rows. The claimant has published no commitment before the model.
    """
    size = len(read_claim(context).trigger_set.rows)
    scene = _Scene(read_forest(context), read_split(context), parameters, size)
    independent = read_baseline(context)[1]
    rows = []
    for method in parameters.methods:
        forged = _METHODS[method](scene)
        scored = score_forged_set(forged, scene.forest, trigger_size=size, independent=independent)
        rows.append(_row(method, scored))
    return FreeForgeryResult(rows=tuple(rows))


def _best_pattern(scene: _Scene) -> ForgedSet:
    return best_pattern(
        scene.forest,
        scene.split.X_test,
        scene.split.y_test,
        least_ones=scene.parameters.least_ones,
        most_ones=scene.parameters.most_ones,
    )


def _clones(scene: _Scene) -> ForgedSet:
    """Copy the most contested row that the quota allows, or else the first test row, k times."""
    found = _best_pattern(scene)
    row, label = (
        (found.X[0], int(found.labels[0]))
        if len(found.X)
        else (scene.split.X_test[0], int(scene.split.y_test[0]))
    )
    return clones(scene.forest, row, label, scene.size, scene.rng("clones"))


def _local_search(scene: _Scene) -> ForgedSet:
    """Forge a random signature, as the paper's attacker, without a solver."""
    signature = attacker_signature(
        scene.parameters.seed,
        number=0,
        length=scene.forest.n_trees,
        ones_share=0.5,
        repeat=scene.parameters.repeat,
    )
    return forge_locally(scene.forest, scene.target(signature), scene.rng("local search"))


def _recovered_signature(scene: _Scene) -> ForgedSet:
    """Forge the signature that the vote spectrum gives, whichever way round draws more rows."""
    rng = streams.generator(scene.parameters.seed, Role.ATTACKER_PROBES, scene.parameters.repeat)
    probes = leaf_probes(scene.forest, rng, base=scene.split.X_test, limit=_PROBES)
    guess = split_at_median(vote_spectrum(scene.forest.vote_codes(probes)))
    found = []
    with engines.create("portfolio", scene.forest) as engine:
        for bits in (guess, 1 - guess):
            target = scene.target(Signature.of(bits))
            outcomes = forge(engine, target, timeout_s=scene.parameters.timeout_s)
            found.append(of_outcomes("recovered signature", outcomes, target))
    return max(found, key=lambda forged: len(forged.X))


_METHODS: dict[FreeForgeryMethod, Callable[[_Scene], ForgedSet]] = {
    "all zeros": lambda scene: all_zeros(scene.forest, scene.split.X_test, scene.split.y_test),
    "best pattern": _best_pattern,
    "clones": _clones,
    "local search": _local_search,
    "recovered signature": _recovered_signature,
}


def _row(method: FreeForgeryMethod, scored: ForgedSetScore) -> ForgedSetRow:
    evidence = None if scored.verdict is None else scored.verdict.evidence
    return ForgedSetRow(
        method=method,
        size=scored.size,
        size_over_k=scored.size_over_k,
        distinct_cells=scored.distinct_cells,
        mean_distance=scored.mean_distance,
        max_distance=scored.max_distance,
        independent_accuracy=(
            None if math.isnan(scored.independent_accuracy) else scored.independent_accuracy
        ),
        forged_ones_share=scored.ones_share,
        log10_p=evidence.log10_p if isinstance(evidence, Evidence) else None,
        stopped_by=", ".join(scored.stopped_by),
        stopped_but_for_commitment=", ".join(scored.stopped_but_for_commitment),
    )
