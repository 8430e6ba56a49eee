"""Progress on stderr: a bar with rate and time left on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

import click
import rich.console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from orchestrator.store.campaigns import Progress as CampaignProgress
from orchestrator.store.tables import JobState

_LINE_EVERY_S = 10.0


class Show(Protocol):
    """Takes a campaign's progress and shows it."""

    def __call__(self, progress: CampaignProgress) -> None:
        """Show it, if it is time to."""


class _Rate(ProgressColumn):
    def render(self, task: Task) -> Text:
        return Text("-/s" if task.speed is None else f"{task.speed:.1f}/s")


@contextmanager
def shown(name: str) -> Iterator[Show]:
    """Show the progress of a campaign until the block ends.

    Counted are queries, and every other job as one.
    """
    console = rich.console.Console(stderr=True)
    if not console.is_terminal:
        yield _Lines(name)
        return
    columns = (
        TextColumn("[bold]{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        _Rate(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        TextColumn("{task.fields[states]}"),
    )
    with Progress(*columns, console=console) as bar:
        task = bar.add_task(name, total=None, states="")

        def show(progress: CampaignProgress) -> None:
            bar.update(
                task, completed=progress.done_weight, total=progress.total_weight, states=states(progress)
            )

        yield show


class _Lines:
    def __init__(self, name: str) -> None:
        self._name = name
        self._last = time.monotonic()

    def __call__(self, progress: CampaignProgress) -> None:
        if progress.is_over or time.monotonic() - self._last >= _LINE_EVERY_S:
            self._last = time.monotonic()
            click.echo(
                f"{self._name}: {progress.done_weight} of {progress.total_weight}; {states(progress)}",
                err=True,
            )


def states(progress: CampaignProgress) -> str:
    """Return the job counts that are not zero, as words."""
    counts = [f"{count} {state}" for state, count in progress.jobs.items() if count]
    return ", ".join(counts) if counts else f"no jobs, all {JobState.DONE}"
