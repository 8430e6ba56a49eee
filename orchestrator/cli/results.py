"""`wm results`: one command for each kind of result; those of attacks come from the registry."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import click

from orchestrator.cli.common import (
    OUTPUT,
    campaign_argument,
    json_option,
    named_campaign,
    open_store,
    option_group,
    print_frame,
    print_json,
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
}
"""Headings of the results that are not the rows of an attack."""


class _Results(Group):
    """Makes each command when it is needed: the headings are those of the attacks."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all results."""
        return ["accuracy", *registry.kinds(), "distances", "forged-sets", "jobs"]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command that prints a result; None if there is no such result."""
        if cmd_name in _OWN:
            return _command(cmd_name, _OWN[cmd_name])
        return _command(cmd_name, registry.attack(cmd_name).summary) if cmd_name in registry.kinds() else None


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
        default="mean",
        help="Statistic of the numbers of a group.",
    ),
    click.option("--sort", metavar="NAMES", help="Sort by these columns; -NAME in descending order."),
    click.option("--limit", type=click.IntRange(min=1), help="Only the first rows."),
)


def _command(name: str, summary: str) -> click.Command:
    @click.command(name=name, help=f"{summary}, in CAMPAIGN (name or id).")
    @campaign_argument
    @store_option
    @_SELECTION
    @json_option
    @click.option("-o", "--output", type=OUTPUT, help="Write to a file instead: .csv, .json or .parquet.")
    def command(
        campaign_name: str,
        store_url: str,
        where: tuple[str, ...],
        columns: str | None,
        group_by: str | None,
        statistic: Statistic,
        sort: str | None,
        limit: int | None,
        json: bool,
        output: Path | None,
    ) -> None:
        chosen = Selection(
            where=tuple(condition for text in where for condition in parse_conditions(text)),
            columns=_names(columns),
            group_by=_names(group_by),
            statistic=statistic,
            sort=_names(sort),
            limit=limit,
        )
        store = open_store(store_url)
        campaign_id = named_campaign(store, campaign_name).id
        whole = forged_sets(store, campaign_id) if name == "forged-sets" else frame(store, campaign_id, name)
        found = select(whole, chosen)
        if output is not None:
            with writing(output):
                write_frame(found, output)
        elif json:
            print_json(records(found))
        else:
            print_frame(found)
            if len(found) < len(whole) and not group_by:
                say(f"{len(found)} of {len(whole)} rows")

    return command


def _names(text: str | None) -> tuple[str, ...]:
    return tuple(name.strip() for name in (text or "").split(",") if name.strip())
