"""Trigger sets forged with a signature that the claimant chose after seeing the model."""

from __future__ import annotations

import math
from collections import Counter
from functools import partial

import altair as alt
import pandas as pd

from orchestrator.report.charts import COLOURS, WIDTH, Chart, figure, rule, with_tooltips
from orchestrator.report.data import Findings, summarise
from orchestrator.report.sections.section import Answer, Grade, Question, Shown
from orchestrator.report.table import make_table
from orchestrator.report.wording import counted, listed, sampled
from wm.verification.evidence import DEFAULT_LEVEL

_RULES = ("stopped_by", "stopped_but_for_commitment")
"""Columns of the rules that refuse a set."""

_OUTCOMES = ("every set is refused", "a set stands")


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
    summary, text = free_summary(frame), _headline(frame)
    drawn = figure("free-forgery", "", partial(sets_chart, frame), findings.origin(frame), summary=text)
    return Shown(
        answers=(free_answer(frame, findings.frame("accuracy")),),
        headline=(("Free forgery", text),),
        figures=(drawn,),
        tables=(make_table("rules-table", summary), make_table("free-forgery-table", summary)),
    )


def sets_chart(frame: pd.DataFrame) -> Chart:
    """Draw the mean size of each kind of forged set over the true one's, and whether it is refused."""
    rows = []
    for method, part in frame.groupby("method", sort=False):
        sizes = part["size_over_k"].astype(float)
        rules = part.loc[part["size"] > 0, "stopped_by"].fillna("").astype(str)
        size = sampled("size / k", sizes.mean(), (sizes.min(), sizes.max()), n=len(part), thing="set")
        rows.append(
            {
                "method": str(method),
                "size": sizes.mean(),
                "outcome": _OUTCOMES[bool((rules == "").any())],
                "tooltip": f"{method}: {size}; {_stopped(rules)}",
            }
        )
    outcome = alt.Color("outcome:N", title=None).scale(domain=list(_OUTCOMES), range=[COLOURS[0], COLOURS[1]])
    bars = (
        alt.Chart(pd.DataFrame(rows))
        .mark_bar()
        .encode(
            x=alt.X("size:Q", title="Size over that of the true set (mean)"),
            y=alt.Y("method:N", title=None, sort=None),
            color=outcome,
        )
    )
    return alt.layer(with_tooltips(bars), rule(x=1.0)).properties(width=WIDTH * 0.6, height=alt.Step(20))


def free_answer(frame: pd.DataFrame, accuracy: pd.DataFrame) -> Answer:
    """Return how many forged sets with rows verification refuses; frames of free forgery and of accuracy.

    The answer is open where true claims are not significant either: then the level refuses everybody.
    """
    made = frame[frame["size"] > 0]
    refused = int((made["stopped_by"].fillna("") != "").sum())
    weak = int((accuracy["log10_p"] > math.log10(DEFAULT_LEVEL)).sum())
    also = f"; also not significant: {weak} of {counted(len(accuracy), 'true claim')}" if weak else ""
    return Answer(
        Question.FORGED,
        Grade.BAD if refused < len(made) else Grade.OPEN if weak else Grade.GOOD,
        f"{refused} of {len(made)}",
        "forged sets with a signature of the forger's choice are refused by verification",
        f"{counted(frame['method'].nunique(), 'way')} of forging, {counted(len(frame), 'try', 'tries')}"
        f"{also}",
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
