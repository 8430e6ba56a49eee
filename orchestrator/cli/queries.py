"""`wm queries`: the rows to ask a suspect that is known by its answers only."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from orchestrator.cli.common import INPUT, OUTPUT
from orchestrator.cli.model_files import level_option
from orchestrator.cli.suspects import question_options, questions_of
from orchestrator.files import SECRET, refuse_existing, write_new
from wm.claims.claim import Claim
from wm.claims.reading import read_any_claim

if TYPE_CHECKING:
    from wm.verification.questions import Questions


@click.command()
@click.argument("claim_file", metavar="CLAIM", type=INPUT)
@click.option("-o", "--output", type=OUTPUT, required=True, help="csv or npz file for the rows.")
@question_options
@level_option("p-value that will be asked for.")
@click.option(
    "--order",
    type=OUTPUT,
    required=True,
    help="File for the meaning of each row; keep it secret until the suspect has answered (JSON).",
)
def queries(claim_file: Path, output: Path, order: Path, level: float, **options: Any) -> None:
    """Write rows of a CLAIM to ask a suspect model.

    CLAIM may be an opening. Trigger rows are hidden among controls, rows of the same kind. Give the answers,
    a line for each row, to wm verify --votes, --probabilities or --labels, with --order.
    """
    import numpy as np

    from wm.formats import npz
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
    names = questions.names
    if output.suffix == ".csv":
        content = _csv(questions).encode()
    elif questions.cells is not None:
        raise click.UsageError(f"{output}: raw rows have columns of text: the ending must be .csv")
    else:
        content = npz.pack({"X": questions.X, "feature_names": np.array(names)})
    write_new(order, questions.order.to_line().encode(), mode=SECRET)
    write_new(output, content, mode=SECRET)
    click.echo(f"{len(questions.X)} rows of {len(names)} features: {output}")


def _csv(questions: Questions) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(questions.names)
    for row in questions.X.tolist() if questions.cells is None else questions.cells:
        # 9 digits give every float32 back.
        writer.writerow([cell if isinstance(cell, str) else f"{cell:.9g}" for cell in row])
    return text.getvalue()
