"""`wm claim`: commit to a pool of rows before a model is trained, and look at a claim."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from orchestrator.cli.common import INPUT, OUTPUT, jobs_option, json_option, model_options, print_either
from orchestrator.cli.groups import Group
from orchestrator.cli.lineup import COMMITTED_HELP, new_lineup_claim
from orchestrator.cli.owner_data import OwnerData, claim_options, read_owner_data, source_options
from orchestrator.cli.schemes import LINEUP, refuse_of_others, scheme_options
from orchestrator.files import SECRET, refuse_existing, write_new
from wm.claims.beacons.request import sign_request
from wm.claims.keys import public_hex, read_key
from wm.claims.lineup import LineupClaim
from wm.claims.pooled import PooledClaim
from wm.claims.reading import read_whole_claim
from wm.embedding.options import PaperOptions

_LITTLE_ROOM = 2
"""log10 of the multiplicity below which a claim's owner is warned: a few receipts and suspects."""


@click.group(cls=Group)
def claim() -> None:
    """Make claims of ownership and look at them."""


@claim.command()
@source_options
@claim_options
@scheme_options
@model_options(PaperOptions, only=("trigger_share",))
@click.option("--committed", type=OUTPUT, help=COMMITTED_HELP)
@jobs_option("For lineup: threads for candidates")
@click.option("--key", "key_file", type=INPUT, required=True, help="Your private key (wm key new).")
@click.option("-o", "--output", type=OUTPUT, required=True, help="File for the claim: keep it secret.")
@click.option(
    "--commitment", "commitment_file", type=OUTPUT, required=True, help="File for the beacon: public (JSON)."
)
@json_option
@click.pass_context
def new(
    context: click.Context,
    /,
    key_file: Path,
    output: Path,
    commitment_file: Path,
    committed: Path | None,
    json: bool,
    **options: Any,
) -> None:
    """Commit to training rows, or to keys, before the model is trained.

    Trigger rows and signature, or seeds, are drawn afterwards: have a beacon witness the commitment (wm
    notary sign, docs/beacons.md), then train with wm embed --claim.
    """
    refuse_existing(output, commitment_file, *([] if committed is None else [committed]))
    is_lineup = options["scheme"] == LINEUP
    # These are a matter of training, but for a line-up's trees, whose seeds are committed to.
    refuse_of_others(context, options["scheme"], fixed=() if is_lineup else ("max_depth", "learning_rate"))
    data = read_owner_data(options)
    key = read_key(key_file)
    owner = public_hex(key)
    made = new_lineup_claim(data, options, owner, committed) if is_lineup else new_claim(data, options, owner)
    if isinstance(made, PooledClaim):
        _warn_of_little_room(made, options["level"])
    write_new(output, made.to_json().encode(), mode=SECRET)
    write_new(commitment_file, sign_request(made.commitment, key).to_line().encode())
    print_either(
        {
            "claim": str(output),
            "commitment_file": str(commitment_file),
            "commitment": made.commitment,
            **_sizes(made),
            "next": f"have a beacon witness {commitment_file}, then wm embed --claim {output} --receipt FILE",
        },
        json,
    )


@claim.command()
@click.argument("claim_file", metavar="CLAIM", type=INPUT)
@json_option
def show(claim_file: Path, json: bool) -> None:
    """Print what a CLAIM commits to, without its secrets."""
    found = read_whole_claim(claim_file)
    header = found.header.model_dump(mode="json")
    facts = {name: header[name] for name in header if name not in ("domain", "preparation", "feature_names")}
    receipts = ", ".join(each.kind for each in found.receipts) or "none: not drawn yet"
    if not json:
        facts = {name: _lines(value) for name, value in facts.items()}
    print_either({"commitment": found.commitment, **facts, "receipts": receipts}, json)


def _lines(value: Any) -> Any:
    """Return a line for each entry of a table, anything else as it is."""
    return [f"{name} {entry}" for name, entry in value.items()] if isinstance(value, dict) else value


def new_claim(data: OwnerData, options: dict[str, Any], owner: str) -> PooledClaim:
    """Return the claim that the options ask for, its draw still open."""
    from wm.embedding import SCHEMES
    from wm.embedding.boosted.claimed import trees_of_rounds
    from wm.embedding.claimed import commit_pool
    from wm.embedding.common import trigger_size

    rows, given, scheme = data.rows, options["trigger_rows"], options["scheme"]
    ones_share = SCHEMES[scheme].ones_share if options["ones_share"] is None else options["ones_share"]
    return commit_pool(
        rows,
        trees=trees_of_rounds(scheme, options["trees"], len(rows.class_names)),
        ones_share=ones_share,
        scheme=scheme,
        trigger_size=trigger_size(len(rows.y), options["trigger_share"]) if given is None else given,
        owner=owner,
        model_id=options["model_id"],
        pool_size=options["pool_size"],
        pool_rows=options["pool_rows"],
        level=options["level"],
        seed=options["seed"],
        source=data.source,
    )


def _sizes(made: PooledClaim | LineupClaim) -> dict[str, Any]:
    """Return the numbers that a new claim's owner looks for."""
    if isinstance(made, PooledClaim):
        return {"pool": made.header.pool_size, "trigger_size": made.header.trigger_size}
    return {"trees": made.header.trees, "mode": made.header.mode}


def _warn_of_little_room(made: PooledClaim, level: float) -> None:
    """Warn of a claim that few receipts and suspects spoil."""
    from wm.embedding.claimed import log10_room

    room = log10_room(made.header, level)
    if room < _LITTLE_ROOM:
        click.echo(
            "Warning: labels or class shares of a copy stay significant only while p is multiplied by "
            f"{10**room:.0f} at most: the number of receipts of your key times that of suspects tried "
            "(a timestamp authority counts as a million receipts). More trigger rows leave more room.",
            err=True,
        )
