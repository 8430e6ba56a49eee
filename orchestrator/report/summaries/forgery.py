"""Sizes of forged trigger sets at given distances, over signatures and repeats."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from orchestrator.report.grid import Configuration, by_configuration, repeats_of
from orchestrator.report.summaries.spread import Spread

UNDECIDED = ("timeout", "memout", "error")
"""Outcomes of a forgery query that leave open whether there is a forged instance."""


@dataclass(frozen=True)
class ForgerySummary:
    """Forged set sizes of one configuration, engine and eps over signatures and repeats.

    Attributes
    ----------
    signatures, repeats
        Of those that have any outcome; together they are the sample of `forged`.
    trigger_size
        Rows of the true trigger set; None while nothing is embedded.
    forged
        Forged instances of each signature; None while no query has an outcome. A query without a decision
        counts as not forged here, so that this is a lower limit.
    most_possible
        The same if every query without a decision were forged: the upper limit.
    total_forged, impossible, timeout, memout, error, pending
        Queries by outcome, of all signatures planned; `pending` ones have no outcome yet, or never will.
    followed
        Of those, queries that were not asked: their outcome follows from that at another eps.
    seconds_total
        Solving time of all queries.
    seconds
        Solving time of one signature's queries, over signatures that had to be asked any; None without any.
    """

    configuration: Configuration
    engine: str
    eps: float
    signatures: int
    repeats: int
    trigger_size: int | None
    forged: Spread | None
    most_possible: Spread | None
    instances: int
    total_forged: int
    impossible: int
    timeout: int
    memout: int
    error: int
    pending: int
    followed: int
    seconds_total: float
    seconds: Spread | None

    @property
    def undecided(self) -> int:
        """Queries that do not tell whether there is a forged instance."""
        return self.timeout + self.memout + self.error + self.pending


def with_pending(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the forgery frame with `ended`, `pending` and `most_possible` for each signature."""
    undecided = frame[list(UNDECIDED)].sum(axis=1)
    ended = frame["forged"] + frame["impossible"] + undecided
    pending = frame["instances"] - ended
    return frame.assign(ended=ended, pending=pending, most_possible=frame["forged"] + undecided + pending)


def forgery_summaries(frame: pd.DataFrame) -> list[ForgerySummary]:
    """Summarize the forgery frame, a row for each configuration, engine and eps."""
    return [
        _forgery_summary(configuration, part)
        for configuration, whole in by_configuration(with_pending(frame))
        for _, part in whole.groupby(["engine", "eps"], sort=True)
    ]


def _forgery_summary(configuration: Configuration, part: pd.DataFrame) -> ForgerySummary:
    begun = part[part["ended"] > 0]
    sizes = part["trigger_size"].dropna()
    asked = begun[begun["followed"] < begun["ended"]]
    sums = part[["instances", "forged", "impossible", *UNDECIDED, "pending", "followed"]].sum().astype(int)
    some = not begun.empty
    return ForgerySummary(
        configuration=configuration,
        engine=str(part["engine"].iloc[0]),
        eps=float(part["eps"].iloc[0]),
        signatures=int(begun["signature"].nunique()),
        repeats=repeats_of(begun),
        trigger_size=None if sizes.empty else int(sizes.iloc[0]),
        forged=Spread.of(begun["forged"]) if some else None,
        most_possible=Spread.of(begun["most_possible"]) if some else None,
        instances=int(sums["instances"]),
        total_forged=int(sums["forged"]),
        impossible=int(sums["impossible"]),
        timeout=int(sums["timeout"]),
        memout=int(sums["memout"]),
        error=int(sums["error"]),
        pending=int(sums["pending"]),
        followed=int(sums["followed"]),
        seconds_total=float(begun["seconds"].sum()),
        seconds=None if asked.empty else Spread.of(asked["seconds"]),
    )
