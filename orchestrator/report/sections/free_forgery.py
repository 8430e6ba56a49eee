"""Trigger sets forged with a signature that the claimant chose after seeing the model."""

from __future__ import annotations

from collections import Counter

import pandas as pd

from orchestrator.report.data import Findings, summarise
from orchestrator.report.sections.section import Answer, Grade, Question, Shown
from orchestrator.report.table import make_table
from orchestrator.report.wording import counted, listed

_RULES = ("stopped_by", "stopped_but_for_commitment")
"""Columns of the rules that refuse a set."""


def free_summary(frame: pd.DataFrame) -> pd.DataFrame:
    """Return each kind of forged set, and in words which rules stop it.

    Returns
    -------
    DataFrame
        Of `summarise`; `made` sets have rows, `stopped_by` and `stopped_but_for_commitment` are texts.
        Distances, accuracy and p are of sets that have rows.
    """
    made = frame["size"] > 0
    only = ["mean_distance", "max_distance", "independent_accuracy", "forged_ones_share", "log10_p"]
    kept = frame.assign(made=made, **{name: pd.to_numeric(frame[name]).where(made) for name in only})
    rules = {name: kept[name].fillna("").astype(str).where(made) for name in _RULES}
    return summarise(
        kept.assign(**rules),
        ["method"],
        ["size", "size_over_k", "distinct_cells", *only],
        sort=False,
        made=("made", "sum"),
        **{name: (name, _stopped) for name in _RULES},
    )


def _stopped(rules: pd.Series[str]) -> str:
    """Return which rules stop how many of some sets; a missing text is that of an empty set."""
    made = rules.dropna()
    if made.empty:
        return "nothing was forged"
    counts = Counter(rule for text in made for rule in text.split(", ") if rule)
    if not counts:
        return "no rule: it stands"
    names = listed(
        name if hits == len(made) else f"{name} ({hits} of {len(made)})"
        for name, hits in counts.most_common()
    )
    standing = int((made == "").sum())
    return names + (f"; {standing} of {len(made)} stand" if standing else "")


def show(findings: Findings) -> Shown:
    """Show how large freely forged sets get, and what stops them."""
    frame = findings.frame("free-forgery")
    summary = free_summary(frame)
    return Shown(
        answers=(free_answer(frame),),
        headline=(("Free forgery", _headline(frame)),),
        tables=(make_table("rules-table", summary), make_table("free-forgery-table", summary)),
    )


def free_answer(frame: pd.DataFrame) -> Answer:
    """Return how many forged sets with rows verification refuses; `frame` is that of free forgery."""
    made = frame[frame["size"] > 0]
    refused = int((made["stopped_by"].fillna("") != "").sum())
    return Answer(
        Question.FORGED,
        Grade.GOOD if refused == len(made) else Grade.BAD,
        f"{refused} of {len(made)}",
        "forged sets with a signature of the forger's choice are refused by verification",
        f"{counted(frame['method'].nunique(), 'way')} of forging, {counted(len(frame), 'try', 'tries')}",
    )


def _headline(frame: pd.DataFrame) -> str:
    made = frame[frame["size"] > 0]
    if made.empty:
        return f"None of {counted(len(frame), 'set')} has any row: nothing was forged."
    largest = made.iloc[int(made["size_over_k"].astype(float).argmax())]
    standing, late = (made[made[name].fillna("") == ""] for name in _RULES)
    only = (
        f"the commitment alone stops {len(late) - len(standing)} of them "
        f"({listed(dict.fromkeys(late['method']))})"
        if len(late) > len(standing)
        else "none depends on the commitment alone"
    )
    return (
        f"Of {counted(len(frame), 'set')} of {counted(frame['method'].nunique(), 'kind')}, {len(made)} have "
        f"rows; the largest ({largest['method']}) is {largest['size_over_k']:.2f} times the true one. "
        f"Verification refuses {len(made) - len(standing)} of these {len(made)}; {only}."
    )
