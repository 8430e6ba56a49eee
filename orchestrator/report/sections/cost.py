"""What each kind of job costs, in seconds and in plain fits of the same forest."""

from __future__ import annotations

import pandas as pd

from orchestrator.report.data import STATISTICS, Findings
from orchestrator.report.sections.section import Shown
from orchestrator.report.table import make_table
from orchestrator.report.wording import across, counted, seconds


def cost_summary(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the cost of each kind of job and of what it did.

    Parameters
    ----------
    frame
        The frame "costs".

    Returns
    -------
    DataFrame
        `kind`, `work`, number of `jobs`, seconds in `total`, and over jobs `STATISTICS` of `unit_s`, seconds
        for each unit of work, and of `fits`, the same in plain fits.
    """
    unit_s = frame["seconds"] / frame["units"]
    each = frame.assign(unit_s=unit_s, fits=unit_s / frame["fit_seconds"].mean())
    taken = {f"{name}_{what}": (name, what) for name in ("unit_s", "fits") for what in STATISTICS}
    groups = each.groupby(["kind", "work"], sort=False)
    return groups.agg(jobs=("seconds", "size"), total=("seconds", "sum"), **taken).reset_index()


def show(findings: Findings) -> Shown:
    """Show seconds and plain fits of each kind of job."""
    frame = findings.frame("costs")
    fits = frame["fit_seconds"].dropna()
    plain = f"One plain fit took {across(fits, seconds)} s (n = {len(fits)}). " if len(fits) else ""
    total = f"{counted(len(frame), 'job')} took {seconds(frame['seconds'].sum())} s in all."
    return Shown(
        lead=f"{plain}{total}" if len(frame) else "", tables=(make_table("cost-table", cost_summary(frame)),)
    )
