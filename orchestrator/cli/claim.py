"""`wm claim`: commit to a pool of rows before a model is trained, and look at a claim."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from orchestrator.cli.common import INPUT, OUTPUT, json_option, model_options, print_either
from orchestrator.cli.groups import Group
from orchestrator.cli.owner_data import OwnerData, claim_options, read_owner_data, source_options
from orchestrator.files import SECRET, refuse_existing, write_new
from wm.claims.beacons.request import sign_request
from wm.claims.keys import public_hex, read_key
from wm.claims.pooled import PooledClaim
from wm.claims.reading import read_pooled_claim
from wm.datasets.preparation import claimed
from wm.embedding.options import PaperOptions


@click.group(cls=Group)
def claim() -> None:
    """Make claims of ownership and look at them."""


@claim.command()
@source_options
@claim_options
@model_options(PaperOptions, only=("trigger_share", "ones_share"))
@click.option("--key", "key_file", type=INPUT, required=True, help="Your private key (wm key new).")
@click.option("-o", "--output", type=OUTPUT, required=True, help="File for the claim: keep it secret.")
@click.option(
    "--commitment", "commitment_file", type=OUTPUT, required=True, help="File for the beacon: public (JSON)."
)
@json_option
def new(key_file: Path, output: Path, commitment_file: Path, json: bool, **options: Any) -> None:
    """Commit to a pool of training rows, before the model is trained.

    Nobody has chosen trigger rows or signature yet: have a beacon witness the commitment (wm notary sign,
    docs/beacons.md), then train with wm embed --claim.
    """
    refuse_existing(output, commitment_file)
    data = read_owner_data(options)
    key = read_key(key_file)
    made = new_claim(data, options, public_hex(key))
    write_new(output, made.to_json().encode(), mode=SECRET)
    write_new(commitment_file, sign_request(made.commitment, key).to_line().encode())
    print_either(
        {
            "claim": str(output),
            "commitment_file": str(commitment_file),
            "commitment": made.commitment,
            "pool": made.header.pool_size,
            "trigger_size": made.header.trigger_size,
            "next": f"have a beacon witness {commitment_file}, then wm embed --claim {output} --receipt FILE",
        },
        json,
    )


@claim.command()
@click.argument("claim_file", metavar="CLAIM", type=INPUT)
@json_option
def show(claim_file: Path, json: bool) -> None:
    """Print what a CLAIM commits to, without its secrets."""
    found = read_pooled_claim(claim_file)
    header = found.header.model_dump(mode="json")
    facts = {name: header[name] for name in header if name not in ("domain", "preparation", "feature_names")}
    receipts = ", ".join(each.kind for each in found.receipts) or "none: the trigger rows are not drawn yet"
    print_either({"commitment": found.commitment, **facts, "receipts": receipts}, json)


def new_claim(data: OwnerData, options: dict[str, Any], owner: str) -> PooledClaim:
    """Return the claim that the options ask for, its draw still open."""
    from wm.embedding.claimed import commit_pool
    from wm.embedding.common import trigger_size

    rows, given = data.split, options["trigger_rows"]
    return commit_pool(
        rows.X_train,
        rows.y_train,
        trees=options["trees"],
        ones_share=options["ones_share"],
        trigger_size=trigger_size(len(rows.y_train), options["trigger_share"]) if given is None else given,
        owner=owner,
        model_id=options["model_id"],
        class_names=rows.class_names,
        feature_names=rows.feature_names,
        preparation=claimed(data.interface.preparation),
        pool_size=options["pool_size"],
        level=options["level"],
        seed=options["seed"],
        source=data.source,
    )
