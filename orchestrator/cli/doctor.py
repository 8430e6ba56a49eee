"""`wm doctor`: check connections and versions, with a one-line fix for each fault."""

from __future__ import annotations

from dataclasses import asdict

import click
from click.core import ParameterSource

from orchestrator.cli import Exit
from orchestrator.cli.common import json_option, print_json, store_option
from orchestrator.cli.urls import broker_option


@click.command()
@store_option
@broker_option
@json_option
@click.pass_context
def doctor(context: click.Context, store_url: str, broker_url: str, json: bool) -> None:
    """Check store, broker, workers and versions, and suggest fixes.

    A campaign on this machine alone needs no broker and no worker. With --json the environment is printed
    too, for bug reports. The exit code is 4 if there is a fault.
    """
    from orchestrator.diagnosis import diagnose, environment

    is_default = context.get_parameter_source("broker_url") is ParameterSource.DEFAULT
    found = diagnose(store_url, broker_url, broker_is_named=not is_default)
    if json:
        facts = asdict(environment())
        print_json({"environment": facts, "findings": [asdict(finding) for finding in found]})
    else:
        for finding in found:
            mark = "FAULT" if finding.is_fault else "note " if finding.fix else "ok   "
            click.echo(f"{mark}  {finding.what}: {finding.found}")
            if finding.fix:
                click.echo(f"       -> {finding.fix}")
    if any(finding.is_fault for finding in found):
        context.exit(Exit.INFRASTRUCTURE)
