"""Evasions of a true claim, innocent forests, and false claims, judged as by `wm verify`."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import pandas as pd

from orchestrator.report.charts import Chart, counted_bars, figure
from orchestrator.report.data import Findings, summarise
from orchestrator.report.sections.section import Answer, Grade, Question, Shown
from orchestrator.report.table import make_table
from orchestrator.report.wording import interval, percent
from wm.attacks.claims import TRUE
from wm.statistics import clopper_pearson

HONEST = "honest"


def verdict_summary(frame: pd.DataFrame) -> pd.DataFrame:
    """Return verdicts by claim, suspect and kind of answers, of the frame "claims".

    Returns
    -------
    DataFrame
        Of `summarise` over judgements, with the number of `verified` ones.
    """
    judged = frame.assign(verified=frame["verdict"] == "verified")
    return summarise(
        judged,
        ["claim", "answers", "suspect"],
        ["log10_p", "accuracy", "shared_mistakes"],
        sort=False,
        verified=("verified", "sum"),
    )


def show(findings: Findings) -> Shown:
    """Show which evasions help a thief, and how often an innocent forest is verified."""
    frame = findings.frame("claims")
    text = _text(frame)
    drawn = figure("claims", "", partial(verdicts_chart, frame), findings.origin(frame), summary=text)
    return Shown(
        answers=tuple(verdict_answers(frame)),
        headline=(("Claims", text),),
        figures=(drawn,),
        tables=(make_table("verdicts-table", verdict_summary(frame)),),
    )


def verdicts_chart(frame: pd.DataFrame) -> Chart:
    """Draw how many judgements of each claim and suspect say verified, by any answers."""
    named = frame["suspect"].where(frame["claim"] == TRUE, frame["claim"] + ": " + frame["suspect"])
    verified, parts = frame["verdict"] == "verified", ("verified", "not verified")
    return counted_bars(verified, named, parts, "#0b4a8f", title="Judgements", step=14)


def verdict_answers(frame: pd.DataFrame) -> Iterator[Answer]:
    """Yield how many copies are verified by the model itself, and how many innocents by any answers."""
    verified, is_true = frame["verdict"] == "verified", frame["claim"] == TRUE
    innocent = ~is_true | (frame["suspect"] == HONEST)
    copies = verified[~innocent & (frame["answers"] == "model")]
    if len(copies):
        yield Answer(
            Question.SURVIVES,
            Grade.GOOD if copies.all() else Grade.MIXED if copies.any() else Grade.BAD,
            f"{int(copies.sum())} of {len(copies)}",
            "changed copies are verified by the judge's rules",
        )
    false, tried = int((verified & innocent).sum()), int(innocent.sum())
    if tried:
        yield Answer(
            Question.VERIFIED,
            Grade.BAD if false else Grade.GOOD,
            f"{false} of {tried}",
            "judgements of innocent forests and of false claims say verified",
            interval(false, tried),
        )


def _text(frame: pd.DataFrame) -> str:
    is_true = frame["claim"] == TRUE
    innocent = is_true & (frame["suspect"] == HONEST)
    judged = frame[is_true & ~innocent & (frame["answers"] == "model")]
    evading = sorted(set(judged[judged["verdict"] != "verified"]["suspect"]))
    helped = f"but {', '.join(evading)}" if evading else "without exception"
    text = (
        f"By the model itself, every changed copy is verified {helped}. Innocent forests are verified in "
        f"{_verified(frame[innocent])}."
    )
    if is_true.all():
        return text
    return f"{text} False claims are verified in {_verified(frame[~is_true])}."


def _verified(frame: pd.DataFrame) -> str:
    """Return how many judgements of claims that should fail did not."""
    found, tried = int((frame["verdict"] == "verified").sum()), len(frame)
    bound = clopper_pearson(found, tried).high
    return f"{found} of {tried} judgements (at most {percent(bound, 1)} with 95% confidence)"
