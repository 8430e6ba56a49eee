"""`wm queries`: the rows to ask a suspect that is known by its answers only."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from orchestrator.cli.common import INPUT, OUTPUT
from orchestrator.cli.suspects import chosen_questions, decoy_options
from orchestrator.files import SECRET, write_new, writing
from wm.claims.opening import read_claim_or_opening


@click.command()
@click.argument("claim_file", metavar="CLAIM", type=INPUT)
@click.option("-o", "--output", type=OUTPUT, required=True, help="csv or npz file for the rows.")
@decoy_options
@click.option(
    "--order",
    type=OUTPUT,
    help="File for the meaning of each row; keep it secret until the suspect has answered (JSON).",
)
def queries(claim_file: Path, output: Path, order: Path | None, **options: Any) -> None:
    """Write the rows of a CLAIM to ask a suspect model.

    CLAIM may be an opening. Give the answers, a line for each row, to wm verify --votes, --probabilities or
    --labels. Without --decoys the file holds only the trigger rows, in order. With --decoys the trigger rows
    are hidden among decoys; then wm verify also needs the file of --order.
    """
    import numpy as np

    from wm.formats import npz

    claim = read_claim_or_opening(claim_file)
    if (options["decoys"] is None) != (order is None):
        raise click.UsageError("--decoys and --order go together: the order says which rows are decoys")
    if output.suffix not in (".csv", ".npz"):
        raise click.UsageError(f"{output}: the ending must be .csv or .npz")
    rows = claim.trigger_set.X
    if order is not None:
        questions, _ = chosen_questions(claim, options)
        rows = questions.X
        write_new(order, questions.order.to_line().encode(), mode=SECRET)
    with writing(output):
        if output.suffix == ".csv":
            np.savetxt(output, rows, delimiter=",", fmt="%.9g")  # 9 digits give every float32 back
        else:
            output.write_bytes(npz.pack({"X": rows}))
    click.echo(f"{len(rows)} rows of {rows.shape[1]} features: {output}")
