"""Evasions of a true claim, innocent forests, and false claims, judged as by `wm verify`."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import pandas as pd

from orchestrator.report.charts import Chart, counted_bars, figure
from orchestrator.report.data import CONFIGURATION, Findings, each_row, summarise
from orchestrator.report.sections.section import Answer, Grade, Question, Shown, nothing_to_survive
from orchestrator.report.table import make_table
from orchestrator.report.wording import interval, listed, percent
from wm.attacks.claims import RELEASED, TRUE
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
    verified, copies = frame["verdict"] == "verified", _copies(frame)
    if copies.empty and len(_by_model(frame)):
        yield nothing_to_survive("verified")
    elif len(copies):
        kept = copies["verdict"] == "verified"
        yield Answer(
            Question.SURVIVES,
            Grade.GOOD if kept.all() else Grade.MIXED if kept.any() else Grade.BAD,
            f"{int(kept.sum())} of {len(copies)}",
            "changed copies are verified by the judge's rules",
        )
    innocent = (frame["claim"] != TRUE) | (frame["suspect"] == HONEST)
    false, tried = int((verified & innocent).sum()), int(innocent.sum())
    if tried:
        yield Answer(
            Question.VERIFIED,
            Grade.BAD if false else Grade.GOOD,
            f"{false} of {tried}",
            "judgements of innocent forests and of false claims say verified",
            interval(false, tried),
        )


def _by_model(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the judgements of evasions of true claims by the model itself."""
    return frame[(frame["claim"] == TRUE) & (frame["suspect"] != HONEST) & (frame["answers"] == "model")]


def _copies(frame: pd.DataFrame) -> pd.DataFrame:
    """Return those of changed copies of forests that are verified as released, so far as it was judged."""
    judged, place = _by_model(frame), [*CONFIGURATION, "repeat"]
    own = judged[judged["suspect"] == RELEASED]
    lost = own.loc[own["verdict"] != "verified", place].assign(lost=True)
    changed = judged[judged["suspect"] != RELEASED].merge(lost, how="left", on=place)
    return changed[changed["lost"].isna()]


def _text(frame: pd.DataFrame) -> str:
    is_true, copies = frame["claim"] == TRUE, _copies(frame)
    innocent = is_true & (frame["suspect"] == HONEST)
    text = f"{_evasions(copies)}Innocent forests are verified in {_verified(frame[innocent])}."
    if is_true.all():
        return text
    return f"{text} False claims are verified in {_verified(frame[~is_true])}."


def _evasions(copies: pd.DataFrame) -> str:
    """Return how many changed copies are verified, and how often each of the others is not."""
    if copies.empty:
        return ""
    evading = copies["verdict"] != "verified"
    each = evading.groupby(copies["suspect"], sort=True).agg(["sum", "size"]).query("sum > 0")
    names = listed(f"{row.Index} ({row.sum} of {row.size})" for row in each_row(each))
    others = f"; not verified: {names}" if names else ""
    return (
        f"By the model itself, {int((~evading).sum())} of {len(copies)} changed copies of forests that are "
        f"verified as released are verified{others}. "
    )


def _verified(frame: pd.DataFrame) -> str:
    """Return how many judgements of claims that should fail did not."""
    found, tried = int((frame["verdict"] == "verified").sum()), len(frame)
    bound = clopper_pearson(found, tried).high
    return f"{found} of {tried} judgements (at most {percent(bound, 1)} with 95% confidence)"
