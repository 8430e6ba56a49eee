"""The verdict of a line-up."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wm.claims.beacons.base import BeaconValue, Trust
from wm.claims.lineup import Drawn, LineupHeader, drawn_value
from wm.claims.lineup_opened import OpenedLineup
from wm.errors import ClaimError
from wm.forest import Forest
from wm.models import TreeModel
from wm.verification.adaptation import model_answers
from wm.verification.answers import AnswerKind, Answers
from wm.verification.asked_rows import Header
from wm.verification.judgement import (
    Decision,
    Judgement,
    Requirements,
    Response,
    Significance,
    VerdictKind,
    best_response,
    inconsistent,
    positive,
    repeated,
    voted_response,
)
from wm.verification.lineup.candidates import Lineup
from wm.verification.lineup.evidence import lineup_tests, round_tests
from wm.verification.lineup.queries import UNLABELLED, Queries
from wm.verification.lineup.rounds import RoundLineup
from wm.verification.randomization import Test
from wm.verification.skill import Skill
from wm.verification.suspects import AdaptedMargins, adapted_margins, prepared_votes
from wm.verification.witnesses import beacon_questions, choices_of_beacons

_CLASSES = 2
"""Classes of a line-up."""

UNKNOWN_ROWS = "nothing shows that the rows asked were fixed before the suspect was known"
"""Open where rows of a claimant's choice are asked: among many he finds some that single out any model."""


@dataclass(frozen=True, eq=False)
class Asked:
    """The questions of a line-up with what is known of the model that they are meant for.

    Attributes
    ----------
    header
        What is known of the rows, as of a claim.
    X : (q, d), y : (q,), reference : (r, d)
        As in `wm.verification.lineup.queries.Queries`.
    """

    header: Header
    X: NDArray[np.float32]
    y: NDArray[np.int64]
    reference: NDArray[np.float32]


def model_lineup_answers(
    forest: Forest, header: Header, queries: Queries, names: Sequence[str] = ()
) -> Response:
    """Return a suspect model's answers to all queries, adapted by the labels of natural rows and mixups.

    Parameters
    ----------
    header
        Of the claim, or whatever else says how the rows were made.
    names
        Of the model's features, if its file says.
    """
    asked = Asked(header, queries.X, queries.y, queries.reference)
    return voted_response(model_answers(forest, asked, names))


def lineup_answers(
    suspect: Forest | TreeModel, header: LineupHeader, queries: Queries, *, what: str
) -> Response:
    """Return what a suspect model answers to all queries of a claim's line-up.

    Parameters
    ----------
    what
        Name of the model in errors.

    Raises
    ------
    ModelError
        Margins of other classes than the claim's two, or rows that a pipeline cannot prepare.
    """
    if isinstance(suspect, Forest):
        return model_lineup_answers(suspect, header, queries)
    asked = Asked(header, queries.X, queries.y, queries.reference)
    if suspect.answers == "votes":
        if suspect.preparation is not None:
            return prepared_votes(suspect, asked, what)
        return model_lineup_answers(suspect.voting_forest(what), header, queries, suspect.feature_names)
    return _added_response(adapted_margins(suspect, asked, what), is_boosted=header.is_boosted)


def _added_response(found: AdaptedMargins, *, is_boosted: bool) -> Response:
    """Return a boosted model's answers to all queries of the line-up of a boosted model or a forest."""
    answers: dict[AnswerKind, Answers] = {"probabilities": Answers("probabilities", found.shares[:, 1])}
    if not is_boosted:  # a forest whose votes were made margins
        answers = {"votes": Answers("votes", found.votes), **answers}
    others = tuple(_added_response(each, is_boosted=is_boosted) for each in found.others)
    asked = np.arange(len(found.shares))
    return Response(answers, asked, notes=found.notes, outputs=found.added, others=others)


