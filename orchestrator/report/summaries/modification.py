"""What modified forests keep of watermark and accuracy, over repeats and tries."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from orchestrator.report.grid import Configuration, by_configuration, repeats_of
from orchestrator.report.summaries.spread import Spread


@dataclass(frozen=True)
class ModificationSummary:
    """One modification at one strength, over the forests of one configuration.

    Attributes
    ----------
    strengths
        As the frame writes them: of each step, joined by "+".
    repeats, tries
        Forests, and times that each was modified with other random numbers at most.
    accuracy_change
        In percentage points; negative: the thief pays.
    fidelity
        Share of test rows whose majority stays as it was.
    bits
        Share of the trigger set's votes that are as the signature wants.
    exact
        How many of the modified forests still match in every bit.
    log10_p, log10_p_shares
        From votes, and from vote shares alone.
    nulls
        Nulls of `log10_p`, by name.
    """

    configuration: Configuration
    modification: str
    strengths: str
    repeats: int
    tries: int
    accuracy_change: Spread
    fidelity: Spread
    bits: Spread
    exact: int
    log10_p: Spread
    log10_p_shares: Spread
    n_trees: Spread
    nulls: tuple[str, ...]

    @property
    def exact_rate(self) -> float:
        """Share of modified forests that still match in every bit."""
        return self.exact / self.bits.n


def modification_summaries(frame: pd.DataFrame) -> list[ModificationSummary]:
    """Summarize the modification frame: modifications as they came, strengths from the least."""
    return [
        ModificationSummary(
            configuration=configuration,
            modification=str(modification),
            strengths=str(strengths),
            repeats=repeats_of(part),
            tries=int(part["attempt"].nunique()),
            accuracy_change=Spread.of(100.0 * part["accuracy_change"]),
            fidelity=Spread.of(part["fidelity"]),
            bits=Spread.of(part["bits"]),
            exact=int(part["exact_match"].sum()),
            log10_p=Spread.of(part["log10_p"]),
            log10_p_shares=Spread.of(part["log10_p_shares"]),
            n_trees=Spread.of(part["n_trees"]),
            nulls=tuple(sorted(part["p_null"].unique())),
        )
        for configuration, whole in by_configuration(frame)
        for modification, curve in whole.groupby("modification", sort=False)
        for strengths, part in curve.sort_values("strength", kind="stable").groupby("strengths", sort=False)
    ]
