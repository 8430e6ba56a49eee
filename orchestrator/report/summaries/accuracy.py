"""What watermarks cost, over repeats."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from orchestrator.report.grid import Configuration, by_configuration
from orchestrator.report.summaries.spread import Spread


@dataclass(frozen=True)
class AccuracySummary:
    """Accuracy of one configuration over its repeats.

    Attributes
    ----------
    watermarked, standard, capped
        Shares of test rows.
    minus_standard, minus_capped
        Watermarked minus the honest forest of the same repeat, in percentage points.
    trigger_size
        Rows of the trigger set.
    rounds, seconds
        Cost of the embedding.
    """

    configuration: Configuration
    watermarked: Spread
    standard: Spread
    capped: Spread
    minus_standard: Spread
    minus_capped: Spread
    trigger_size: int
    rounds: Spread
    seconds: Spread


def accuracy_summaries(frame: pd.DataFrame) -> list[AccuracySummary]:
    """Summarize the accuracy frame, a row for each configuration."""
    return [
        AccuracySummary(
            configuration=configuration,
            watermarked=Spread.of(part["accuracy_watermarked"]),
            standard=Spread.of(part["accuracy_standard"]),
            capped=Spread.of(part["accuracy_capped"]),
            minus_standard=Spread.of(points(part, "accuracy_standard")),
            minus_capped=Spread.of(points(part, "accuracy_capped")),
            trigger_size=int(part["trigger_size"].iloc[0]),
            rounds=Spread.of(part["rounds"]),
            seconds=Spread.of(part["seconds"]),
        )
        for configuration, part in by_configuration(frame)
    ]


def points(frame: pd.DataFrame, baseline: str) -> NDArray[np.float64]:
    """Return watermarked minus baseline accuracy of each row, in percentage points."""
    watermarked: NDArray[np.float64] = frame["accuracy_watermarked"].to_numpy(dtype=np.float64)
    honest: NDArray[np.float64] = frame[baseline].to_numpy(dtype=np.float64)
    return 100.0 * (watermarked - honest)
