"""What freely forged trigger sets are worth, over repeats."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from orchestrator.report.grid import Configuration, by_configuration
from orchestrator.report.summaries.spread import Spread


@dataclass(frozen=True)
class FreeForgerySummary:
    """Forged sets of one kind against the forests of one configuration.

    Attributes
    ----------
    forests, made
        How many were attacked, and of how many the set has any row: an empty one is no claim.
    refused, refused_but_for_commitment
        Sets that verification refuses; and those that it still would, had their commitment been published
        in time.
    rules, rules_but_for_commitment
        The rules that do so, each with the number of sets that it stops, the most frequent first.
    size, size_over_k, distinct_cells
        Rows, rows over those of the true trigger set, and different tuples of leaves among them; an empty
        set counts with 0.
    mean_distance, max_distance, ones_share, log10_p
        Over the sets that have rows; None if none has.
    independent_accuracy
        Accuracy on the set of a forest that has nothing to do with the model.
    """

    configuration: Configuration
    method: str
    forests: int
    made: int
    refused: int
    refused_but_for_commitment: int
    rules: tuple[tuple[str, int], ...]
    rules_but_for_commitment: tuple[tuple[str, int], ...]
    size: Spread
    size_over_k: Spread
    distinct_cells: Spread
    mean_distance: Spread | None
    max_distance: Spread | None
    independent_accuracy: Spread | None
    ones_share: Spread | None
    log10_p: Spread | None

    @property
    def standing(self) -> int:
        """Sets that no rule stops."""
        return self.made - self.refused

    @property
    def standing_but_for_commitment(self) -> int:
        """Sets that only the commitment stops, or nothing."""
        return self.made - self.refused_but_for_commitment


def free_forgery_summaries(frame: pd.DataFrame) -> list[FreeForgerySummary]:
    """Summarize the free forgery frame, a row for each configuration and method, as they came."""
    return [
        _summary(configuration, str(method), part)
        for configuration, whole in by_configuration(frame)
        for method, part in whole.groupby("method", sort=False)
    ]


def _summary(configuration: Configuration, method: str, part: pd.DataFrame) -> FreeForgerySummary:
    made = part[part["size"] > 0]
    return FreeForgerySummary(
        configuration=configuration,
        method=method,
        forests=len(part),
        made=len(made),
        refused=int((made["stopped_by"] != "").sum()),
        refused_but_for_commitment=int((made["stopped_but_for_commitment"] != "").sum()),
        rules=_counted(made["stopped_by"]),
        rules_but_for_commitment=_counted(made["stopped_but_for_commitment"]),
        size=Spread.of(part["size"]),
        size_over_k=Spread.of(part["size_over_k"]),
        distinct_cells=Spread.of(part["distinct_cells"]),
        mean_distance=Spread.of_known(made["mean_distance"]),
        max_distance=Spread.of_known(made["max_distance"]),
        independent_accuracy=Spread.of_known(made["independent_accuracy"]),
        ones_share=Spread.of_known(made["forged_ones_share"]),
        log10_p=Spread.of_known(made["log10_p"]),
    )


def _counted(joined: pd.Series[str]) -> tuple[tuple[str, int], ...]:
    """Return how often each rule occurs in texts that join several by commas."""
    counts: dict[str, int] = {}
    for text in joined:
        for rule in filter(None, str(text).split(", ")):
            counts[rule] = counts.get(rule, 0) + 1
    return tuple(sorted(counts.items(), key=lambda pair: -pair[1]))
