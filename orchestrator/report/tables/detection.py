"""What detection reads as tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from orchestrator.report import calibrated, cells
from orchestrator.report.summaries import DetectionSummary, GuessSummary, PresenceSummary
from orchestrator.report.tables.columns import FRAME_PLACE, SUMMARY_PLACE, over


def _of_strategy(row: Any) -> str:
    return calibrated.of_strategy(str(row.measure), str(row.strategy))


def detection_table(summaries: Sequence[DetectionSummary], calibration: pd.DataFrame) -> cells.Table:
    """Return what the paper's detection strategies read, over repeats."""
    headings: list[cells.Column] = [
        *SUMMARY_PLACE,
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
        *calibrated.columns(calibration, "Exact p", _of_strategy),
    ]
    return cells.make_table(
        "detection-table", "Bits of the signature read off the trees' shapes", headings, columns, summaries
    )


def detections_table(frame: pd.DataFrame, calibration: pd.DataFrame) -> cells.Table:
    """Return what each of the paper's strategies read off each forest."""
    headings: list[cells.Column] = [
        *FRAME_PLACE,
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
        *calibrated.columns(calibration, "Exact p", _of_strategy),
    ]
    return cells.make_table(
        "detections-table", "Every forest and strategy", headings, columns, frame.itertuples()
    )


def guesses_table(summaries: Sequence[GuessSummary], calibration: pd.DataFrame) -> cells.Table:
    """Return what shapes and vote spectra tell of the signature, over repeats."""
    headings: list[cells.Column] = [*SUMMARY_PLACE, ("Measure", lambda row: cells.Cell(row.measure))]
    columns: list[cells.Column] = [
        ("n (repeats)", lambda row: cells.count(row.bits.n)),
        over("Bits guessed", "bits", cells.rate, summaries),
        ("Unrelated guess (mean)", lambda row: cells.rate(row.null_bits.mean)),
        over("p of the guess", "p_split", cells.p, summaries, centre="median"),
        over("AUC", "auc", cells.area, summaries),
        over("p of the ranking", "p_ranking", cells.p, summaries, centre="median"),
        over("Instances voted on", "points", cells.mean, summaries),
        *calibrated.columns(
            calibration, "p of the guess", lambda row: calibrated.of_guess(row.measure, split=True)
        ),
        *calibrated.columns(
            calibration, "p of the ranking", lambda row: calibrated.of_guess(row.measure, split=False)
        ),
    ]
    return cells.make_table(
        "guesses-table",
        "Beyond the paper: the signature guessed, up to complement, from one number for each tree; exact "
        "p-values for random signatures with as many ones",
        headings,
        columns,
        summaries,
    )


def presence_table(summaries: Sequence[PresenceSummary], calibration: pd.DataFrame) -> cells.Table:
    """Return whether forests stand out among honest ones, over repeats."""
    headings: list[cells.Column] = [
        *SUMMARY_PLACE,
        (
            "Statistic",
            lambda row: cells.Cell("all together" if row.is_overall else row.statistic.replace("_", " ")),
        ),
    ]
    columns: list[cells.Column] = [
        ("n (repeats)", lambda row: cells.count(row.p_value.n)),
        ("Honest forests", lambda row: cells.count(row.honest)),
        over("p", "p_value", cells.p, summaries, centre="median"),
        over("p, adjusted for all", "adjusted", cells.p, summaries, centre="median"),
        *calibrated.columns(
            calibration,
            "p, adjusted for all",
            lambda row: calibrated.PRESENCE_OVERALL if row.is_overall else calibrated.PRESENCE_HOLM,
        ),
    ]
    return cells.make_table(
        "presence-table",
        "Presence: is a forest watermarked at all? Ranks among honest forests under the same limits, by each "
        "statistic (adjusted by Holm) and by the largest deviation of all",
        headings,
        columns,
        summaries,
    )
