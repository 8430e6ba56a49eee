"""`wm notary`: be the second party that proves when an owner committed to a claim."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import click

from orchestrator.cli.beacon import NETWORKS, read_roots
from orchestrator.cli.common import INPUT, OUTPUT, json_option, option_group, print_either
from orchestrator.cli.groups import Group
from orchestrator.cli.urls import read_secret
from orchestrator.errors import OutputError
from orchestrator.files import write_new
from wm.claims.beacons.notary import read_statement
from wm.claims.beacons.notary_log import NotaryLog
from wm.claims.beacons.request import read_request
from wm.claims.keys import read_key


@click.group(cls=Group)
def notary() -> None:
    """Give receipts for owners' commitments.

    A receipt proves to a judge who trusts your key when an owner committed, and holds randomness that the
    owner could not know before. You learn nothing of the claim. See docs/beacons.md.
    """


_key_and_log = option_group(
    click.option("--key", "key_file", type=INPUT, required=True, help="Your private key (wm key new)."),
    click.option(
        "--log",
        "log_file",
        type=OUTPUT,
        help="Log of your receipts; it is made if there is none.  [default: the key's name + .log]",
    ),
)


def _open(key_file: Path, log_file: Path | None) -> NotaryLog:
    return NotaryLog(log_file or key_file.with_name(f"{key_file.name}.log"), read_key(key_file))


@notary.command()
@click.argument("commitment_file", metavar="COMMITMENT", type=INPUT)
@_key_and_log
@click.option("-o", "--output", type=OUTPUT, required=True, help="File for the receipt (JSON).")
@json_option
def sign(commitment_file: Path, key_file: Path, log_file: Path | None, output: Path, json: bool) -> None:
    """Give a receipt for a COMMITMENT that an owner has sent.

    It is added to the log first. Keep all receipts in one log: judges count those of one owner.
    """
    request, log = read_request(commitment_file), _open(key_file, log_file)
    if output.exists():  # before it is counted
        raise OutputError(f"{output}: exists already: choose another name")
    receipt = log.sign(request)
    write_new(output, receipt.to_json().encode())
    _, statement, _ = read_statement(receipt.content)
    facts = {
        "receipt": str(output),
        "notary": log.notary,
        "commitment": request.commitment,
        "owner": request.owner,
        "number": statement.predicate.number,
        "time": statement.predicate.time.isoformat(),
    }
    print_either(facts, json)


@notary.command()
@_key_and_log
@click.option("--host", default="127.0.0.1", help="Address to listen on.")
@click.option(
    "--port", type=click.IntRange(min=0, max=65535), required=True, help="Port; 0 takes one that is free."
)
@click.option(
    "--token-file",
    type=INPUT,
    help="File with a token that owners must send.  [default: anybody gets receipts]",
)
@json_option
def serve(
    key_file: Path, log_file: Path | None, host: str, port: int, token_file: Path | None, json: bool
) -> None:
    """Give receipts over HTTP until stopped.

    POST /receipts takes a commitment; GET /log and GET /key show the log and your public key. wm notary sign
    may use the same log at the same time.
    """
    from wm.claims.beacons.notary_service import NotaryService

    log = _open(key_file, log_file)
    token = None if token_file is None else read_secret(token_file, "--token-file")
    receipts = log.count()  # a log that cannot be read is found now
    try:
        service = NotaryService(host, port, log, token=token, report=_report)
    except OSError as reason:
        raise OutputError(f"{host}:{port}: cannot listen ({reason.strerror or reason})") from reason
    with service:
        print_either({"address": service.url, "notary": log.notary, "receipts": receipts}, json)
        sys.stdout.flush()
        try:
            service.serve_forever()
        except KeyboardInterrupt:
            _report("stopped")


def _report(line: str) -> None:
    click.echo(line, err=True)


_HEX = re.compile("[0-9a-f]{64}")


@notary.command()
@click.argument("keys", metavar="[KEY]...", nargs=-1)
@click.option("--root", "roots", type=INPUT, multiple=True, help="Root of a timestamp authority (PEM).")
@click.option("--drand", type=click.Choice(sorted(NETWORKS)), multiple=True, help="Public drand network.")
@click.option("-o", "--output", type=OUTPUT, required=True, help="File for the list (JSON).")
def trust(keys: tuple[str, ...], roots: tuple[Path, ...], drand: tuple[str, ...], output: Path) -> None:
    """Write a judge's list of trusted beacons, for wm verify --trust.

    KEY is a notary's public key as wm key new printed it (64 hex digits); ask notaries for it, not owners.
    """
    from wm.claims.beacons import drand as networks

    if wrong := [key for key in keys if not _HEX.fullmatch(key)]:
        raise click.BadParameter(f"{wrong[0]!r} is not a public key of 64 hex digits", param_hint="KEY")
    chains = tuple(getattr(networks, NETWORKS[name]) for name in drand)
    found = read_roots(roots, notaries=keys, drand=chains)
    if not found.size:
        raise click.UsageError("give a KEY, a --root or a --drand network: an empty list trusts nobody")
    write_new(output, found.to_json().encode())
