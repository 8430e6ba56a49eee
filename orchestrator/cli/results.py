"""`wm results`: one query for each kind of result."""

from __future__ import annotations

import importlib
from pathlib import Path

import click

from orchestrator.cli.common import emit, json_option, open_store, store_option
from orchestrator.store import campaigns


@click.group()
def results() -> None:
    """Print what a campaign found."""


def _add(kind: str, summary: str, module: str = "orchestrator.results") -> None:
    """Add the command that prints the frame of the function of that name."""

    @results.command(name=kind, help=f"{summary} of a CAMPAIGN (name or id).")
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
        query = getattr(importlib.import_module(module), kind.replace("-", "_"))
        store = open_store(store_url)
        frame = query(store, campaigns.find_campaign(store, campaign_name).id)
        emit(frame, as_json=json, output=output)


_add("accuracy", "Accuracy and cost of each watermark, beside honest forests,")
_add("leakage", "What the model files of each watermark give away")
_add("detection", "What detection reads off each forest")
_add("suppression", "How well trigger queries are spotted in each forest")
_add("forgery", "Counts of forgery outcomes for each signature and distance")
_add("distances", "Least distance at which each instance can be forged")
_add(
    "forged-sets", "What the forged trigger sets are worth, and what stops them,", "orchestrator.forged_sets"
)
_add("free-forgery", "What freely forged trigger sets are worth, and what stops them,")
_add("modification", "What modified forests keep of watermark and accuracy")
_add("calibration", "How often p-values of false claims are small")
_add("jobs", "State, time and errors of each job")
