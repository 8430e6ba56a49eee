"""What the model files gave away."""

from __future__ import annotations

import pandas as pd

from orchestrator.report.findings import Findings
from orchestrator.report.headline.statement import NOTHING_YET, across, by_forest, percent_of, times
from orchestrator.report.summaries import Spread
from orchestrator.report.summaries.leakage import SECRET
from orchestrator.report.wording import counted

_FORMS = {"as trained": "As trained", "released": "As released", "standard": "From the honest control"}


def leakage(findings: Findings) -> str:
    """Tell of each form in how many forests it gives a secret away, and how much."""
    frame = findings.leakage
    if frame.empty:
        return NOTHING_YET
    sizes = {_place(part): int(part["trigger_size"].iloc[0]) for part in by_forest(findings.accuracy)}
    return " ".join(
        _of_form(name, frame[frame["form"] == form], sizes)
        for form, name in _FORMS.items()
        if (frame["form"] == form).any()
    )


def _place(part: pd.DataFrame) -> tuple[object, ...]:
    return tuple(part[["scheme", "trigger_share", "ones_share", "repeat"]].iloc[0])


def _of_form(name: str, frame: pd.DataFrame, sizes: dict[tuple[object, ...], int]) -> str:
    forests = list(by_forest(frame))
    leaking = [part for part in forests if part["severity"].isin(SECRET).any()]
    told = f"{name}, a secret leaks from {times(len(leaking), len(forests), 'file')}"
    if not leaking:
        return f"{told}."
    firsts = pd.concat([part.iloc[:1] for part in leaking])
    bits = Spread.of_known(firsts["bits"])
    right = sum(sizes.get(_place(part)) == part["trigger_size"].iloc[0] for part in leaking)
    signature = "no bit of the signature" if bits is None else f"{across(bits, percent_of)} of the signature"
    rows, total = int(firsts["triggers_found"].sum()), sum(sizes.get(_place(part), 0) for part in leaking)
    others = int(firsts["others_found"].sum())
    return (
        f"{told}: they give {signature}, the right number of trigger rows in {right} of "
        f"{counted(len(leaking), 'file')}, and mark {rows:,} of {counted(total, 'trigger row')} and "
        f"{others:,} others."
    )
