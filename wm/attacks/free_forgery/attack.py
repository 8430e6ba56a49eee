"""The free forgery attack: every method on one forest, each forged set judged."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from pydantic import Field, model_validator

from wm.attacks.base import (
    Attack,
    AttackOptions,
    Choices,
    ClosedShare,
    Distance,
    Result,
    Scene,
    Streams,
    Timeout,
)
from wm.attacks.detection.attack import MAX_PROBES
from wm.attacks.detection.guesses import above_median
from wm.attacks.detection.spectrum import leaf_probes, vote_spectrum
from wm.attacks.forgery.forged_sets import ForgedSet, ForgedSetScore, score_forged_set
from wm.attacks.forgery.forger import Forger, Target, attacker_instances, attacker_signature
from wm.attacks.free_forgery.methods import all_zeros, best_pattern, clones, forge_locally, of_outcomes
from wm.signature import Signature
from wm.streams import Role

Method = Literal["all zeros", "best pattern", "clones", "local search", "recovered signature"]


class Options(AttackOptions):
    """Forgery where the claimant chooses the signature, or has read the true one off the model."""

    methods: Choices[Method] = get_args(Method)
    """How the set is made."""
    eps: Distance = 0.5
    """Largest distance from a test row, for the methods that change rows."""
    instances: int | None = Field(default=None, ge=1)
    """Test rows that these start from; as many as the true trigger set has unless given."""
    least_ones: ClosedShare = 0.25
    """Smallest share of ones of the best pattern."""
    most_ones: ClosedShare = 0.75
    """Largest share of ones of the best pattern."""
    timeout_s: Timeout = 10.0
    """Limit on each query in seconds."""

    @model_validator(mode="after")
    def _quota_is_ordered(self) -> Options:
        if self.least_ones > self.most_ones:
            raise ValueError(f"least_ones {self.least_ones} is above most_ones {self.most_ones}")
        return self

    def problems(self, rows_test: int) -> Iterator[tuple[str, str]]:
        """Yield each option that needs more than the given number of test rows."""
        if (self.instances or 0) > rows_test:
            yield "instances", f"{self.instances} is more than the {rows_test} test rows"


Row = ForgedSetScore


@dataclass(frozen=True, eq=False)
class _Claimant:
    """The claimant's model, natural rows, and number of forged rows wanted."""

    scene: Scene
    options: Options
    streams: Streams
    size: int

    def rng(self, name: str) -> np.random.Generator:
        """Return the generator of one method."""
        return self.streams.own("free-forgery", name)

    def target(self, signature: Signature) -> Target:
        """Return test rows to be changed until the forest's votes on them spell a signature."""
        split, streams = self.scene.split, self.streams
        count = min(self.options.instances or self.size, len(split.y_test))
        rows = attacker_instances(streams.seed, rows=len(split.y_test), count=count, repeat=streams.repeat)
        return Target(split.X_test[rows], split.y_test[rows], signature, self.options.eps)


def run(scene: Scene, options: Options, rng: Streams) -> Result:
    """Forge by every method and judge each set.

    The natural rows are the test rows. The claimant has published no commitment before the model.
    """
    size = len(scene.claim.trigger_set.rows)
    claimant = _Claimant(scene, options, rng, size)
    return Result(
        [
            score_forged_set(
                _METHODS[method](claimant), scene.forest, trigger_size=size, independent=scene.standard
            )
            for method in options.methods
        ]
    )


def _all_zeros(claimant: _Claimant) -> ForgedSet:
    split = claimant.scene.split
    return all_zeros(claimant.scene.forest, split.X_test, split.y_test)


def _best_pattern(claimant: _Claimant) -> ForgedSet:
    split, options = claimant.scene.split, claimant.options
    return best_pattern(
        claimant.scene.forest,
        split.X_test,
        split.y_test,
        least_ones=options.least_ones,
        most_ones=options.most_ones,
    )


def _clones(claimant: _Claimant) -> ForgedSet:
    """Copy the most contested row that the quota allows, or else the first test row, k times."""
    found, split = _best_pattern(claimant), claimant.scene.split
    row, label = (
        (found.X[0], int(found.labels[0])) if len(found.X) else (split.X_test[0], int(split.y_test[0]))
    )
    return clones(claimant.scene.forest, row, label, claimant.size, claimant.rng("clones"))


def _local_search(claimant: _Claimant) -> ForgedSet:
    """Forge a random signature, as the paper's attacker, without a solver."""
    forest, streams = claimant.scene.forest, claimant.streams
    signature = attacker_signature(
        streams.seed, number=0, length=forest.n_trees, ones_share=0.5, repeat=streams.repeat
    )
    return forge_locally(forest, claimant.target(signature), claimant.rng("local search"))


def _recovered_signature(claimant: _Claimant) -> ForgedSet:
    """Forge the signature that the vote spectrum gives, or its complement if that forges more rows."""
    forest = claimant.scene.forest
    rng = claimant.streams.generator(Role.ATTACKER_PROBES)
    probes = leaf_probes(forest, rng, base=claimant.scene.split.X_test, limit=MAX_PROBES)
    guess = above_median(vote_spectrum(forest.vote_codes(probes)).scores)
    found = []
    with Forger(forest, timeout_s=claimant.options.timeout_s) as forger:
        for bits in (guess, 1 - guess):
            target = claimant.target(Signature.of(bits))
            outcomes = [forger.ask(query) for query in target.queries()]
            found.append(of_outcomes("recovered signature", outcomes, target))
    return max(found, key=lambda forged: len(forged.X))


_METHODS: dict[Method, Callable[[_Claimant], ForgedSet]] = {
    "all zeros": _all_zeros,
    "best pattern": _best_pattern,
    "clones": _clones,
    "local search": _local_search,
    "recovered signature": _recovered_signature,
}


ATTACK = Attack(
    kind="free-forgery",
    summary="Scores of freely forged trigger sets, and the rules that refuse them",
    options=Options,
    row=Row,
    run=run,
    version=2,
)
