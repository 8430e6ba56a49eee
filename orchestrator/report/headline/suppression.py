"""How well trigger queries were spotted, and what that is good for."""

from __future__ import annotations

from itertools import groupby

import pandas as pd

from orchestrator.report.findings import Findings
from orchestrator.report.headline.statement import NOTHING_YET, across, by_forest, percent_of, times
from orchestrator.report.summaries import Spread, suppression_summaries
from orchestrator.report.wording import listed, number, p_value_of_log10, ranged

_KNOWN = 0.99
"""Share of the bits from which on a signature counts as known."""


def suppression(findings: Findings) -> str:
    """Tell how many trigger queries each method spots, what a filter leaves, and how fast bits are known."""
    summaries = suppression_summaries(findings.suppression)
    if not summaries:
        return NOTHING_YET
    texts = []
    for method, rows in groupby(sorted(summaries, key=lambda row: row.method), key=lambda row: row.method):
        several = list(rows)
        spotted = ranged([round(100 * row.tpr_at_1pct_fpr.mean, 1) for row in several], "{:g}%")
        area = ranged([row.auc.mean for row in several], "{:.3f}")
        texts.append(f"{method} spots {spotted} of the trigger queries (AUC {area})")
    many = len({row.configuration for row in summaries})
    return (
        f"At no more than 1% of ordinary queries suspected, {listed(texts)}"
        f"{f'; ranges over {many} configurations' if many > 1 else ''}. {_filters(findings.suppression)}"
        f"{_budget(findings.budget_curves)}"
    )


def _filters(frame: pd.DataFrame) -> str:
    before = Spread.of(frame["log10_p_before"])
    texts = [
        f"{method} leaves p = {across(Spread.of(part['log10_p_after']), p_value_of_log10, 'median')} and "
        f"touches {across(Spread.of(part['ordinary_touched']), percent_of)} of the ordinary queries"
        for method, part in frame.groupby("method", sort=True)
    ]
    return f"Of claims with p = {across(before, p_value_of_log10, 'median')}, the filter by {listed(texts)}."


def _budget(frame: pd.DataFrame) -> str:
    """Return after how many trigger queries each method knows the signature, in how many forests."""
    texts = []
    for method, part in frame.groupby("method", sort=True):
        forests = list(by_forest(part))
        needed = [
            int(known["trigger_queries"].min())
            for forest in forests
            if not (known := forest[forest["bits"] >= _KNOWN]).empty
        ]
        after = f", after {across(Spread.of(needed), number)} trigger queries" if needed else ""
        texts.append(f"{method} in {times(len(needed), len(forests), 'forest')}{after}")
    if not texts:
        return ""
    return f" At least {percent_of(_KNOWN)} of the signature is known by {listed(texts)}."
