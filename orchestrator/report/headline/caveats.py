"""What a reader must know before trusting the numbers."""

from __future__ import annotations

import pandas as pd

from orchestrator.report.findings import Findings
from orchestrator.report.summaries import forgery_summaries, size_curves
from orchestrator.report.wording import counted, listed, percent
from orchestrator.store.tables import CampaignState


def caveats(findings: Findings) -> list[str]:
    """Return what a reader must know before trusting the numbers: gaps, single repeats, open queries."""
    found = []
    jobs = findings.progress.jobs
    total = sum(jobs.values())
    if findings.record.state is not CampaignState.FINISHED:
        states = [f"{count} {state.value}" for state, count in jobs.items() if count]
        found.append(
            f"This campaign is {findings.record.state.value}. Of its {counted(total, 'job')}: "
            f"{listed(states)}. "
            "All numbers below are of the jobs done; they lack parts of the grid and may change."
        )
    if findings.repeats == 1:
        found.append(
            "Each configuration was embedded only once: the numbers have no spread over seeds, and another "
            "seed may give others."
        )
    undecided = sum(row.undecided for row in forgery_summaries(findings.forgery))
    if undecided:
        queries = int(findings.forgery["instances"].sum())
        found.append(
            f"{undecided:,} of {counted(queries, 'forgery query', 'forgery queries')} have no decision "
            "(timeout, memout, error or pending): forged set sizes are lower limits there."
        )
    curves = size_curves(findings.distances, findings.least_forgery, findings.cap)
    open_ended = sum(curve.undecided for curve in curves)
    if open_ended:
        instances = sum(curve.instances for curve in curves)
        found.append(
            f"{open_ended:,} of {counted(instances, 'search', 'searches')} for a least distance have no "
            "decision: sizes of forged sets are lower limits there."
        )
    alarms = findings.calibration[findings.calibration["anti_conservative"].astype(bool)]
    if not alarms.empty:
        found.append(
            f"Anti-conservative p-values, small more often than they promise beyond what chance explains: "
            f"{anti_conservative(alarms)}. Do not take these at their word."
        )
    return found


def anti_conservative(alarms: pd.DataFrame) -> str:
    """Return which p-values are small too often, with the rates that show it."""
    return listed(
        f"{row['p_value']} ({row['population']}: {row['hits']:,} of {row['trials']:,} at or below "
        f"{row['level']:g}, that is {percent(row['rate'], 1)}, 95% interval {percent(row['low'], 1)} to "
        f"{percent(row['high'], 1)})"
        for row in alarms.to_dict("records")
    )
