"""Whether p-values keep what they promise."""

from __future__ import annotations

from orchestrator.report.findings import Findings
from orchestrator.report.headline.caveats import anti_conservative
from orchestrator.report.headline.statement import NOTHING_YET
from orchestrator.report.wording import counted, listed, percent


def calibration(findings: Findings) -> str:
    """Tell which p-values are anti-conservative, and how much the counts can tell."""
    frame = findings.calibration
    if frame.empty:
        return NOTHING_YET
    sizes = frame.groupby("population", sort=False)["trials"].max()
    planned = findings.calibration_forests
    forests = listed(_counted(int(count), str(name), planned) for name, count in sizes.items())
    alarms = frame[frame["anti_conservative"].astype(bool)]
    told = (
        "no rate is above its level beyond what chance explains"
        if alarms.empty
        else f"anti-conservative: {anti_conservative(alarms)}"
    )
    least = frame["level"].min()
    widest = float(frame.loc[frame["hits"] == 0, "high"].max()) if (frame["hits"] == 0).any() else None
    limits = (
        ""
        if widest is None or widest <= least
        else f" Even a count of none leaves rates of up to {percent(widest, 1)} open: so few forests cannot "
        f"vouch for level {least:g}."
    )
    names = counted(frame["p_value"].nunique(), "p-value")
    return f"{names} on false claims against {forests} forests: {told}.{limits}"


def _counted(count: int, population: str, planned: dict[str, int]) -> str:
    """Return how many forests of a population were looked at, and of how many if some are missing."""
    wanted = planned.get(population, count)
    return f"{count:,}{'' if count == wanted else f' of {wanted:,}'} ({population})"
