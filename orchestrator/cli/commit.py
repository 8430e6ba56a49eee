"""`wm commit`: the commitment that an owner publishes before releasing the model."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import click

from orchestrator.cli.common import INPUT, OUTPUT, json_option, print_either
from orchestrator.cli.model_files import moment
from orchestrator.errors import OutputError
from orchestrator.files import write_new, writing
from wm.claims.claim import read_claim
from wm.claims.publication import Publication, publication_of, read_publications


@click.command()
@click.argument("claim_file", metavar="CLAIM", type=INPUT)
@click.option("-o", "--output", type=OUTPUT, help="File for the document (JSON).")
@click.option("--append", "log", type=OUTPUT, help="Log of commitments to add a line to.")
@click.option(
    "--at", callback=moment, metavar="DATE", help="When it is published (ISO 8601).  [default: now]"
)
@json_option
def commit(claim_file: Path, output: Path | None, log: Path | None, at: datetime | None, json: bool) -> None:
    """Make the public document that commits to a secret CLAIM.

    Publish it before the model, in a place that proves the time: its own date proves nothing. See
    docs/verification.md.
    """
    document = publication_of(read_claim(claim_file), datetime.now(UTC) if at is None else at)
    if log is not None:
        _append(log, document)
    if output is not None:
        write_new(output, document.to_json().encode())
    print_either(document.model_dump(mode="json"), json)


def _append(log: Path, document: Publication) -> None:
    line = document.to_line().encode()
    if log.exists():
        for each in read_publications(log):
            if each.commitment == document.commitment:
                raise OutputError(f"{log}: already holds this commitment, of {each.published}")
        with writing(log):
            last = log.read_bytes()[-1:]
        line = line if last == b"\n" else b"\n" + line
    with writing(log), log.open("ab") as file:
        file.write(line)
