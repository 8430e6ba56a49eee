"""What detection reads off the bare forest, over repeats."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from orchestrator.report.grid import Configuration, by_configuration
from orchestrator.report.summaries.spread import Spread


@dataclass(frozen=True)
class DetectionSummary:
    """What one strategy read off the forests of one configuration; counts of bits."""

    configuration: Configuration
    measure: str
    strategy: str
    bits: int
    correct: Spread
    wrong: Spread
    uncertain: Spread
    p_value: Spread
    p_value_exact: Spread


def detection_summaries(frame: pd.DataFrame) -> list[DetectionSummary]:
    """Summarize the detection frame, a row for each configuration, measure and strategy."""
    return [
        DetectionSummary(
            configuration=configuration,
            measure=str(measure),
            strategy=str(strategy),
            bits=int(part[["correct", "wrong", "uncertain"]].iloc[0].sum()),
            correct=Spread.of(part["correct"]),
            wrong=Spread.of(part["wrong"]),
            uncertain=Spread.of(part["uncertain"]),
            p_value=Spread.of(part["p_value"]),
            p_value_exact=Spread.of(part["p_value_exact"]),
        )
        for configuration, whole in by_configuration(frame)
        for (measure, strategy), part in whole.groupby(["measure", "strategy"], sort=True)
    ]


RANKING, SPLIT = "ranking", "median split"
"""The two uses of one number for each tree, as the frame names them in `strategy`."""

PRESENCE = "presence"
"""The measure that takes all statistics of a presence test together; single ones are "presence: name"."""


@dataclass(frozen=True)
class GuessSummary:
    """What one number for each tree tells of the signature, up to complement.

    Attributes
    ----------
    bits, null_bits, p_split
        Share of bits that the split at the median guesses, its mean for random signatures, and the exact
        p-value.
    auc, p_ranking
        Of the ranking of the trees, with its exact p-value.
    points
        Instances that votes were taken on; None where no votes were.
    """

    configuration: Configuration
    measure: str
    bits: Spread
    null_bits: Spread
    p_split: Spread
    auc: Spread
    p_ranking: Spread
    points: Spread | None


def guess_summaries(frame: pd.DataFrame) -> list[GuessSummary]:
    """Summarize detection by shapes and spectra, a row for each configuration and measure, as they came."""
    found = []
    for configuration, whole in by_configuration(frame):
        for measure, part in whole.groupby("measure", sort=False):
            ranking, split = (part[part["strategy"] == name] for name in (RANKING, SPLIT))
            found.append(
                GuessSummary(
                    configuration=configuration,
                    measure=str(measure),
                    bits=Spread.of(split["bits"]),
                    null_bits=Spread.of(split["null_bits"]),
                    p_split=Spread.of(split["p_value_exact"]),
                    auc=Spread.of(ranking["auc"]),
                    p_ranking=Spread.of(ranking["p_value_exact"]),
                    points=Spread.of_known(split["points"]),
                )
            )
    return found


@dataclass(frozen=True)
class PresenceSummary:
    """Whether forests of one configuration stand out among honest ones by one statistic, or by all.

    Attributes
    ----------
    statistic
        Its name, or `PRESENCE` for all together.
    p_value, adjusted
        Rank among the honest forests, alone, and adjusted for the number of statistics.
    honest
        Number of honest forests: no p-value can be below 1 / (honest + 1).
    """

    configuration: Configuration
    statistic: str
    p_value: Spread
    adjusted: Spread
    honest: int

    @property
    def is_overall(self) -> bool:
        """Whether it takes all statistics together."""
        return self.statistic == PRESENCE


def presence_summaries(frame: pd.DataFrame) -> list[PresenceSummary]:
    """Summarize presence tests, a row for each configuration and statistic, as they came."""
    return [
        PresenceSummary(
            configuration=configuration,
            statistic=str(measure).removeprefix(f"{PRESENCE}: "),
            p_value=Spread.of(part["p_value"]),
            adjusted=Spread.of(part["p_value_exact"]),
            honest=int(part["points"].iloc[0]),
        )
        for configuration, whole in by_configuration(frame)
        for measure, part in whole.groupby("measure", sort=False)
    ]
