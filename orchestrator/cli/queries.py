"""`wm queries`: the rows to ask a suspect that is known by its answers only."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import click

from orchestrator.cli.common import INPUT, OUTPUT, json_option, print_json
from orchestrator.cli.model_files import level_option
from orchestrator.cli.suspects import question_options, questions_of
from orchestrator.files import SECRET, refuse_existing, write_new
from wm.claims.claim import Claim
from wm.claims.reading import read_any_claim


@click.command()
@click.argument("claim_file", metavar="CLAIM", type=INPUT)
@click.option("-o", "--output", type=OUTPUT, required=True, help="csv or npz file for the rows.")
@question_options
@click.option(
    "--ids", is_flag=True, help="Number the rows in a first column id; answers may then name theirs."
)
@level_option("p-value that will be asked for.")
@click.option(
    "--order",
    type=OUTPUT,
    required=True,
    help="File for the meaning of each row; keep it secret until the suspect has answered (JSON).",
)
@json_option
def queries(
    claim_file: Path, output: Path, order: Path, level: float, ids: bool, json: bool, **options: Any
) -> None:
    """Write rows of a CLAIM to ask a suspect model.

    CLAIM may be an opening. Trigger rows are hidden among controls, rows of the same kind. Give the answers,
    a line for each row, to wm verify --votes, --probabilities or --labels, with --order. Answers with a
    column id may come in any order, and missing ones are named.
    """
    import numpy as np

    from wm.formats import npz
    from wm.verification.answer_files import ID
    from wm.verification.samples import sample_of

    claim = read_any_claim(claim_file)
    if isinstance(claim, Claim):
        raise click.UsageError(
            f"{claim_file}: a claim of version {claim.version} has no controls to ask: give wm verify --model"
        )
    if output.suffix not in (".csv", ".npz"):
        raise click.UsageError(f"{output}: the ending must be .csv or .npz")
    refuse_existing(output, order)
    sample = sample_of(claim)
    questions = questions_of(sample, options, level)
    names, numbers = sample.header.feature_names, np.arange(1, len(questions.X) + 1)
    if ids and ID in names:
        raise click.UsageError(f"--ids: a feature is named {ID} already")
    if output.suffix == ".csv":
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerow([ID, *names] if ids else names)
        numbered = np.column_stack([numbers, questions.X.astype(np.float64)]) if ids else questions.X
        np.savetxt(text, numbered, delimiter=",", fmt="%.9g")  # 9 digits give every float32 back
        content = text.getvalue().encode()
    else:
        named = {ID: numbers} if ids else {}
        content = npz.pack({"X": questions.X, "feature_names": np.array(names), **named})
    write_new(order, questions.order.to_line().encode(), mode=SECRET)
    write_new(output, content, mode=SECRET)
    if json:
        files = {"output": str(output), "order": str(order)}
        print_json({"rows": len(questions.X), "features": len(names), **files})
    else:
        click.echo(f"{len(questions.X)} rows of {len(names)} features: {output}")
