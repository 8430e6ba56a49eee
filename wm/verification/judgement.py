"""The judgement of a claim of version 3: tests, multiplicity, what is open, and the verdict."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from wm.boosting import tree_classes
from wm.errors import ClaimError
from wm.forest import Forest
from wm.verification.adaptation import AdaptedVotes, model_answers
from wm.verification.answers import AnswerKind, Answers
from wm.verification.asked_rows import Header
from wm.verification.evidence import DEFAULT_LEVEL
from wm.verification.multiplicity import draws_to_choose_from
from wm.verification.randomization import RowTruth, Test
from wm.verification.samples import Sample
from wm.verification.schemes import OF_MARGINS, tests_of
from wm.verification.skill import Skill
from wm.verification.witnesses import beacon_questions

_INCONSISTENT = 0.05
"""Share of repeated questions with another answer from which answers cannot be used."""

_CONTRADICTION = 0.05
"""Share of rows with votes and probabilities for different classes that is worth a note."""


class VerdictKind(StrEnum):
    """The four verdicts."""

    VERIFIED = "verified"
    INDICATION = "indication"
    NOT_VERIFIED = "not verified"
    UNJUDGED = "cannot be judged"


@dataclass(frozen=True)
class Requirements:
    """What a judge asks for.

    Attributes
    ----------
    level
        Largest p-value, after all corrections, that counts as proof, in (0, 1).
    suspect_since
        When the suspect appeared, with a time zone; None if unknown.
    challenge
        The judge's challenge, for an opening.
    opened
        Number of trigger rows that the judge asked to be opened.
    controls
        Number of controls that the judge asked to be opened; None: as `controls_to_open` says.
    tried
        Suspects and openings on which this claim was tried so far, this one included.
    """

    level: float = DEFAULT_LEVEL
    suspect_since: datetime | None = None
    challenge: str | None = None
    opened: int = 1
    controls: int | None = None
    tried: int = 1

    def __post_init__(self) -> None:
        if not 0 < self.level < 1:
            raise ClaimError(f"the level {self.level} is outside (0, 1)")
        if self.tried < 1 or self.opened < 1 or (self.controls is not None and self.controls < 1):
            raise ClaimError("suspects tried, rows opened and controls must be at least 1")
        if self.suspect_since is not None and self.suspect_since.tzinfo is None:
            raise ClaimError("the time when the suspect appeared needs a time zone")


@dataclass(frozen=True, eq=False)
class Response:
    """A suspect's answers to a sample's rows, or to the queries of a line-up.

    Attributes
    ----------
    answers
        Of each kind that it gave, each on the rows `asked`.
    asked : (q,)
        Places of the answered rows in the sample, or among the queries, distinct.
    asked_twice, answered_differently
        Number of rows that were asked again, and of those with another answer.
    notes
        What was adapted, in words.
    outputs : (q, trees) or None
        What each tree of a suspect of a boosted line-up adds to the margin of class 1; None: unknown.
    others
        Its answers by other adaptations that are nearly as good: all are judged, the best one counts.
    """

    answers: Mapping[AnswerKind, Answers]
    asked: NDArray[np.int64]
    asked_twice: int = 0
    answered_differently: int = 0
    notes: tuple[str, ...] = ()
    outputs: NDArray[np.float64] | None = None
    others: tuple[Response, ...] = ()

    def noted(self, *notes: str) -> Response:
        """Return the response with more notes, by whatever adaptation."""
        others = tuple(each.noted(*notes) for each in self.others)
        return replace(self, notes=(*self.notes, *notes), others=others)


def best_response(
    response: Response, tests: Callable[[Response], tuple[Test, ...]]
) -> tuple[Response, tuple[Test, ...], list[tuple[float, str]]]:
    """Return of a suspect's answers by several adaptations the most significant, and the factor to pay."""
    every = [(each, tests(each)) for each in (response, *response.others)]
    factors = [(float(len(every)), f"ways to ask the suspect: {len(every)}")] if response.others else []
    best, found = min(every, key=lambda each: min(test.log10_adjusted for test in each[1]))
    return best, found, factors


