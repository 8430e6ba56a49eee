"""`wm results`: one query for each kind of result; those of attacks come from the registry."""

from __future__ import annotations

from pathlib import Path

import click

from orchestrator.cli.common import emit, json_option, open_store, store_option
from orchestrator.store import campaigns
from wm.attacks import registry

_OWN = {
    "accuracy": "Accuracy and cost of each watermark, beside honest forests",
    "distances": "Smallest distance at which each instance can be forged",
    "forged-sets": "What the forged trigger sets are worth, and what stops them",
    "jobs": "State, time and errors of each job",
}
"""Results that are no attack's rows: name and heading."""


class _Results(click.Group):
    """Commands by name, each made when it is asked for: their headings are the attacks' own."""

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
    """Print what a campaign found."""


def _command(name: str, summary: str) -> click.Command:
    @click.command(name=name, help=f"{summary}, in CAMPAIGN (name or id).")
    @click.argument("campaign_name", metavar="CAMPAIGN")
    @store_option
    @json_option
    @click.option(
        "-o",
        "--output",
        type=click.Path(dir_okay=False, path_type=Path),
        help="Write to a file instead: .csv, .json or .parquet.",
    )
    def command(campaign_name: str, store_url: str, json: bool, output: Path | None) -> None:
        from orchestrator.forged_sets import forged_sets
        from orchestrator.results import frame

        store = open_store(store_url)
        campaign_id = campaigns.find_campaign(store, campaign_name).id
        found = forged_sets(store, campaign_id) if name == "forged-sets" else frame(store, campaign_id, name)
        emit(found, as_json=json, output=output)

    return command
