"""The counted false positives of a p-value, by the place where the p-value itself is shown."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd

from orchestrator.report import cells

LEVEL = 0.05
"""Level at which tables give the rate: the one that the fewest forests suffice for."""

VERIFY, DETECT, PRESENCE = "verify: ", "detect: ", "presence: "
"""What names of p-values begin with, by where they belong."""

VOTES, ALIGNED, SHARES = f"{VERIFY}votes", f"{VERIFY}aligned", f"{VERIFY}probabilities"
PRESENCE_OVERALL, PRESENCE_HOLM = f"{PRESENCE}maximum", f"{PRESENCE}Holm"
_SAMPLE_SPECTRUM = "spectrum, sample"


def of_strategy(measure: str, strategy: str) -> str:
    """Return the name of the exact p-value of one of the paper's strategies."""
    return f"{DETECT}{measure} {strategy} exact"


def of_guess(measure: str, *, split: bool) -> str:
    """Return the name of a p-value of a ranking of the trees, or of its split at the median.

    Spectra are calibrated as taken on a sample; those of leaf probes have no such count.
    """
    name = "spectrum" if measure == _SAMPLE_SPECTRUM else measure
    return f"{DETECT}{name}{' split' if split else ''}"


def false_positives(calibration: pd.DataFrame, name: str, level: float = LEVEL) -> str | None:
    """Return how often a p-value was at most a level over false claims; None if that was not counted."""
    rows = calibration[(calibration["p_value"] == name) & (calibration["level"] == level)]
    if rows.empty:
        return None
    counts = [f"{row.hits:,} of {row.trials:,} ({row.population})" for row in rows.itertuples()]
    return ", ".join(counts) + (": too many" if rows["anti_conservative"].any() else "")


def columns(calibration: pd.DataFrame, title: str, name_of: Callable[[Any], str]) -> list[cells.Column]:
    """Return the column of counted false positives beside a p-value's; none without calibration."""
    if calibration.empty:
        return []

    def cell(row: Any) -> cells.Cell:
        return cells.prose(false_positives(calibration, name_of(row)) or "")

    return [(f"{title} \N{LESS-THAN OR EQUAL TO} {LEVEL:g} by chance (false claims)", cell)]
