"""Result frames as the tables of the page."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pandas as pd

from orchestrator.report import cells
from orchestrator.report.summaries import (
    AccuracySummary,
    DetectionSummary,
    ForgerySummary,
    Spread,
    SuppressionSummary,
    with_pending,
)
from orchestrator.report.wording import MISSING, percent

_SUMMARY_PLACE: list[cells.Column] = [
    ("Scheme", lambda row: cells.Cell(row.configuration.scheme)),
    ("Trigger share", lambda row: cells.share(row.configuration.trigger_share)),
    ("Ones share", lambda row: cells.share(row.configuration.ones_share)),
]

_FRAME_PLACE: list[cells.Column] = [
    ("Scheme", lambda row: cells.Cell(str(row.scheme))),
    ("Trigger share", lambda row: cells.share(row.trigger_share)),
    ("Ones share", lambda row: cells.share(row.ones_share)),
    ("Repeat", lambda row: cells.count(row.repeat)),
]


def _mean_and_sd(
    title: str, unit: str, spread: str, write_mean: Callable[[float], cells.Cell], scale: float
) -> list[cells.Column]:
    """Return two columns for one spread of a summary; times `scale` it is in points."""
    return [
        (f"{title} (mean, {unit})", lambda row: write_mean(getattr(row, spread).mean)),
        (f"{title} (sd, points)", lambda row: cells.sd(getattr(row, spread), scale)),
    ]


def _unless_single(columns: Sequence[cells.Column], spreads: Sequence[Spread]) -> list[cells.Column]:
    """Leave out the columns on spread where each sample is a single value."""
    several = any(spread.n > 1 for spread in spreads)
    return [
        column
        for column in columns
        if several or not any(word in column[0] for word in ("(sd", "(least", "(most"))
    ]


def accuracy_table(summaries: Sequence[AccuracySummary]) -> cells.Table:
    """Return accuracies with baselines and differences."""
    columns: list[cells.Column] = [
        ("n (repeats)", lambda row: cells.count(row.watermarked.n)),
        *_mean_and_sd("Watermarked", "%", "watermarked", cells.accuracy, 100.0),
        *_mean_and_sd("Standard", "%", "standard", cells.accuracy, 100.0),
        *_mean_and_sd("Capped", "%", "capped", cells.accuracy, 100.0),
        *_mean_and_sd("Minus standard", "points", "minus_standard", cells.points, 1.0),
        *_mean_and_sd("Minus capped", "points", "minus_capped", cells.points, 1.0),
        ("Trigger rows", lambda row: cells.count(row.trigger_size)),
        ("Rounds (mean)", lambda row: cells.mean(row.rounds.mean)),
        ("Embedding (s, mean)", lambda row: cells.duration(row.seconds.mean)),
    ]
    return cells.make_table(
        "accuracy-table",
        "Accuracy on the test rows by majority of votes, beside the two honest forests of the same repeat",
        _SUMMARY_PLACE,
        _unless_single(columns, [row.watermarked for row in summaries]),
        summaries,
    )


def embeddings_table(frame: pd.DataFrame) -> cells.Table:
    """Return every embedding with its own numbers."""
    columns: list[cells.Column] = [
        ("Watermarked", lambda row: cells.accuracy(row.accuracy_watermarked)),
        ("Standard", lambda row: cells.accuracy(row.accuracy_standard)),
        ("Capped", lambda row: cells.accuracy(row.accuracy_capped)),
        ("Watermarked, mean rule", lambda row: cells.accuracy(row.accuracy_watermarked_mean_rule)),
        ("Standard, mean rule", lambda row: cells.accuracy(row.accuracy_standard_mean_rule)),
        ("Trees", lambda row: cells.count(row.n_estimators)),
        ("Depth, tuned or given", lambda row: cells.unless_missing(row.max_depth, cells.count)),
        ("Depth limit", lambda row: cells.unless_missing(row.cap_depth, cells.count)),
        ("Leaves limit", lambda row: cells.unless_missing(row.cap_leaves, cells.count)),
        ("Rounds, right trees", lambda row: cells.count(row.rounds_right)),
        ("Rounds, wrong trees", lambda row: cells.count(row.rounds_wrong)),
        ("Weight, right trees", lambda row: cells.setting(row.weight_right)),
        ("Weight, wrong trees", lambda row: cells.setting(row.weight_wrong)),
        ("Embedding (s)", lambda row: cells.duration(row.seconds)),
    ]
    return cells.make_table(
        "embeddings-table",
        "Every embedding: accuracies, limits on the trees, cost",
        _FRAME_PLACE,
        columns,
        frame.itertuples(),
    )


def verification_table(frame: pd.DataFrame) -> cells.Table:
    """Return the evidence for each watermarked forest, and the same claim against an honest one."""
    columns: list[cells.Column] = [
        ("Trigger rows", lambda row: cells.count(row.trigger_size)),
        ("Bits matched", lambda row: cells.count(row.matched_bits)),
        ("Bits in all", lambda row: cells.count(row.total_bits)),
        ("p-value", lambda row: cells.log10_p(row.log10_p)),
        ("p-value, honest standard forest", lambda row: cells.log10_p(row.log10_p_standard)),
    ]
    return cells.make_table(
        "verification-table",
        "Evidence of each claim against its watermarked forest, and against its repeat's standard forest",
        _FRAME_PLACE,
        columns,
        frame.itertuples(),
    )


def detection_table(summaries: Sequence[DetectionSummary]) -> cells.Table:
    """Return what the detection strategies read, over repeats."""
    headings: list[cells.Column] = [
        *_SUMMARY_PLACE,
        ("Measure", lambda row: cells.Cell(row.measure)),
        ("Strategy", lambda row: cells.Cell(row.strategy)),
    ]
    columns: list[cells.Column] = [
        ("n (repeats)", lambda row: cells.count(row.correct.n)),
        ("Bits", lambda row: cells.count(row.bits)),
        ("Correct (mean)", lambda row: cells.mean(row.correct.mean)),
        ("Wrong (mean)", lambda row: cells.mean(row.wrong.mean)),
        ("Uncertain (mean)", lambda row: cells.mean(row.uncertain.mean)),
        ("p (median)", lambda row: cells.p(row.p_value.median)),
        ("p (least)", lambda row: cells.p(row.p_value.least)),
        ("Exact p (median)", lambda row: cells.p(row.p_value_exact.median)),
        ("Exact p (least)", lambda row: cells.p(row.p_value_exact.least)),
    ]
    return cells.make_table(
        "detection-table", "Bits of the signature read off the trees' shapes", headings, columns, summaries
    )


def detections_table(frame: pd.DataFrame) -> cells.Table:
    """Return what each strategy read off each forest."""
    headings: list[cells.Column] = [
        *_FRAME_PLACE,
        ("Measure", lambda row: cells.Cell(str(row.measure))),
        ("Strategy", lambda row: cells.Cell(str(row.strategy))),
    ]
    columns: list[cells.Column] = [
        ("Mean of measure", lambda row: cells.mean(row.mean)),
        ("sd of measure", lambda row: cells.Cell(f"{row.std:.2f}", float(row.std))),
        ("Correct", lambda row: cells.count(row.correct)),
        ("Wrong", lambda row: cells.count(row.wrong)),
        ("Uncertain", lambda row: cells.count(row.uncertain)),
        ("p", lambda row: cells.p(row.p_value)),
        ("Exact p", lambda row: cells.p(row.p_value_exact)),
    ]
    return cells.make_table(
        "detections-table", "Every forest and strategy", headings, columns, frame.itertuples()
    )


def suppression_table(summaries: Sequence[SuppressionSummary]) -> cells.Table:
    """Return how well trigger queries are spotted, over repeats."""
    headings: list[cells.Column] = [*_SUMMARY_PLACE, ("Method", lambda row: cells.Cell(row.method))]
    columns: list[cells.Column] = [
        ("n (repeats)", lambda row: cells.count(row.auc.n)),
        ("Trigger queries", lambda row: cells.count(row.triggers)),
        ("Ordinary queries", lambda row: cells.count(row.ordinary)),
        ("AUC (mean)", lambda row: cells.Cell(f"{row.auc.mean:.3f}", row.auc.mean)),
        ("AUC (least)", lambda row: cells.Cell(f"{row.auc.least:.3f}", row.auc.least)),
        ("AUC (most)", lambda row: cells.Cell(f"{row.auc.most:.3f}", row.auc.most)),
        (
            "Spotted at 1% FPR (mean)",
            lambda row: cells.Cell(_percent(row.tpr_at_1pct_fpr.mean), row.tpr_at_1pct_fpr.mean),
        ),
        (
            "Spotted at 1% FPR (least)",
            lambda row: cells.Cell(_percent(row.tpr_at_1pct_fpr.least), row.tpr_at_1pct_fpr.least),
        ),
        (
            "Spotted at 1% FPR (most)",
            lambda row: cells.Cell(_percent(row.tpr_at_1pct_fpr.most), row.tpr_at_1pct_fpr.most),
        ),
    ]
    return cells.make_table(
        "suppression-table",
        "Telling trigger queries from ordinary ones by their votes",
        headings,
        _unless_single(columns, [row.auc for row in summaries]),
        summaries,
    )


def _percent(share: float) -> str:
    return percent(share, 1)


def _of(spread: str, which: str) -> Callable[[Any], float | None]:
    """Return a function that reads one number of a spread that may be missing."""

    def read(row: Any) -> float | None:
        found = getattr(row, spread)
        return None if found is None else getattr(found, which)

    return read


def _of_true_size(row: ForgerySummary, which: str) -> cells.Cell:
    if row.forged is None or not row.trigger_size:
        return cells.Cell(MISSING)
    share = getattr(row.forged, which) / row.trigger_size
    return cells.Cell(percent(share, 1), float(share))


def _spread_column(title: str, spread: str, which: str, write: Callable[[Any], cells.Cell]) -> cells.Column:
    read = _of(spread, which)
    return title, lambda row: cells.unless_missing(read(row), write)


def forgery_table(summaries: Sequence[ForgerySummary]) -> cells.Table:
    """Return forged set sizes over signatures and repeats, and what became of the queries."""
    headings: list[cells.Column] = [
        *_SUMMARY_PLACE,
        ("Engine", lambda row: cells.Cell(row.engine)),
        ("eps", lambda row: cells.Cell(f"{row.eps:g}", row.eps)),
    ]
    columns: list[cells.Column] = [
        ("Signatures", lambda row: cells.count(row.signatures)),
        ("Repeats", lambda row: cells.count(row.repeats)),
        ("True size", lambda row: cells.unless_missing(row.trigger_size, cells.count)),
        _spread_column("Forged (mean)", "forged", "mean", cells.mean),
        _spread_column("Forged (sd)", "forged", "sd", lambda sd: cells.Cell(f"{sd:.2f}", sd)),
        _spread_column("Forged (median)", "forged", "median", cells.mean),
        _spread_column("Forged (most)", "forged", "most", cells.count),
        ("Mean (% of true size)", lambda row: _of_true_size(row, "mean")),
        ("Most (% of true size)", lambda row: _of_true_size(row, "most")),
        _spread_column("Mean if all undecided were forged", "most_possible", "mean", cells.mean),
        ("Queries", lambda row: cells.count(row.instances)),
        ("forged", lambda row: cells.count(row.total_forged)),
        ("impossible", lambda row: cells.count(row.impossible)),
        ("timeout", lambda row: cells.count(row.timeout)),
        ("memout", lambda row: cells.count(row.memout)),
        ("error", lambda row: cells.count(row.error)),
        ("pending", lambda row: cells.count(row.pending)),
        ("Solving (s, total)", lambda row: cells.duration(row.seconds_total)),
        _spread_column("Solving of a signature (s, median)", "seconds", "median", cells.duration),
    ]
    return cells.make_table(
        "forgery-table",
        "Forged trigger sets by engine and eps, over attackers' signatures and repeats; queries by outcome",
        headings,
        columns,
        summaries,
    )


def undecided_table(frame: pd.DataFrame) -> cells.Table:
    """Return which signatures have queries without a decision."""
    rows = with_pending(frame) if not frame.empty else frame.assign(pending=[])
    rows = rows[rows[["timeout", "memout", "error", "pending"]].sum(axis=1) > 0]
    headings: list[cells.Column] = [
        *_FRAME_PLACE,
        ("Engine", lambda row: cells.Cell(str(row.engine))),
        ("eps", lambda row: cells.Cell(f"{row.eps:g}", float(row.eps))),
        ("Signature", lambda row: cells.count(row.signature)),
    ]
    columns: list[cells.Column] = [
        ("Queries", lambda row: cells.count(row.instances)),
        ("forged", lambda row: cells.count(row.forged)),
        ("impossible", lambda row: cells.count(row.impossible)),
        ("timeout", lambda row: cells.count(row.timeout)),
        ("memout", lambda row: cells.count(row.memout)),
        ("error", lambda row: cells.count(row.error)),
        ("pending", lambda row: cells.count(row.pending)),
        ("Slowest (s)", lambda row: cells.unless_missing(row.slowest_seconds, cells.duration)),
    ]
    return cells.make_table(
        "undecided-table",
        "Signatures with forgery queries that have no decision",
        headings,
        columns,
        rows.itertuples(),
    )
