"""Frames boiled down over repeats and signatures: what figures draw and tables print. Pure."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from orchestrator.report.grid import Configuration, by_configuration, repeats_of

UNDECIDED = ("timeout", "memout", "error")
"""Outcomes of a forgery query that leave open whether there is a forged instance."""

LOW, HIGH = 0.1, 0.9
"""Quantiles over signatures that are shown beside the mean."""


@dataclass(frozen=True)
class Spread:
    """A few numbers about a sample.

    Attributes
    ----------
    n
        Size of the sample, at least 1.
    mean, median, least, most, low, high
        `low` and `high` are the quantiles `LOW` and `HIGH`, interpolated linearly.
    sd
        Sample standard deviation (n - 1); None for a single value, which has no spread.
    """

    n: int
    mean: float
    sd: float | None
    median: float
    least: float
    most: float
    low: float
    high: float

    @classmethod
    def of(cls, values: ArrayLike) -> Spread:
        """Summarize a sample (n,)."""
        sample: NDArray[np.float64] = np.asarray(values, dtype=np.float64)
        low, high = np.quantile(sample, [LOW, HIGH])
        return cls(
            n=len(sample),
            mean=float(sample.mean()),
            sd=float(sample.std(ddof=1)) if len(sample) > 1 else None,
            median=float(np.median(sample)),
            least=float(sample.min()),
            most=float(sample.max()),
            low=float(low),
            high=float(high),
        )


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


@dataclass(frozen=True)
class SuppressionSummary:
    """How well one method spots the trigger queries of one configuration."""

    configuration: Configuration
    method: str
    auc: Spread
    tpr_at_1pct_fpr: Spread
    triggers: int
    ordinary: int


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
        )
        for configuration, whole in by_configuration(frame)
        for method, part in whole.groupby("method", sort=True)
    ]


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
    seconds_total
        Solving time of all queries.
    seconds
        Solving time of one signature's queries.
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
    sums = part[["instances", "forged", "impossible", *UNDECIDED, "pending"]].sum().astype(int)
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
        seconds_total=float(begun["seconds"].sum()),
        seconds=Spread.of(begun["seconds"]) if some else None,
    )