@dataclass(frozen=True)
class Significance:
    """The most significant of several tests.

    Attributes
    ----------
    name
        Of the test.
    log10_p
        Its adjusted p-value times the multiplicity, as a power of ten, at most 0.
    log10_floor
        The smallest that one of the tests could have given.
    level
        What it is compared with.
    """

    name: str
    log10_p: float
    log10_floor: float
    level: float

    @classmethod
    def of(cls, tests: Sequence[Test], multiplicity: float, level: float) -> Significance:
        """Return the best of one or more tests, times its multiplicity."""
        best = min(tests, key=lambda each: each.log10_adjusted)
        floor = min(each.log10_floor for each in tests) + math.log10(len(tests) * multiplicity)
        return cls(best.name, min(0.0, best.log10_adjusted + math.log10(multiplicity)), floor, level)

    @property
    def is_reached(self) -> bool:
        """Whether p is at most the level."""
        return self.log10_p <= math.log10(self.level)

    @property
    def is_reachable(self) -> bool:
        """Whether any answers would have reached the level."""
        return self.log10_floor <= math.log10(self.level)

    @property
    def reason(self) -> str:
        """The test and its p-value, in words."""
        return f"{self.name}: {self._figure}"

    @property
    def nothing(self) -> str:
        """That no test reached the level, in words."""
        return f"no test is significant: {self._figure}"

    @property
    def _figure(self) -> str:
        return f"p = 10^{self.log10_p:.1f} after all corrections, level {self.level:g}"


Decision = tuple[VerdictKind, str, str]
"""Verdict, its reason, and what would be needed for another."""


@dataclass(frozen=True)
class Judgement:
    """The verdict and what led to it.

    Attributes
    ----------
    verdict, reason
        The verdict, and one sentence.
    tests
        Every test of the list that the answers allow.
    log10_p
        The smallest adjusted p-value times `multiplicity`, as a power of ten, at most 0.
    level
        What it is compared with.
    multiplicity
        Number of draws that the claimant could have chosen from, times the suspects tried.
    factors
        The parts of `multiplicity`, in words.
    open_questions
        What keeps a small p-value from being a proof.
    notes
        What else the judge should know: adaptations, accuracy, contradictions.
    needed
        What would be needed for a verdict.
    """

    verdict: VerdictKind
    reason: str
    tests: tuple[Test, ...]
    log10_p: float
    level: float
    multiplicity: float
    factors: tuple[str, ...]
    open_questions: tuple[str, ...]
    notes: tuple[str, ...]
    needed: str = field(default="")


def model_response(forest: Forest, sample: Sample, names: Sequence[str] = ()) -> Response:
    """Return a suspect model's answers to all rows that a claim shows, adapted as `model_answers` does."""
    return voted_response(model_answers(forest, sample, names))


def voted_response(adapted: AdaptedVotes) -> Response:
    """Return a voting forest's answers to all rows."""
    others = tuple(map(voted_response, adapted.others))
    return Response(adapted.answers, np.arange(len(adapted.rows)), notes=adapted.notes, others=others)


def judge_sample(sample: Sample, response: Response, requirements: Requirements | None = None) -> Judgement:
    """Judge a suspect's answers to a claim's rows.

    Raises
    ------
    ClaimError
        No answers, or none to trigger rows or none to controls.
    """
    asked, response = requirements or Requirements(), _with_tree_classes(response, sample)
    is_trigger = sample.is_trigger[response.asked]
    if not response.answers or not is_trigger.any() or is_trigger.all():
        raise ClaimError("answers to trigger rows and to controls are needed: ask the rows of wm queries")
    truth = RowTruth(sample.y[response.asked], is_trigger, sample.marks(response.asked))
    of_scheme = tests_of(sample.header.scheme)
    response, tests, ways = best_response(response, lambda each: of_scheme(each.answers, truth))
    multiplicity, factors = draws_to_choose_from(
        sample, level=asked.level, controls=asked.controls, tried=asked.tried
    )
    multiplicity *= math.prod(factor for factor, _ in ways)
    factors = (*factors, *(text for _, text in ways))
    found = Significance.of(tests, multiplicity, asked.level)
    open_questions = tuple(_open_questions(sample, asked))
    classes = len(sample.header.class_names)
    skill = Skill.of(response.answers, ~is_trigger, truth.labels, classes)
    notes = (
        *response.notes,
        *repeated(response),
        f"balanced accuracy {skill.accuracy:.3g} on the controls",
        # The majority of the signs of margins is no class that a model answers.
        *(() if sample.header.scheme in OF_MARGINS else _contradictions(response.answers, classes)),
    )
    if found.is_reached:
        kind, reason, needed = positive(found, open_questions)
    else:
        unasked = len(sample.y) - len(response.asked)
        rest = f"answers to the other {unasked} controls that the claim shows" if unasked else ""
        if found.is_reachable:
            kind, reason, needed = _negative(found, response, skill, sample.header)
            needed = needed or (rest and f"perhaps {rest}")
        else:
            kind, reason, needed = _unreachable(found, response, truth, factors)
            needed = f"{rest}, {needed}" if rest else needed
    return Judgement(
        verdict=kind,
        reason=reason,
        tests=tests,
        log10_p=found.log10_p,
        level=asked.level,
        multiplicity=multiplicity,
        factors=factors,
        open_questions=open_questions,
        notes=notes,
        needed=needed,
    )


