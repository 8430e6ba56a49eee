"""The cards at the top of the page, against the frames."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from orchestrator.report.data import Findings
from orchestrator.report.sections import Card, cards, sections
from orchestrator.report.sections.embedding import cost_answer
from orchestrator.report.sections.leakage import leak_answers
from orchestrator.report.sections.section import Grade, Question
from orchestrator.report.sections.suppression import filter_answer
from orchestrator.report.sections.verification import verified_answer
from tests.orchestrator.report.conftest import Made, MakeCampaign
from tests.report_page import Page


def _cards(findings: Findings) -> dict[Question, Card]:
    return {card.question: card for card in cards(sections(findings))}


def test_every_question_has_a_card_and_every_attack_an_answer(attacked: Findings) -> None:
    found = _cards(attacked)
    assert list(found) == list(Question)
    answering = {section.name for card in found.values() for section, _ in card.answers}
    silent = {"calibration", "cost", "failures", "provenance"}
    assert answering == {section.name for section, _ in sections(attacked)} - silent


def test_the_worst_answer_comes_first(attacked: Findings) -> None:
    for card in _cards(attacked).values():
        ranks = [list(Grade).index(answer.grade) for _, answer in card.answers]
        assert ranks == sorted(ranks)
        assert card.grade is card.answers[0][1].grade


def test_questions_without_an_answer_are_open(nothing: Made) -> None:
    for card in _cards(nothing.findings).values():
        assert (card.answers, card.grade) == ((), Grade.OPEN)
    assert nothing.page.text.count("Nothing in this campaign answers this yet.") == len(Question)


def test_page_shows_each_number_with_a_sign_besides_the_colour(
    attacked: Findings, attacked_page: Page
) -> None:
    for card in _cards(attacked).values():
        assert f"{card.question} {card.grade.sign} {card.grade.value}" in attacked_page.text
        for _, answer in card.answers:
            assert f"{answer.number} {answer.of}" in attacked_page.text
    assert len({grade.sign for grade in Grade}) == len(Grade)


@pytest.mark.parametrize(
    ("log10_p", "honest", "grade", "number"),
    [
        ([-9, -7], -0.3, Grade.GOOD, "2 of 2"),
        ([-9, -5], -0.3, Grade.MIXED, "1 of 2"),
        ([-3, -5], -0.3, Grade.BAD, "0 of 2"),
        ([-9, -7], -8.0, Grade.BAD, "2 of 2"),
    ],
)
def test_verified_counts_significant_claims(
    log10_p: list[float], honest: float, grade: Grade, number: str
) -> None:
    frame = pd.DataFrame({"log10_p": log10_p, "log10_p_standard": honest})
    answer = verified_answer(frame)
    assert (answer.grade, answer.number) == (grade, number)


@pytest.mark.parametrize(
    ("points", "grade"), [(0.5, Grade.GOOD), (-1.0, Grade.GOOD), (-2.0, Grade.MIXED), (-3.5, Grade.BAD)]
)
def test_cost_is_the_mean_difference(points: float, grade: Grade) -> None:
    low_and_high = np.array([points - 0.25, points + 0.25])
    frame = pd.DataFrame({"accuracy_standard": 0.95, "accuracy_watermarked": 0.95 + low_and_high / 100})
    answer = cost_answer(frame)
    assert answer.grade is grade
    assert float(answer.number.replace("\N{MINUS SIGN}", "-")) == points
    assert "over 2 forests" in answer.spread


def test_only_released_files_count_as_leaking(attacked: Findings) -> None:
    forms = pd.DataFrame({"form": ["as trained", "released", "released"], "leaking": [True, False, False]})
    (answer,) = leak_answers(forms)
    assert (answer.grade, answer.number) == (Grade.GOOD, "0 of 2")
    (answer,) = leak_answers(forms.assign(leaking=True))
    assert (answer.grade, answer.number) == (Grade.BAD, "2 of 2")
    assert not list(leak_answers(forms[:1]))


def test_forged_share_is_that_of_the_largest_set(paper: Findings) -> None:
    frame = paper.frame("forgery")
    largest = (frame["forged"] / frame["trigger_size"]).max()
    (answer,) = (answer for _, answer in _cards(paper)[Question.FORGED].answers)
    assert answer.number == f"{100 * largest:.0f}%"
    is_whole = largest >= 1 or (frame["forged"] == frame["instances"]).any()
    assert answer.grade is (Grade.BAD if is_whole else Grade.OPEN)
    # Of which signatures its mean is.
    assert " over 9 signatures of paper, " in answer.spread
    assert "% ones, the worst of 2 configurations; " in answer.spread
    one = frame[frame["trigger_share"] == 0.02]
    (answer,) = (answer for _, answer in _cards(paper.with_frames(forgery=one))[Question.FORGED].answers)
    assert " over 9 signatures; " in answer.spread


def test_a_modification_that_costs_little_and_ends_the_evidence_is_bad(attacked: Findings) -> None:
    frame = attacked.frame("modification")
    kept = frame.assign(log10_p=-9.0, log10_p_shares=-9.0, accuracy_change=0.0)
    lost = kept.assign(log10_p=kept["log10_p"].where(kept["modification"] != "noise", -1.0))
    lost = lost.assign(log10_p_shares=lost["log10_p"])

    def grade(changed: pd.DataFrame) -> Grade:
        found = _cards(attacked.with_frames(modification=changed))[Question.SURVIVES]
        return next(answer.grade for section, answer in found.answers if section.name == "modification")

    assert grade(kept) is Grade.GOOD
    assert grade(lost) is Grade.BAD
    assert grade(lost.assign(accuracy_change=-0.2)) is Grade.MIXED


def _filtered(*rows: tuple[str, float, float]) -> pd.DataFrame:
    names = ["method", "log10_p_before", "log10_p_after"]
    return pd.DataFrame(rows, columns=names).assign(ordinary_touched=0.25)


def test_of_filters_that_leave_as_many_claims_the_worst_is_named() -> None:
    """It was the first in the alphabet, here one that changes nothing."""
    rows = [(name, -9.0, left) for name, left in (("disagreement", -5.0), ("repeats", 0.0), ("shadow", -2.0))]
    answer = filter_answer(_filtered(*rows))
    assert (answer.number, answer.grade) == ("0 of 1", Grade.BAD)
    assert answer.of.endswith("(repeats)")
    assert answer.spread.startswith("p = 1.000;")


def test_claims_that_were_not_significant_have_nothing_to_survive(attacked: Findings) -> None:
    weak = filter_answer(_filtered(("disagreement", -2.9, -2.9), ("repeats", -2.9, 0.0)))
    said = "Nothing to survive: no claim was significant before"
    assert (f"{weak.number} {weak.of}", weak.grade) == (said, Grade.OPEN)
    one = filter_answer(_filtered(("repeats", -2.9, -2.9), ("repeats", -9.0, -8.0)))
    assert (one.number, one.grade) == ("1 of 1", Grade.GOOD)
    claims = attacked.frame("accuracy").assign(log10_p=-2.9)
    changed = attacked.frame("modification").assign(log10_p=-2.0, log10_p_shares=-2.0)
    card = _cards(attacked.with_frames(accuracy=claims, modification=changed))[Question.SURVIVES]
    (robust,) = (answer for section, answer in card.answers if section.name == "modification")
    assert (f"{robust.number} {robust.of}", robust.grade) == (said, Grade.OPEN)


def test_numbers_of_an_unfinished_campaign_are_of_what_is_done(make_campaign: MakeCampaign) -> None:
    made = make_campaign(unfinished=frozenset({"forgery"}), is_small=True)
    assert _cards(made.findings)[Question.FORGED].answers == ()
    assert len(_cards(made.findings)[Question.COST].answers) == 1
