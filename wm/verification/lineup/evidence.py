"""Evidence of a line-up: every test that a suspect's answers allow, corrected for their number by Holm.

| answers | test | candidates are compared with |
| --- | --- | --- |
| votes of m trees | in order | the suspect's tree of the same position |
| votes of any number of trees | out of order | the tree that an assignment finds |
| votes | by shares | the share of votes for class 1; if that is always 0 or 1, as for labels |
| probabilities | by probabilities | the probability of class 1 |
| labels | by labels, all queries | the label |
| labels | by labels | the label, on queries on which 30% to 70% of the candidates are for class 1 |
| labels | by labels, not near ties | the label, on those on which at most 40% are for one of the classes |
| labels | by labels, far from ties | the same, 25%; for suspects that answer by a coin elsewhere |

A boosted line-up has the same tests, with what trees add in place of votes, and one more, by all trees
(`round_scores`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from wm.verification.answers import AnswerKind, Answers
from wm.verification.judgement import Response
from wm.verification.lineup import round_scores
from wm.verification.lineup.bound import log10_bound, log10_floor, log10_floor_of_rounds, log10_rounds
from wm.verification.lineup.candidates import Lineup
from wm.verification.lineup.rounds import RoundLineup
from wm.verification.lineup.scores import Contrasts, by_shares, in_order, out_of_order
from wm.verification.randomization import Test, holm

BY_SHARES = "line-up by shares"
"""How the tests are called that see of votes only what a service that answers with shares gives."""


def lineup_tests(lineup: Lineup, answers: Mapping[AnswerKind, Answers]) -> tuple[Test, ...]:
    """Return every test that the answers allow.

    Parameters
    ----------
    answers
        Of each kind that the suspect gave, on all queries of the line-up.
    """
    contrasts = lineup.contrasts
    named = [each for given in answers.values() for each in _resemblances(contrasts, lineup, given)]
    return _tests(named, lineup.places, log10_bound, log10_floor(shares_alike(lineup.votes, lineup.places)))


def round_tests(lineup: RoundLineup, given: Response) -> tuple[Test, ...]:
    """Return every test that a suspect's answers allow on a boosted line-up."""
    named = list(_round_resemblances(lineup, given))
    return _tests(
        named, lineup.places, log10_rounds, log10_floor_of_rounds(shares_alike(lineup.outputs, lineup.places))
    )


def shares_alike(answers: NDArray[np.generic], places: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the share of each position's candidates that answer as the owner's: (m, N, q), (m,) -> (m,)."""
    return np.array(
        [(own == own[place]).all(axis=1).mean() for own, place in zip(answers, places, strict=True)]
    )


def _tests(
    named: Sequence[tuple[str, NDArray[np.float64]]],
    places: NDArray[np.int64],
    bound: Callable[[NDArray[np.float64], NDArray[np.int64]], float],
    floor: float,
) -> tuple[Test, ...]:
    logs = [bound(resemblance, places) for _, resemblance in named]
    return tuple(
        Test(name, log10_p, floor, adjusted, _figure(resemblance, places))
        for (name, resemblance), log10_p, adjusted in zip(named, logs, holm(logs), strict=True)
    )


def _round_resemblances(lineup: RoundLineup, given: Response) -> Iterator[tuple[str, NDArray[np.float64]]]:
    votes, outputs = given.answers.get("votes"), given.outputs
    if outputs is None and votes is not None:
        outputs = 2.0 * votes.values - 1.0
    if outputs is not None:
        yield "line-up in order", round_scores.in_order(lineup, outputs)
        yield "line-up out of order", round_scores.out_of_order(lineup, outputs)
        yield "line-up by all trees", round_scores.by_span(lineup, outputs)
    if "probabilities" in given.answers:
        probabilities = given.answers["probabilities"].values
        yield "line-up by probabilities", round_scores.by_margins(lineup, probabilities)
    elif votes is not None:
        yield BY_SHARES, round_scores.by_margins(lineup, votes.values.mean(axis=1))
    if "labels" in given.answers:
        yield "line-up by labels", round_scores.by_labels(lineup, given.answers["labels"].values)


def _resemblances(
    contrasts: Contrasts, lineup: Lineup, answers: Answers
) -> Iterator[tuple[str, NDArray[np.float64]]]:
    if answers.kind != "votes":
        yield from _by_shares(f"line-up by {answers.kind}", contrasts, answers.values.astype(np.float64))
        return
    trees = answers.values.shape[1]
    if lineup.positions is not None and lineup.positions.max() < trees:
        yield "line-up in order", in_order(contrasts, answers.values[:, lineup.positions])
    elif lineup.positions is None and trees == len(contrasts.votes):
        yield "line-up in order", in_order(contrasts, answers.values)
    yield "line-up out of order", out_of_order(contrasts, answers.values)
    yield from _by_shares(BY_SHARES, contrasts, answers.values.mean(axis=1))


def _by_shares(
    name: str, contrasts: Contrasts, shares: NDArray[np.float64]
) -> Iterator[tuple[str, NDArray[np.float64]]]:
    """Yield the resemblance by shares, or by labels in several ways if that is all they are."""
    if np.isin(shares, (0.0, 1.0)).all():
        for where, some in contrasts.bands():
            yield f"{name}{where}", by_shares(some, shares)
        name = f"{name}, all queries"
    yield name, by_shares(contrasts, shares)


def _figure(resemblance: NDArray[np.float64], places: NDArray[np.int64]) -> str:
    """Return how often the owner's candidate is the most alike; ties count in part."""
    best = resemblance == resemblance.max(axis=1, keepdims=True)
    hits = float((best[np.arange(len(places)), places] / best.sum(axis=1)).sum())
    count, candidates = resemblance.shape
    return (
        f"the owner's candidate is the most alike in {hits:.3g} of {count} positions, "
        f"{count / candidates:.3g} by chance"
    )