def judge_lineup(
    claim: Drawn,
    lineup: Lineup | RoundLineup,
    queries: Queries,
    given: Response,
    requirements: Requirements | None = None,
    *,
    trust: Trust | None = None,
    log: tuple[str, ...] = (),
    open_questions: tuple[str, ...] = (),
) -> Judgement:
    """Judge a suspect's answers by a line-up.

    Parameters
    ----------
    trust, log
        As in `wm.claims.beacons.check_receipts`.
    open_questions
        What else keeps a verdict from being more than an indication, as `UNKNOWN_ROWS`: queries may depend on
        the claimant only through training rows that the claim's context fixes.

    Raises
    ------
    ClaimError
        A claim without draw, no answers, or answers to other queries.
    """
    asked = requirements or Requirements()
    if not given.answers or any(len(each) != len(queries.y) for each in given.answers.values()):
        raise ClaimError(f"an answer to each of the {len(queries.y)} queries of the line-up is needed")
    _, beacons = drawn_value(claim, trust=trust, log=log)
    trusted = 0 if trust is None else trust.size

    def tests_of(each: Response) -> tuple[Test, ...]:
        if isinstance(lineup, RoundLineup):
            return round_tests(lineup, each)
        return lineup_tests(lineup, each.answers)

    given, tests, ways = best_response(given, tests_of)
    tried = (float(asked.tried), f"suspects tried: {asked.tried}")
    factors = [*choices_of_beacons(beacons, trusted), tried, *ways]
    multiplicity = math.prod(value for value, _ in factors)
    found = Significance.of(tests, multiplicity, asked.level)
    questions = (
        *beacon_questions(beacons, trusted, asked.suspect_since),
        *_opening_questions(claim, asked),
        *open_questions,
    )
    known = queries.y != UNLABELLED
    skill = Skill.of(given.answers, known, queries.y, _CLASSES) if known.any() else None
    kind, reason, needed = _decided(claim, found, asked, beacons, questions)
    if kind is VerdictKind.NOT_VERIFIED:
        kind, reason, needed = _usable(given, skill, claim.header) or (kind, reason, needed)
    notes = [*given.notes, *repeated(given), *queries.notes, *_about(claim, lineup)]
    if skill is not None:
        notes.append(f"balanced accuracy {skill.accuracy:.3g} on the queries whose class is known")
    return Judgement(
        verdict=kind,
        reason=reason,
        tests=tests,
        log10_p=found.log10_p,
        level=asked.level,
        multiplicity=multiplicity,
        factors=tuple(text for _, text in factors),
        open_questions=questions,
        notes=tuple(notes),
        needed=needed,
    )


def _opening_questions(claim: Drawn, asked: Requirements) -> Iterator[str]:
    if isinstance(claim, OpenedLineup):
        if asked.challenge != claim.challenge:
            yield "the opened positions were not drawn by your challenge"
        if asked.opened != len(claim.positions):
            yield f"{len(claim.positions)} positions are opened, {asked.opened} were asked for"


def _decided(
    claim: Drawn,
    found: Significance,
    asked: Requirements,
    beacons: tuple[BeaconValue, ...],
    questions: tuple[str, ...],
) -> Decision:
    if not found.is_reachable:
        return (
            VerdictKind.UNJUDGED,
            f"this line-up cannot give p below 10^{found.log10_floor:.1f}, the level is {found.level:g}",
            "more candidates for each position, or queries that trees of other seeds answer differently",
        )
    if not found.is_reached:
        return (
            VerdictKind.NOT_VERIFIED,
            found.nothing,
            "perhaps more candidates or queries; of a suspect known by labels, boundary points",
        )
    if claim.header.mode == "committed" and not _is_older(beacons, asked):
        return (
            VerdictKind.UNJUDGED,
            "whoever holds the suspect can commit to its trees among others afterwards and choose the draw; "
            f"without that, {found.reason}",
            "a draw that a beacon you trust gave before the suspect appeared, or a claim with retrained "
            "candidates",
        )
    return positive(found, questions)


def _is_older(beacons: tuple[BeaconValue, ...], asked: Requirements) -> bool:
    """Return whether a trusted beacon gave the draw before the suspect appeared."""
    times = [each.time for each in beacons if each.trusted and each.time is not None]
    return bool(times) and asked.suspect_since is not None and max(times) < asked.suspect_since


def _usable(given: Response, skill: Skill | None, header: Header) -> Decision | None:
    """Return why answers that show no resemblance cannot be judged; None if they can."""
    if unusable := inconsistent(given):
        return unusable
    if skill is not None and not skill.knows:
        return VerdictKind.UNJUDGED, skill.reason("rows of known classes"), skill.needed(header)
    return None


def _about(claim: Drawn, lineup: Lineup | RoundLineup) -> Iterator[str]:
    positions, candidates, queries = lineup.shape
    what = "rounds" if isinstance(lineup, RoundLineup) else "positions"
    yield f"{candidates} {claim.header.mode} candidates for each of {positions} {what}, {queries} queries"
