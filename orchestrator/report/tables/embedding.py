"""Accuracy and evidence as tables."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from orchestrator.report import calibrated, cells
from orchestrator.report.summaries import AccuracySummary
from orchestrator.report.tables.columns import FRAME_PLACE, SUMMARY_PLACE, mean_and_sd, unless_single


def accuracy_table(summaries: Sequence[AccuracySummary]) -> cells.Table:
    """Return accuracies with baselines and differences."""
    columns: list[cells.Column] = [
        ("n (repeats)", lambda row: cells.count(row.watermarked.n)),
        *mean_and_sd("Watermarked", "%", "watermarked", cells.accuracy, 100.0),
        *mean_and_sd("Standard", "%", "standard", cells.accuracy, 100.0),
        *mean_and_sd("Capped", "%", "capped", cells.accuracy, 100.0),
        *mean_and_sd("Minus standard", "points", "minus_standard", cells.points, 1.0),
        *mean_and_sd("Minus capped", "points", "minus_capped", cells.points, 1.0),
        ("Trigger rows", lambda row: cells.count(row.trigger_size)),
        ("Rounds (mean)", lambda row: cells.mean(row.rounds.mean)),
        ("Embedding (s, mean)", lambda row: cells.duration(row.seconds.mean)),
    ]
    return cells.make_table(
        "accuracy-table",
        "Accuracy on the test rows by majority of votes, beside the two honest forests of the same repeat",
        SUMMARY_PLACE,
        unless_single(columns, [row.watermarked for row in summaries]),
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
        FRAME_PLACE,
        columns,
        frame.itertuples(),
    )


def verification_table(frame: pd.DataFrame, calibration: pd.DataFrame) -> cells.Table:
    """Return the evidence for each watermarked forest, and the same claim against an honest one.

    `calibration` gives the counted false positives of the p-value; it may be empty.
    """
    columns: list[cells.Column] = [
        ("Trigger rows", lambda row: cells.count(row.trigger_size)),
        ("Bits matched", lambda row: cells.count(row.matched_bits)),
        ("Bits in all", lambda row: cells.count(row.total_bits)),
        ("p-value", lambda row: cells.log10_p(row.log10_p)),
        ("p-value, honest standard forest", lambda row: cells.log10_p(row.log10_p_standard)),
        *calibrated.columns(calibration, "p-value", lambda row: calibrated.VOTES),
    ]
    return cells.make_table(
        "verification-table",
        "Evidence of each claim against its watermarked forest, and against its repeat's standard forest",
        FRAME_PLACE,
        columns,
        frame.itertuples(),
    )
