"""The content of each picture in words, as its text alternative."""

from __future__ import annotations

from collections.abc import Sequence

from orchestrator.report.summaries import (
    AccuracySummary,
    DetectionSummary,
    ForgerySummary,
    SuppressionSummary,
)
from orchestrator.report.wording import number, p_value, percent


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
