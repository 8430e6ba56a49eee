"""`wm results`: one command for each kind of result; those of attacks come from the registry."""

from __future__ import annotations

from pathlib import Path

import click

from orchestrator.cli.common import OUTPUT, json_option, open_store, print_frame, print_json, store_option
from orchestrator.cli.groups import Group
from orchestrator.files import writing
from orchestrator.frames import records, write_frame
from orchestrator.store import campaigns
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


def _command(name: str, summary: str) -> click.Command:
    @click.command(name=name, help=f"{summary}, in CAMPAIGN (name or id).")
    @click.argument("campaign_name", metavar="CAMPAIGN")
    @store_option
    @json_option
    @click.option("-o", "--output", type=OUTPUT, help="Write to a file instead: .csv, .json or .parquet.")
    def command(campaign_name: str, store_url: str, json: bool, output: Path | None) -> None:
        from orchestrator.results import frame
        from orchestrator.results.forged_sets import forged_sets

        store = open_store(store_url)
        campaign_id = campaigns.find_campaign(store, campaign_name).id
        found = forged_sets(store, campaign_id) if name == "forged-sets" else frame(store, campaign_id, name)
        if output is not None:
            with writing(output):
                write_frame(found, output)
        elif json:
            print_json(records(found))
        else:
            print_frame(found)

    return command