def _with_tree_classes(response: Response, sample: Sample) -> Response:
    """Return answers whose votes for and against classes say for which each tree is: as in the claim."""
    votes, classes = response.answers.get("votes"), len(sample.header.class_names)
    if (
        sample.header.scheme not in OF_MARGINS
        or classes == 2
        or votes is None
        or votes.tree_classes is not None
    ):
        return response
    if votes.values.max() > 1:
        raise ClaimError(
            f"votes of a boosted model of {classes} classes must be 1 where a tree's margin is above its "
            "centre, and 0 elsewhere"
        )
    named = replace(votes, tree_classes=tree_classes(votes.values.shape[1], classes))
    others = tuple(_with_tree_classes(each, sample) for each in response.others)
    return replace(response, answers={**response.answers, "votes": named}, others=others)


def positive(found: Significance, open_questions: Sequence[str]) -> Decision:
    """Return the verdict if a test is significant."""
    if open_questions:
        return VerdictKind.INDICATION, f"{found.reason}; open: {open_questions[0]}", ""
    return VerdictKind.VERIFIED, found.reason, ""


def repeated(response: Response) -> tuple[str, ...]:
    """Return how many questions had another answer when asked again, in words; nothing if none had."""
    if not response.answered_differently:
        return ()
    return (
        f"{response.answered_differently} of {response.asked_twice} repeated questions had another answer",
    )


def inconsistent(response: Response) -> Decision | None:
    """Return why answers that contradict each other cannot be judged; None if they hardly do."""
    if response.answered_differently <= _INCONSISTENT * max(1, response.asked_twice):
        return None
    (reason,) = repeated(response)
    return (
        VerdictKind.UNJUDGED,
        reason,
        "a suspect that answers equal questions alike, or more answers to each",
    )


def _unreachable(
    found: Significance, response: Response, truth: RowTruth, factors: Sequence[str]
) -> Decision:
    """Return the verdict if no answers of this kind could be significant."""
    size = int(truth.is_trigger.sum())
    more = "more controls or trigger rows, or fewer corrections"
    return (
        VerdictKind.UNJUDGED,
        f"{size} trigger rows among {len(truth.labels)} cannot give p below 10^{found.log10_floor:.1f}, the "
        f"level is {found.level:g}; corrected for {'; '.join(factors)}",
        more if "votes" in response.answers else f"the votes of each tree, {more}",
    )


def _negative(found: Significance, response: Response, skill: Skill, header: Header) -> Decision:
    """Return the verdict if a test could have been significant, and none is."""
    if unusable := inconsistent(response):
        return unusable
    if not skill.knows:
        return VerdictKind.UNJUDGED, skill.reason("the controls"), skill.needed(header)
    return VerdictKind.NOT_VERIFIED, found.nothing, ""


def _open_questions(sample: Sample, asked: Requirements) -> Iterator[str]:
    yield from beacon_questions(sample.beacons, sample.trusted_beacons, asked.suspect_since)
    if sample.challenge is None:
        return
    if asked.challenge != sample.challenge:
        yield "the opened rows were not drawn by your challenge"
    if sample.size != asked.opened:
        yield f"{sample.size} trigger rows are opened, {asked.opened} were asked for"
    controls = len(sample.y) - sample.size
    if asked.controls not in (None, controls):
        yield f"{controls} controls are opened, {asked.controls} were asked for"


def _contradictions(answers: Mapping[AnswerKind, Answers], classes: int) -> Iterator[str]:
    first, *others = (each.shares(classes) for each in answers.values())
    for kind, other in zip(list(answers)[1:], others, strict=True):
        # A tie contradicts neither class, and trigger rows are tied if half of the bits are 1.
        tops = [shares >= shares.max(axis=1, keepdims=True) for shares in (first, other)]
        share = float((~(tops[0] & tops[1]).any(axis=1)).mean())
        if share > _CONTRADICTION:
            yield (
                f"{next(iter(answers))} and {kind} contradict each other on {share:.0%} of the rows: both "
                "are judged"
            )
