"""`wm queries`: the rows to ask a suspect that is known by its answers only."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import click

from orchestrator.cli.common import INPUT, OUTPUT
from orchestrator.cli.lineup import OF_JUDGE, judge_options, lineup_questions, refuse_foreign
from orchestrator.cli.model_files import level_option
from orchestrator.cli.suspects import question_options, questions_of
from orchestrator.files import SECRET, refuse_existing, write_new
from wm.claims.claim import Claim
from wm.claims.lineup import LineupClaim
from wm.claims.lineup_opened import OpenedLineup
from wm.claims.reading import read_any_claim
from wm.verification.lineup.order import LineupOrder
from wm.verification.questions import Order


@click.command()
@click.argument("claim_file", metavar="CLAIM", type=INPUT)
@click.option("-o", "--output", type=OUTPUT, required=True, help="csv or npz file for the rows.")
@question_options
@judge_options
@click.option(
    "--judge-seed", metavar="TEXT", help="For a line-up: repeats a judge's choices.  [default: a new one]"
)
@level_option("p-value that will be asked for.")
@click.option(
    "--order",
    type=OUTPUT,
    required=True,
    help="File for the meaning of each row; keep it secret until the suspect has answered (JSON).",
)
@click.pass_context
def queries(
    context: click.Context, /, claim_file: Path, output: Path, order: Path, level: float, **options: Any
) -> None:
    """Write rows of a CLAIM to ask a suspect model.

    CLAIM may be an opening. Trigger rows are hidden among controls, rows of the same kind; the rows of a
    line-up are no secret. Give the answers, a line for each row, to wm verify --votes, --probabilities or
    --labels, with --order.
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
    asked: LineupOrder | Order
    if isinstance(claim, LineupClaim | OpenedLineup):
        X, asked = lineup_questions(claim, options)
    else:
        refuse_foreign(context, OF_JUDGE, "is for claims of scheme lineup")
        questions = questions_of(sample_of(claim), options, level)
        X, asked = questions.X, questions.order
    names = claim.header.feature_names
    if output.suffix == ".csv":
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerow(names)
        np.savetxt(text, X, delimiter=",", fmt="%.9g")  # 9 digits give every float32 back
        content = text.getvalue().encode()
    else:
        content = npz.pack({"X": X, "feature_names": np.array(names)})
    write_new(order, asked.to_line().encode(), mode=SECRET)
    write_new(output, content, mode=SECRET)
    click.echo(f"{len(X)} rows of {len(names)} features: {output}")
