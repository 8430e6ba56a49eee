"""What a statement is, and how statements tell of samples."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pandas as pd

from orchestrator.report.summaries import Spread
from orchestrator.report.wording import counted, percent
from wm.statistics import clopper_pearson

NOTHING_YET = "Nothing to tell: no such job has a result."
_CONFIDENCE = 0.95


@dataclass(frozen=True)
class Statement:
    """A topic and what there is to say about it."""

    topic: str
    text: str


def across(spread: Spread, write: Callable[[float], str], centre: str = "mean") -> str:
    """Return a sample's mean, or another centre, with its ends if these are written otherwise."""
    middle, least, most = write(getattr(spread, centre)), write(spread.least), write(spread.most)
    return middle if least == most else f"{middle} ({least} to {most})"


def times(hits: int, trials: int, thing: str) -> str:
    """Return how often something happened, with the exact 95% interval of its chance."""
    rate = clopper_pearson(hits, trials, _CONFIDENCE)
    interval = f"95% interval {percent(rate.low, 0)} to {percent(rate.high, 0)}"
    return f"{hits:,} of {counted(trials, thing)} ({interval})"


def by_forest(frame: pd.DataFrame) -> Iterator[pd.DataFrame]:
    """Yield the rows of each forest: those of one point of the grid."""
    if not frame.empty:
        for _, part in frame.groupby(["scheme", "trigger_share", "ones_share", "repeat"], sort=True):
            yield part


def percent_of(value: float) -> str:
    """Return a share as a percentage with a decimal only where it is not whole."""
    return percent(round(value, 3))
