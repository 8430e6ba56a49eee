"""`wm results`: one command for each kind of result; those of attacks come from the registry."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import get_args

import click
import pandas as pd

from orchestrator.cli.common import (
    OUTPUT,
    complete_campaign,
    json_option,
    named_campaign,
    open_store,
    option_group,
    print_frame,
    print_json,
    refuse_file_and_json,
    say,
    store_option,
)
from orchestrator.cli.groups import Group
from orchestrator.files import writing
from orchestrator.frames import records, write_frame
from orchestrator.results import frame
from orchestrator.results.forged_sets import forged_sets
from orchestrator.results.selection import Selection, Statistic, parse_conditions, select
from wm.attacks import registry

_OWN = {
    "accuracy": "Accuracy and cost of each watermark, next to honest forests",
    "distances": "Smallest distance at which each instance can be forged",
    "forged-sets": "Evidence of each forged trigger set, and the rules that reject it",
    "jobs": "State, time and errors of each job",
    "schemes": "Scoreboard: what each attack leaves of each scheme",
}
"""Headings of the results that are not the rows of an attack."""


class _Results(Group):
    """Makes each command when it is needed: the headings are those of the attacks."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all results."""
        return ["accuracy", *registry.kinds(), "distances", "forged-sets", "schemes", "jobs"]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command that prints a result; None if there is no such result."""
        if cmd_name in _OWN:
            return _command(cmd_name, _OWN[cmd_name], several=cmd_name == "schemes")
        return _command(cmd_name, registry.attack(cmd_name).summary) if cmd_name in registry.kinds() else None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command of the first argument; refuse a name of none, perhaps of a plug-in's attack."""
        if self.get_command(ctx, args[0]) is None:
            raise click.UsageError(
                f"no results {args[0]!r}: there are {', '.join(self.list_commands(ctx))}; those of another "
                "attack need its package installed",
                ctx,
            )
        return super().resolve_command(ctx, args)


@click.group(cls=_Results)
def results() -> None:
    """Print the results of a campaign."""


_SELECTION = option_group(
    click.option(
        "--where",
        multiple=True,
        metavar="CONDITIONS",
        help="Only rows for which all hold, as in eps<=0.5,engine=sat|z3; also != > < >= and ~ (contains).",
    ),
    click.option("--columns", metavar="NAMES", help="Only these columns, in this order, as in eps,forged."),
    click.option(
        "--group-by", metavar="NAMES", help="One row for each combination of values of these columns."
    ),
    click.option(
        "--statistic",
        type=click.Choice(get_args(Statistic)),
        help="Statistic of the numbers of a group.  [default: mean]",
    ),
    click.option("--sort", metavar="NAMES", help="Sort by these columns; -NAME in descending order."),
    click.option("--limit", type=click.IntRange(min=1), help="Only the first rows."),
)


def _command(name: str, summary: str, *, several: bool = False) -> click.Command:
    """Return the command that prints a result, of several campaigns one after the other."""

    @click.command(name=name, help=f"{summary}, in {'each ' * several}CAMPAIGN (name or id).")
    @click.argument(
        "names",
        metavar="CAMPAIGN..." if several else "CAMPAIGN",
        nargs=-1 if several else 1,
        required=True,
        shell_complete=complete_campaign,
    )
    @store_option
    @_SELECTION
    @json_option
    @click.option("-o", "--output", type=OUTPUT, help="Write to a file instead: .csv, .json or .parquet.")
    def command(
        names: str | tuple[str, ...],
        store_url: str,
        where: tuple[str, ...],
        columns: str | None,
        group_by: str | None,
        statistic: Statistic | None,
        sort: str | None,
        limit: int | None,
        json: bool,
        output: Path | None,
    ) -> None:
        refuse_file_and_json(output, json)
        if statistic is not None and group_by is None:
            raise click.UsageError("--statistic is of groups: give --group-by too")
        chosen = Selection(
            where=tuple(condition for text in where for condition in parse_conditions(text)),
            columns=_names(columns),
            group_by=_names(group_by),
            statistic=statistic or "mean",
            sort=_names(sort),
            limit=limit,
        )
        store = open_store(store_url)
        read = forged_sets if name == "forged-sets" else partial(frame, name=name)
        every = [names] if isinstance(names, str) else names
        parts = [read(store, named_campaign(store, each).id) for each in every]
        whole = parts[0] if len(parts) == 1 else pd.concat(parts, ignore_index=True)
        found = select(whole, chosen)
        if output is not None:
            with writing(output):
                write_frame(found, output)
        elif json:
            print_json(records(found))
        else:
            is_told = name == "jobs" and "error" in found
            print_frame(found.assign(error=found["error"].map(_last_line)) if is_told else found)
            if len(found) < len(whole) and not group_by:
                say(f"{len(found)} of {len(whole)} rows")

    return command


def _last_line(text: str) -> str:
    """Return what an error's text ends with, which says what it is, as a table has one line for it."""
    return next(reversed(text.strip().splitlines()), "")


def _names(text: str | None) -> tuple[str, ...]:
    return tuple(name.strip() for name in (text or "").split(",") if name.strip())
