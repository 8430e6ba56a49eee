"""The results of one campaign, each frame read from the store once, and their aggregation."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from orchestrator import results
from orchestrator.report.wording import percent
from orchestrator.spec import CampaignSpec
from orchestrator.store.campaigns import CampaignRecord
from orchestrator.store.database import Store
from workers.jobs.kinds import JobKind
from workers.jobs.owner import SplitResult

CONFIGURATION = ["scheme", "trigger_share", "ones_share"]
"""Columns of one way of embedding; its repeats differ in nothing but their random streams."""

STATISTICS = ("count", "mean", "std", "median", "min", "max")
"""Of each column that `summarise` takes over a sample; `std` is that of n - 1 and missing for one value."""


@dataclass(frozen=True, eq=False)
class Findings:
    """A campaign and its results."""

    store: Store
    record: CampaignRecord
    frames: dict[str, pd.DataFrame] = field(default_factory=dict)
    """Frames read so far, by name; a frame put here beforehand is shown instead of the store's."""

    def frame(self, name: str) -> pd.DataFrame:
        """Return a frame of `orchestrator.results`: a key of its `COLUMNS`, or one of its curves."""
        if name not in self.frames:
            self.frames[name] = results.frame(self.store, self.record.id, name)
        return self.frames[name]

    def with_frames(self, **frames: pd.DataFrame) -> Findings:
        """Return the same findings with other frames."""
        return replace(
            self, frames=self.frames | {name.replace("_", "-"): frame for name, frame in frames.items()}
        )

    @cached_property
    def spec(self) -> CampaignSpec:
        """The campaign's specification."""
        return self.record.parsed()

    @cached_property
    def split(self) -> SplitResult | None:
        """Rows, features and classes; None until the data were split."""
        found = results.first_result(self.store, self.record.id, JobKind.SPLIT)
        return None if found is None else SplitResult.model_validate(found)

    @property
    def repeats(self) -> int:
        """Number of repeats that were planned."""
        return self.spec.embedding.repeats

    @property
    def dataset(self) -> str:
        """Name of the data set, or of its file."""
        return str(self.spec.dataset.name or Path(str(self.spec.dataset.path)).name)

    def attacks(self, kind: str) -> list[Any]:
        """Return the attacks of a kind as the specification has them."""
        return [attack for attack in self.spec.attack if attack.kind == kind]

    def origin(self, frame: pd.DataFrame) -> str:
        """Return data set, sample size and seed, as captions end."""
        text = f"Data set {self.dataset}; campaign {self.record.name}, seed {self.record.seed}"
        if "repeat" not in frame:
            return f"{text}."
        repeats = int(frame["repeat"].nunique())
        if repeats == 1:
            return f"{text}, n = 1 repeat: there is no spread over seeds."
        return f"{text}; n = {repeats} repeats (0 to {repeats - 1}), each with its own random streams."


def each_row(frame: pd.DataFrame) -> Iterator[Any]:
    """Return an iterator over a frame's rows, whose columns are attributes of any type."""
    return iter(frame.itertuples())


def configuration(row: Any) -> str:
    """Return a way of embedding in words, of a row that has its columns."""
    return f"{row.scheme}, {percent(row.trigger_share)} trigger rows, {percent(row.ones_share)} ones"


def slug(row: Any) -> str:
    """Return a way of embedding as part of a file's name."""
    name = f"{row.scheme}-trigger-{row.trigger_share * 100:g}-ones-{row.ones_share * 100:g}"
    return re.sub(r"[^A-Za-z0-9.-]+", "-", name)


def summarise(
    frame: pd.DataFrame, by: Sequence[str] = (), over: Sequence[str] = (), *, sort: bool = True, **more: Any
) -> pd.DataFrame:
    """Return a row for each way of embedding and each value of some columns.

    Parameters
    ----------
    frame
        Of `orchestrator.results`.
    by
        Columns besides `CONFIGURATION`.
    over
        Columns of numbers: of each, `STATISTICS` over the group's values that are not missing.
    sort
        Whether the values of `by` are sorted within each way of embedding, or stay in the frame's order.
    **more
        Further columns, as `DataFrameGroupBy.agg` takes them.

    Returns
    -------
    DataFrame
        `CONFIGURATION` and its text in `configuration`, `by`, the group's size `n`, ``NAME_STATISTIC`` for
        each column of `over`, and `more`.
    """
    numbers = {name: pd.to_numeric(frame[name], errors="coerce").astype(float) for name in over}
    ordered = frame.assign(**numbers).sort_values(CONFIGURATION, kind="stable")
    taken = {f"{name}_{what}": (name, what) for name in over for what in STATISTICS}
    groups = ordered.groupby([*CONFIGURATION, *by], sort=sort, dropna=False)
    found = groups.agg(n=("scheme", "size"), **taken, **more).reset_index()
    return found.assign(configuration=[configuration(row) for row in found.itertuples()])


def by_configuration(frame: pd.DataFrame) -> Iterator[tuple[Any, pd.DataFrame]]:
    """Yield the first row and all rows of each way of embedding."""
    for _, part in frame.groupby(CONFIGURATION, sort=True):
        yield next(part.itertuples()), part


def chunked(
    frame: pd.DataFrame, summary: pd.DataFrame, size: int
) -> Iterator[tuple[str, pd.DataFrame, pd.DataFrame]]:
    """Yield an ending for names and the rows of both frames for each `size` ways of embedding."""
    parts = [part for _, part in by_configuration(frame)]
    for start in range(0, len(parts), size):
        part = pd.concat(parts[start : start + size])
        rows = summary.merge(part[CONFIGURATION].drop_duplicates(), on=CONFIGURATION)
        yield f"-{start // size + 1}" if len(parts) > size else "", part, rows
