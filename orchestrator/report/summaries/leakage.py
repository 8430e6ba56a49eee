"""What model files give away, over repeats."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from orchestrator.report.grid import Configuration, by_configuration
from orchestrator.report.summaries.spread import Spread

SEVERITIES = ("critical", "high", "info", "none")
"""From the worst; a form of severity `info` or `none` gives no secret away."""

SECRET = SEVERITIES[:2]


@dataclass(frozen=True)
class FormSummary:
    """What one form of the forests of one configuration gives away.

    Attributes
    ----------
    form
        ``as trained``, ``released`` or ``standard``.
    forests, leaking
        How many were looked at, and how many have a finding of severity `SECRET`.
    severity
        The worst.
    bits
        Share of the true signature given, up to complement; None where none is. Its `n` counts the forests
        that give it.
    sizes_told, sizes_right
        Forests that give a trigger-set size, and those that give the true one.
    trigger_size
        The true one; None while nothing is embedded.
    triggers_found, others_found
        Training rows that the form marks: trigger rows and others.
    """

    configuration: Configuration
    form: str
    forests: int
    leaking: int
    severity: str
    bits: Spread | None
    sizes_told: int
    sizes_right: int
    trigger_size: int | None
    triggers_found: Spread
    others_found: Spread


def form_summaries(frame: pd.DataFrame, accuracy: pd.DataFrame) -> list[FormSummary]:
    """Summarize the leakage frame, a row for each configuration and form, as they came.

    Parameters
    ----------
    accuracy
        Frame that has the true trigger-set sizes.
    """
    sizes = {
        configuration: int(part["trigger_size"].iloc[0]) for configuration, part in by_configuration(accuracy)
    }
    return [
        _form(configuration, str(form), part, sizes.get(configuration))
        for configuration, whole in by_configuration(frame)
        for form, part in whole.groupby("form", sort=False)
    ]


def _form(configuration: Configuration, form: str, part: pd.DataFrame, size: int | None) -> FormSummary:
    leaking = part[part["severity"].isin(SECRET)]
    # Bits, size and rows are the form's: its findings repeat them.
    each = part.drop_duplicates("repeat")
    told = each["trigger_size"].dropna()
    return FormSummary(
        configuration=configuration,
        form=form,
        forests=len(each),
        leaking=int(leaking["repeat"].nunique()),
        severity=worst(part["severity"]),
        bits=Spread.of_known(each["bits"]),
        sizes_told=len(told),
        sizes_right=0 if size is None else int((told == size).sum()),
        trigger_size=size,
        triggers_found=Spread.of(each["triggers_found"]),
        others_found=Spread.of(each["others_found"]),
    )


def worst(severities: Sequence[str] | pd.Series[str]) -> str:
    """Return the worst of some severities."""
    return min((str(severity) for severity in severities), key=SEVERITIES.index)


@dataclass(frozen=True)
class FindingSummary:
    """One finding in one form.

    Attributes
    ----------
    forests, found
        How many forests were looked at, and how many have it.
    detail
        Of the first forest that has it.
    remedy
        How to mend it.
    """

    configuration: Configuration
    form: str
    finding: str
    severity: str
    forests: int
    found: int
    detail: str
    remedy: str


def finding_summaries(frame: pd.DataFrame) -> list[FindingSummary]:
    """Summarize findings, a row for each configuration, form and finding, the worst first in each form."""
    return [
        FindingSummary(
            configuration=configuration,
            form=str(form),
            finding=str(finding),
            severity=worst(part["severity"]),
            forests=int(whole["repeat"].nunique()),
            found=int(part["repeat"].nunique()),
            detail=str(part["detail"].iloc[0]),
            remedy=str(part["remedy"].iloc[0]),
        )
        for configuration, everything in by_configuration(frame)
        for form, whole in everything.groupby("form", sort=False)
        for finding, part in sorted(
            whole.groupby("finding", sort=False),
            key=lambda pair: SEVERITIES.index(worst(pair[1]["severity"])),
        )
    ]
