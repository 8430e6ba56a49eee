"""`wm beacon`: get a receipt for a commitment, from whichever beacon is at hand."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from orchestrator.cli.common import INPUT, OUTPUT, json_option, option_group, print_either
from orchestrator.cli.groups import Group
from orchestrator.cli.urls import read_secret
from orchestrator.errors import OutputError
from orchestrator.files import write_new

if TYPE_CHECKING:
    from wm.claims.beacons.base import DrandChain, Receipt, Trust
    from wm.claims.beacons.request import CommitmentRequest

NETWORKS = {"quicknet": "QUICKNET", "default": "DEFAULT"}
"""Public drand networks, and their names in `wm.claims.beacons.drand`."""


@click.group(cls=Group)
def beacon() -> None:
    """Get a beacon's receipt for a commitment.

    For owners, between wm claim new and wm embed --claim. What a beacon answers is checked before it is
    written. Which beacon proves what: docs/beacons.md.
    """


_commitment = click.argument("commitment_file", metavar="COMMITMENT", type=INPUT)
_receipt = option_group(
    click.option("-o", "--output", type=OUTPUT, required=True, help="File for the receipt (JSON)."),
    json_option,
)


def _write_receipt(
    commitment_file: Path, output: Path, json: bool, ask: Callable[[CommitmentRequest], Receipt]
) -> None:
    """Write the receipt that `ask` gets for a commitment, and print what it says."""
    from wm.claims.beacons.request import read_request

    request = read_request(commitment_file)
    if output.exists():  # before it is asked for: receipts are counted
        raise OutputError(f"{output}: exists already: choose another name")
    receipt = ask(request)
    write_new(output, receipt.to_json().encode())
    facts = {
        "receipt": str(output),
        "kind": receipt.kind,
        "commitment": request.commitment,
        "next": f"wm embed --claim FILE --receipt {output}",
    }
    print_either(facts, json)


@beacon.command()
@_commitment
@click.option("--url", required=True, help="Address of the notary (wm notary serve).")
@click.option("--token-file", type=INPUT, help="File with the token that the notary asks for.")
@_receipt
def notary(commitment_file: Path, url: str, token_file: Path | None, output: Path, json: bool) -> None:
    """Ask a notary's service for a receipt.

    Each receipt of your key counts against you, also if you lose it.
    """
    from wm.claims.beacons.asking import notary_receipt

    token = None if token_file is None else read_secret(token_file, "--token-file")
    _write_receipt(commitment_file, output, json, lambda request: notary_receipt(url, request, token=token))


@beacon.command()
@_commitment
@click.option("-o", "--output", type=OUTPUT, required=True, help="File for the query (DER).")
@json_option
def query(commitment_file: Path, output: Path, json: bool) -> None:
    """Write a query for a timestamp authority.

    For one that this machine cannot reach: send it there, then give the answer to wm beacon timestamp.
    """
    from wm.claims.beacons.request import read_request
    from wm.claims.beacons.rfc3161 import timestamp_request

    write_new(output, timestamp_request(read_request(commitment_file).commitment))
    facts = {"query": str(output), "next": f"wm beacon timestamp {commitment_file} --response FILE"}
    print_either(facts, json)


@beacon.command()
@_commitment
@click.option("--url", help="Address of the authority.")
@click.option("--response", type=INPUT, help="Its answer to wm beacon query (DER), instead of --url.")
@_receipt
def timestamp(
    commitment_file: Path, url: str | None, response: Path | None, output: Path, json: bool
) -> None:
    """Have a timestamp authority (RFC 3161) stamp the commitment."""
    from wm.claims.beacons.asking import authority_answer, authority_receipt
    from wm.claims.beacons.rfc3161 import MAX_TOKEN_BYTES
    from wm.errors import ClaimError
    from wm.formats.bounded import read_bounded

    if url is not None and response is None:
        _write_receipt(commitment_file, output, json, lambda request: authority_receipt(url, request))
    elif response is not None and url is None:
        kind = "a timestamp authority's answer"
        answer = read_bounded(response, error=ClaimError, max_bytes=MAX_TOKEN_BYTES, kind=kind)
        _write_receipt(
            commitment_file,
            output,
            json,
            lambda request: authority_answer(answer, request, where=str(response)),
        )
    else:
        raise click.UsageError("give --url or --response")


@beacon.command()
@_commitment
@click.option(
    "--time", "proof_file", type=INPUT, required=True, help="Receipt of a notary or an authority for it."
)
@click.option("--root", type=INPUT, multiple=True, help="Root of that timestamp authority (PEM).")
@click.option("--network", type=click.Choice(sorted(NETWORKS)), default="quicknet", help="Public network.")
@click.option("--url", help="Its HTTP interface.  [default: https://api.drand.sh]")
@click.option("--round", "round_file", type=INPUT, help="The round (JSON), instead of --url.")
@_receipt
def drand(
    commitment_file: Path,
    proof_file: Path,
    root: tuple[Path, ...],
    network: str,
    url: str | None,
    round_file: Path | None,
    output: Path,
    json: bool,
) -> None:
    """Take the drand round that follows a proof of time.

    It is due 60 s after that time; the command waits for it.
    """
    from wm.claims.beacons import drand as networks
    from wm.claims.beacons.asking import DRAND_API, due_round, published_round, round_address, round_receipt
    from wm.claims.beacons.base import read_receipt
    from wm.claims.document import read_document

    if url is not None and round_file is not None:
        raise click.UsageError("give either --round or --url")
    chain: DrandChain = getattr(networks, NETWORKS[network])
    proof = read_receipt(proof_file)
    if proof.kind == "rfc3161" and not root:
        raise click.UsageError("a timestamp's time is known only with its authority's root: give --root")

    def ask(request: CommitmentRequest) -> Receipt:
        trust = read_roots(root)
        number = due_round(chain, proof, request, trust)
        if round_file is not None:
            content, where = read_document(round_file, "a round of drand"), str(round_file)
        else:
            where = round_address(chain, number, url or DRAND_API)
            _wait_until(networks.round_time(chain, number), f"round {number}")
            content = published_round(where)
        return round_receipt(chain, content, proof, request, trust, where=where)

    _write_receipt(commitment_file, output, json, ask)


def read_roots(files: tuple[Path, ...], **more: Any) -> Trust:
    """Return a list of trusted beacons with these roots of timestamp authorities (PEM)."""
    from wm.claims.beacons.base import Trust
    from wm.claims.document import read_document

    texts = (read_document(file, "a certificate").decode("ascii", errors="replace") for file in files)
    return Trust(timestamp_roots=tuple(texts), **more)


def _wait_until(moment: datetime, what: str) -> None:
    left = (moment - datetime.now(UTC)).total_seconds()
    if left > 0:
        click.echo(f"{what} is due in {left:.0f} s", err=True)
        time.sleep(left + 1)
