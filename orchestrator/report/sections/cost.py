"""What each kind of job costs, in seconds and in plain fits of the same forest."""

from __future__ import annotations

from functools import partial

import altair as alt
import pandas as pd

from orchestrator.report.charts import COLOURS, WIDTH, Chart, figure, with_tooltips
from orchestrator.report.data import STATISTICS, Findings, each_row
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
    text = f"{plain}{total}" if len(frame) else ""
    summary = cost_summary(frame)
    drawn = figure("cost", "", partial(cost_chart, summary), findings.origin(frame), summary=text)
    return Shown(
        lead=text, figures=(drawn,) if len(frame) else (), tables=(make_table("cost-table", summary),)
    )


def cost_chart(summary: pd.DataFrame) -> Chart:
    """Draw the seconds of all jobs of each kind; `summary` is of `cost_summary`."""
    kinds = summary.groupby("kind", sort=False)[["jobs", "total"]].sum().reset_index()
    kinds["mean"] = kinds["total"] / kinds["jobs"]
    tooltips = [
        f"{row.kind}: {seconds(row.total)} s in {counted(row.jobs, 'job')} (mean {seconds(row.mean)} s)"
        for row in each_row(kinds)
    ]
    bars = alt.Chart(kinds.assign(tooltip=tooltips)).mark_bar(color=COLOURS[0])
    drawn = bars.encode(x=alt.X("total:Q", title="Seconds"), y=alt.Y("kind:N", title=None, sort=None))
    return with_tooltips(drawn).properties(width=WIDTH * 0.6, height=alt.Step(16))
