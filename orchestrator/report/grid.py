"""The points of a campaign's grid, as a report names and orders them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import pandas as pd

from orchestrator.report.wording import percent


@dataclass(frozen=True, order=True)
class Configuration:
    """One way of embedding; its repeats differ in nothing but their random streams."""

    scheme: str
    trigger_share: float
    ones_share: float

    def __str__(self) -> str:
        return f"{self.scheme}, {percent(self.trigger_share)} trigger rows, {percent(self.ones_share)} ones"

    @property
    def slug(self) -> str:
        """The configuration as part of a file's name."""
        name = f"{self.scheme}-trigger-{self.trigger_share * 100:g}-ones-{self.ones_share * 100:g}"
        return re.sub(r"[^A-Za-z0-9.-]+", "-", name)


def by_configuration(frame: pd.DataFrame) -> Iterator[tuple[Configuration, pd.DataFrame]]:
    """Yield each configuration of a result frame with its rows, in the order of its values."""
    if frame.empty:
        return
    for _, part in frame.groupby(["scheme", "trigger_share", "ones_share"], sort=True):
        first = part.iloc[0]
        yield (
            Configuration(str(first["scheme"]), float(first["trigger_share"]), float(first["ones_share"])),
            part,
        )


def repeats_of(frame: pd.DataFrame) -> int:
    """Return how many different repeats a frame holds."""
    return int(frame["repeat"].nunique())
