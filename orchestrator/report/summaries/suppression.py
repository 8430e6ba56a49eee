"""How well trigger queries are spotted, and what that is good for, over repeats."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from orchestrator.report.grid import Configuration, by_configuration
from orchestrator.report.summaries.spread import Spread


@dataclass(frozen=True)
class SuppressionSummary:
    """How well one method spots the trigger queries of one configuration, and what its filter does.

    Attributes
    ----------
    triggers, ordinary
        Queries of each kind.
    triggers_spotted, ordinary_touched, ordinary_votes_changed
        Of the filter: shares of trigger queries, of ordinary queries, and of the votes on these.
    log10_p_before, log10_p_after
        Of the claim without and with the filter.
    bits, null_bits
        Share of the signature read off the spotted queries, up to complement, and its mean for random
        signatures; None where no forest had a query spotted. Their `n` counts the forests that had.
    """

    configuration: Configuration
    method: str
    auc: Spread
    tpr_at_1pct_fpr: Spread
    triggers: int
    ordinary: int
    triggers_spotted: Spread
    ordinary_touched: Spread
    ordinary_votes_changed: Spread
    log10_p_before: Spread
    log10_p_after: Spread
    bits: Spread | None
    null_bits: Spread | None


def suppression_summaries(frame: pd.DataFrame) -> list[SuppressionSummary]:
    """Summarize the suppression frame, a row for each configuration and method."""
    return [
        SuppressionSummary(
            configuration=configuration,
            method=str(method),
            auc=Spread.of(part["auc"]),
            tpr_at_1pct_fpr=Spread.of(part["tpr_at_1pct_fpr"]),
            triggers=int(part["triggers"].iloc[0]),
            ordinary=int(part["ordinary"].iloc[0]),
            triggers_spotted=Spread.of(part["triggers_spotted"]),
            ordinary_touched=Spread.of(part["ordinary_touched"]),
            ordinary_votes_changed=Spread.of(part["ordinary_votes_changed"]),
            log10_p_before=Spread.of(part["log10_p_before"]),
            log10_p_after=Spread.of(part["log10_p_after"]),
            bits=Spread.of_known(part["bits"]),
            null_bits=Spread.of_known(part["null_bits"]),
        )
        for configuration, whole in by_configuration(frame)
        for method, part in whole.groupby("method", sort=True)
    ]


@dataclass(frozen=True)
class BudgetSummary:
    """What one method knows of the signature after some trigger queries.

    Attributes
    ----------
    bits
        Mean share known over random orders of the stream; over repeats.
    low, high
        Smallest and largest share of any order in any repeat.
    null_bits, spotted
        Means over repeats: share that an unrelated guess would have, and queries suspected so far.
    """

    configuration: Configuration
    method: str
    trigger_queries: int
    bits: Spread
    low: float
    high: float
    null_bits: float
    spotted: float


def budget_summaries(frame: pd.DataFrame) -> list[BudgetSummary]:
    """Summarize the budget curves, a row for each configuration, method and number of trigger queries."""
    return [
        BudgetSummary(
            configuration=configuration,
            method=str(method),
            trigger_queries=int(str(queries)),
            bits=Spread.of(part["bits"]),
            low=float(part["low"].min()),
            high=float(part["high"].max()),
            null_bits=float(part["null_bits"].mean()),
            spotted=float(part["spotted"].mean()),
        )
        for configuration, whole in by_configuration(frame)
        for method, curve in whole.groupby("method", sort=True)
        for queries, part in curve.groupby("trigger_queries", sort=True)
    ]
