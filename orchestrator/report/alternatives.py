"""The content of each picture in words, as its text alternative."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

import pandas as pd

from orchestrator.report.figures.spectrum import Spectrum
from orchestrator.report.figures.tradeoff import best_log10_p
from orchestrator.report.summaries import (
    AccuracySummary,
    BudgetSummary,
    DetectionSummary,
    ForgerySummary,
    GuessSummary,
    ModificationSummary,
    SizeCurve,
    SuppressionSummary,
)
from orchestrator.report.wording import number, p_value, percent, signed


def accuracy(summaries: Sequence[AccuracySummary]) -> str:
    """Describe accuracy over the grid."""
    texts = [
        f"{row.configuration}: watermarked {percent(row.watermarked.mean, 1)}, "
        f"standard {percent(row.standard.mean, 1)}, capped {percent(row.capped.mean, 1)}"
        for row in summaries
    ]
    return f"Line chart of mean accuracy. {'; '.join(texts)}."


def detection(summaries: Sequence[DetectionSummary]) -> str:
    """Describe detected bits."""
    texts = [
        f"{row.configuration}, {row.measure}, strategy {row.strategy}: {number(row.correct.mean)} right, "
        f"{number(row.wrong.mean)} wrong, {number(row.uncertain.mean)} open of {row.bits} bits, "
        f"p = {p_value(row.p_value.median)}"
        for row in summaries
    ]
    return f"Stacked bars of bits. {'; '.join(texts)}."


def suppression(summaries: Sequence[SuppressionSummary]) -> str:
    """Describe ROC curves."""
    texts = [
        f"{row.configuration}, {row.method}: area {row.auc.mean:.3f}, {percent(row.tpr_at_1pct_fpr.mean, 0)} "
        "of trigger queries spotted at 1% false positives"
        for row in summaries
    ]
    return f"ROC curves. {'; '.join(texts)}."


def forgery(summaries: Sequence[ForgerySummary]) -> str:
    """Describe forged set sizes."""
    texts = []
    for row in summaries:
        if row.forged is None:
            texts.append(f"{row.engine}, eps {row.eps:g}: no outcome")
        else:
            texts.append(
                f"{row.engine}, eps {row.eps:g}: mean {number(row.forged.mean)}, "
                f"maximum {row.forged.most:.0f}, "
                f"{row.undecided} of {row.instances} queries undecided"
            )
    size = next((row.trigger_size for row in summaries if row.trigger_size is not None), None)
    true_size = "" if size is None else f" True trigger set: {size}."
    return f"Forged set size over eps. {'; '.join(texts)}.{true_size}"


def guesses(summaries: Sequence[GuessSummary]) -> str:
    """Describe what shapes and spectra tell."""
    texts = [
        f"{row.configuration}, {row.measure}: {percent(row.bits.mean, 1)} of the bits "
        f"(unrelated guesses {percent(row.null_bits.mean, 1)}), p = {p_value(row.p_split.median)}; "
        f"AUC {row.auc.mean:.3f}, p = {p_value(row.p_ranking.median)}"
        for row in summaries
    ]
    return f"Dots on a scale. {'; '.join(texts)}."


def spectra(shown: Sequence[Spectrum]) -> str:
    """Describe vote spectra."""
    texts = [
        f"{one.configuration}, {one.mode}: the split at the median is right for {percent(one.guessed, 1)} of "
        f"{len(one.bits)} trees; leading direction {percent(float(one.strengths[0]), 1)} of the variance"
        + (f", next {percent(float(one.strengths[1]), 1)}" if len(one.strengths) > 1 else "")
        for one in shown
    ]
    return f"Trees by their entry in the leading direction, and bars of variance. {'; '.join(texts)}."


def budget(summaries: Sequence[BudgetSummary]) -> str:
    """Describe query-budget curves."""
    texts = []
    for (configuration, method), rows in groupby(summaries, key=lambda row: (row.configuration, row.method)):
        known = [f"{percent(row.bits.mean, 0)} after {row.trigger_queries}" for row in rows]
        texts.append(f"{configuration}, {method}: {', '.join(known)}")
    return f"Line chart of bits known after so many trigger queries. {'; '.join(texts)}."


def distances(curves: Sequence[SizeCurve]) -> str:
    """Describe step curves of forged set size."""
    texts = []
    for curve in curves:
        known, possible = curve.known[:, -1], curve.possible[:, -1]
        size = "" if curve.trigger_size is None else f", true trigger set {curve.trigger_size}"
        texts.append(
            f"{curve.configuration}, {curve.engine}: at eps {curve.eps[-1]:g} mean "
            f"{number(float(known.mean()))}, maximum {known.max()}{size}"
            + (
                f", mean {number(float(possible.mean()))} if all undecided were forged"
                if curve.undecided
                else ""
            )
        )
    return f"Step curves of forged set size over eps. {'; '.join(texts)}."


def modification(summaries: Sequence[ModificationSummary]) -> str:
    """Describe curves of one configuration."""
    texts = [
        f"{row.modification} {row.strengths}: accuracy {signed(row.accuracy_change.mean)} points, fidelity "
        f"{percent(row.fidelity.mean, 1)}, bits {percent(row.bits.mean, 1)}, exact in {row.exact} of "
        f"{row.bits.n}, log10 p {row.log10_p.median:.1f} from votes and {row.log10_p_shares.median:.1f} from "
        "shares"
        for row in summaries
    ]
    return f"Line charts over strength. {'; '.join(texts)}."


def tradeoff(summaries: Sequence[ModificationSummary]) -> str:
    """Describe the end of each path: its greatest strength."""
    texts = []
    for (configuration, name), rows in groupby(
        summaries, key=lambda row: (row.configuration, row.modification)
    ):
        *_, last = rows
        texts.append(
            f"{configuration}, {name} at {last.strengths}: {signed(last.accuracy_change.mean)} points, "
            f"log10 p {best_log10_p(last):.1f}"
        )
    return f"Paths of accuracy change against log10 p, each at its greatest strength. {'; '.join(texts)}."


def calibration(frame: pd.DataFrame) -> str:
    """Describe false-positive rates at the largest level, and all that are too large."""
    level = frame["level"].max()
    texts = [
        f"{row.p_value}, {row.population}: {row.hits} of {row.trials}"
        for row in frame[frame["level"] == level].itertuples()
    ]
    alarms = [
        f"{row.p_value}, {row.population}, level {row.level:g}: {row.hits} of {row.trials}"
        for row in frame[frame["anti_conservative"].astype(bool)].itertuples()
    ]
    too_many = f"Too many: {'; '.join(alarms)}." if alarms else "None is larger than chance explains."
    return f"Rates with intervals. At level {level:g}: {'; '.join(texts)}. {too_many}"
