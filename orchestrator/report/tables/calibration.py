"""Calibration as a table."""

from __future__ import annotations

import pandas as pd

from orchestrator.report import cells


def calibration_table(frame: pd.DataFrame) -> cells.Table:
    """Return every counted false-positive rate with its interval."""
    headings: list[cells.Column] = [
        ("p-value", lambda row: cells.Cell(str(row.p_value))),
        ("Population", lambda row: cells.Cell(str(row.population))),
        ("Level", lambda row: cells.setting(row.level)),
    ]
    columns: list[cells.Column] = [
        ("False positives", lambda row: cells.count(row.hits)),
        ("False claims", lambda row: cells.count(row.trials)),
        ("Rate", lambda row: cells.accuracy(row.rate)),
        ("95% interval from", lambda row: cells.accuracy(row.low)),
        ("to", lambda row: cells.accuracy(row.high)),
        ("Anti-conservative", lambda row: cells.Cell("yes" if row.anti_conservative else "no")),
    ]
    return cells.make_table(
        "calibration-table",
        "How often each p-value was at most each level over false claims, with Clopper-Pearson intervals; "
        "each is counted only over populations that are its null hypothesis; anti-conservative: above the "
        "level beyond what chance explains, all rates taken together",
        headings,
        columns,
        frame.itertuples(),
    )
