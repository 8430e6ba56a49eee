"""The line-up of a boosted model: candidates for each round, on top of the owner's rounds before.

Which candidate of a round is the owner's decides what the next rounds' candidates look like. So nothing that
is known of a later round may count in an earlier one: every comparison (`round_scores`) takes a round's
candidates, the owner's rounds before it, and honest models of the judge's own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wm.claims.lineup import LineupClaim
from wm.claims.lineup_opened import OpenedLineup
from wm.claims.lineup_settings import BoostingSettings
from wm.embedding.boosted.newton import Step
from wm.embedding.lineup.boosting import boosting_settings, first_margins, train_round, train_rounds
from wm.embedding.lineup.context import TrainingRows, owner_seeds
from wm.errors import ClaimError
from wm.verification.lineup.candidates import lined_up
from wm.verification.lineup.judge import Judge

HONEST = 10
"""Models of the judge's own: what they say too is not resemblance."""


@dataclass(frozen=True, eq=False)
class RoundLineup:
    """What a judge compares a boosted suspect with.

    Attributes
    ----------
    outputs : (m, N, q) float32
        What N candidates for each of m rounds add to the margins of q queries.
    places : (m,)
        The owner's candidate of each round.
    start
        Margin before the first round.
    honest : (h, q)
        Margins of the judge's own models.
    """

    outputs: NDArray[np.float32]
    places: NDArray[np.int64]
    start: float
    honest: NDArray[np.float64]

    @property
    def shape(self) -> tuple[int, int, int]:
        """Numbers of rounds, candidates, and queries."""
        rounds, candidates, queries = self.outputs.shape
        return rounds, candidates, queries

    def rounds(self) -> Iterator[tuple[NDArray[np.float64], NDArray[np.float64]]]:
        """Yield each round's candidates, (N, q), and the owner's margins before it, (q,)."""
        before = np.full(self.outputs.shape[2], self.start)
        for candidates, place in zip(self.outputs, self.places, strict=True):
            yield candidates.astype(np.float64), before
            before = before + candidates[place]


def round_lineup(
    claim: LineupClaim | OpenedLineup,
    rows: TrainingRows,
    X: NDArray[np.float32],
    *,
    candidates: int,
    judge: Judge,
    n_jobs: int = 1,
) -> RoundLineup:
    """Train the owner's rounds, N - 1 decoys for each, and honest models, and return what they add.

    Parameters
    ----------
    rows
        The owner's training rows.
    X : (q, d)
    candidates
        N, at least 2.
    n_jobs
        Threads, as joblib counts them; they change no result.

    Raises
    ------
    ClaimError
        An opening, a claim without draw or of a forest, other library versions, or other training rows.
    """
    if isinstance(claim, OpenedLineup):
        raise ClaimError(
            "a line-up of a boosted model is judged by its whole claim: each round's candidates are trained "
            "on the owner's rounds before it"
        )
    training = boosting_settings(claim)
    own = list(owner_seeds(claim, rows).values())
    return rounds_of_seeds(own, rows, training, X, candidates=candidates, judge=judge, n_jobs=n_jobs)


def rounds_of_seeds(
    own: Sequence[int],
    rows: TrainingRows,
    training: BoostingSettings,
    X: NDArray[np.float32],
    *,
    candidates: int,
    judge: Judge,
    n_jobs: int = 1,
) -> RoundLineup:
    """Line up the rounds of some seeds, whatever says that they are the owner's; as `round_lineup`."""
    from joblib import Parallel, delayed

    places, seeds = lined_up(own, candidates, judge)
    with Parallel(n_jobs=n_jobs, require="sharedmem") as parallel:
        honest = parallel(
            delayed(_honest_margins)(rows, training, X, judge, number, len(own)) for number in range(HONEST)
        )
        margins = first_margins(rows)
        outputs = np.empty((len(own), candidates, len(X)), dtype=np.float32)
        for position, place in enumerate(places.tolist()):
            some = seeds[position * candidates : (position + 1) * candidates]
            steps: list[Step] = parallel(delayed(train_round)(rows, training, margins, seed) for seed in some)
            for number, step in enumerate(steps):
                outputs[position, number] = step.outputs(X)
            margins = margins + steps[place].outputs(rows.X)
    return RoundLineup(outputs, places, float(first_margins(rows)[0]), np.stack(honest))


def _honest_margins(
    rows: TrainingRows,
    training: BoostingSettings,
    X: NDArray[np.float32],
    judge: Judge,
    number: int,
    rounds: int,
) -> NDArray[np.float64]:
    seeds = [judge.tree_seed("honest", number, each) for each in range(rounds)]
    found = np.full(len(X), first_margins(rows)[0])
    for step in train_rounds(rows, training, seeds):
        found = found + step.outputs(X)
    return found
