"""The line-up itself: candidates for each position of a forest, and their votes on the judge's queries.

Votes only are kept, a byte each: 200 candidates of 90 trees on 1,500 queries are 27 MB, whatever the forests.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from wm.claims.lineup import Drawn, drawn_value
from wm.claims.lineup_keys import place
from wm.claims.lineup_settings import TreeSettings
from wm.embedding.lineup.claimed import check_candidates
from wm.embedding.lineup.context import TrainingRows, owner_seeds
from wm.embedding.lineup.trees import votes_of_seeds
from wm.errors import ClaimError
from wm.forest import Forest
from wm.verification.lineup.judge import Judge
from wm.verification.lineup.scores import Contrasts

_TREES_AT_ONCE = 64


@dataclass(frozen=True, eq=False)
class Lineup:
    """What a judge compares a suspect with.

    Attributes
    ----------
    votes : (m, N, q) uint8
        0 and 1, of N candidates for each of m positions.
    places : (m,)
        The owner's candidate of each position.
    positions : (m,) or None
        Which trees of the owner's forest these are, where only some are shown; None: all, in order.
    """

    votes: NDArray[np.uint8]
    places: NDArray[np.int64]
    positions: NDArray[np.int64] | None = None

    @property
    def shape(self) -> tuple[int, int, int]:
        """Numbers of positions, candidates, and queries."""
        positions, candidates, queries = self.votes.shape
        return positions, candidates, queries

    @cached_property
    def contrasts(self) -> Contrasts:
        """The votes on the queries that tell the candidates apart; one for all suspects."""
        return Contrasts.of(self.votes)


def retrained_lineup(
    claim: Drawn,
    rows: TrainingRows,
    X: NDArray[np.float32],
    *,
    candidates: int,
    judge: Judge,
    n_jobs: int = 1,
) -> Lineup:
    """Train the owner's trees and N - 1 decoys for each (mode R), and return their votes on queries.

    The owner's tree is put at a random place, so that nothing in the computation can depend on whose it is.

    Parameters
    ----------
    rows
        The owner's training rows.
    X : (q, d)
    candidates
        N, at least 2.

    Raises
    ------
    ClaimError
        A claim without draw or of committed candidates, other library versions, or other training rows.
    """
    header = claim.header
    if not isinstance(header.training, TreeSettings):
        raise ClaimError("the claim is of a boosted model, whose line-up is one of rounds")
    if header.mode != "retrained":
        raise ClaimError("the claim commits to its candidates: give them")
    own = owner_seeds(claim, rows)
    places, seeds = lined_up(list(own.values()), candidates, judge)
    votes = votes_of_seeds(rows, header.training, seeds, X, n_jobs=n_jobs)
    return Lineup(votes.reshape(len(own), candidates, len(X)), places, _some(header.trees, own))


def lined_up(own: Sequence[int], candidates: int, judge: Judge) -> tuple[NDArray[np.int64], list[int]]:
    """Put each of the owner's seeds at a random place among the judge's.

    Returns
    -------
    The places, (m,), and all m N seeds, position after position.

    Raises
    ------
    ClaimError
        N below 2.
    """
    if candidates < 2:
        raise ClaimError("a line-up needs at least 2 candidates for each position")
    places = np.array([judge.place(position, candidates) for position in range(len(own))], dtype=np.int64)
    seeds = [
        one if number == places[position] else judge.tree_seed("decoy", position, number)
        for position, one in enumerate(own)
        for number in range(candidates)
    ]
    return places, seeds


def committed_lineup(claim: Drawn, candidates: Forest, X: NDArray[np.float32]) -> Lineup:
    """Return the votes of committed candidates (mode C) on queries, and the places that the draw chose.

    Raises
    ------
    ClaimError
        A claim without draw or committed candidates, or other candidates than the claim's.
    """
    header = claim.header
    if header.candidates is None:
        raise ClaimError("the claim commits to no candidates: the judge retrains them from the training rows")
    check_candidates(header, candidates)
    votes = np.concatenate(list(_votes(candidates, X))).reshape(header.trees, header.candidates, len(X))
    value, _ = drawn_value(claim)
    keys = claim.keys(value)
    return Lineup(votes[list(keys)], committed_places(claim), _some(header.trees, keys))


def committed_places(claim: Drawn, customer: str = "") -> NDArray[np.int64]:
    """Return which candidates the draw chose for release, to a customer if one is named: (m,)."""
    value, _ = drawn_value(claim)
    context, count = bytes.fromhex(claim.header.context), claim.header.candidates or 1
    return np.array([place(key, context, count, customer) for key in claim.keys(value).values()])


def _some(trees: int, positions: Collection[int]) -> NDArray[np.int64] | None:
    return None if len(positions) == trees else np.array(list(positions), dtype=np.int64)


def _votes(candidates: Forest, X: NDArray[np.float32]) -> Iterator[NDArray[np.uint8]]:
    for start in range(0, candidates.n_trees, _TREES_AT_ONCE):
        some = np.arange(start, min(start + _TREES_AT_ONCE, candidates.n_trees))
        yield candidates.select(some).vote_codes(X).T.astype(np.uint8)
