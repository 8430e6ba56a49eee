"""Show progress on stderr: a bar on a terminal, a line every few seconds elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

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

from orchestrator.pace import Due
from orchestrator.store.campaigns import Progress as CampaignProgress
from orchestrator.store.tables import JobState

_LINE_EVERY_S = 10.0


Show = Callable[[CampaignProgress], None]
"""Shows a campaign's progress."""


class _Rate(ProgressColumn):
    def render(self, task: Task) -> Text:
        return Text("-/s" if task.speed is None else f"{task.speed:.1f}/s")


@contextmanager
def shown(name: str) -> Iterator[Show]:
    """Show the progress of a campaign, in queries and other jobs, until the block ends."""
    console = rich.console.Console(stderr=True)
    # Where colours are forced, as by notebooks and in CI, rich takes a file for a terminal.
    if not (console.is_terminal and console.file.isatty()):
        yield _lines(name)
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


def _lines(name: str) -> Show:
    due = Due(_LINE_EVERY_S)
    due.postpone()

    def show(progress: CampaignProgress) -> None:
        if progress.is_over or due.now():
            click.echo(
                f"{name}: {progress.done_weight} of {progress.total_weight}; {states(progress)}", err=True
            )

    return show


def states(progress: CampaignProgress) -> str:
    """Return the job counts that are not zero, as text."""
    counts = [f"{count} {state}" for state, count in progress.jobs.items() if count]
    return ", ".join(counts) if counts else f"no jobs, all {JobState.DONE}"
