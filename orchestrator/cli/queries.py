"""`wm queries`: the rows to ask a suspect that is known by its answers only."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from orchestrator.cli.common import INPUT, OUTPUT, json_option, print_json
from orchestrator.cli.lineup import OF_JUDGE, judge_options, lineup_questions
from orchestrator.cli.model_files import level_option
from orchestrator.cli.schemes import refuse_foreign
from orchestrator.cli.suspects import question_options, questions_of
from orchestrator.files import SECRET, refuse_existing, write_new
from wm.claims.claim import Claim
from wm.claims.lineup import LineupClaim
from wm.claims.lineup_opened import OpenedLineup
from wm.claims.reading import read_any_claim

if TYPE_CHECKING:
    from wm.verification.questions import Questions


@click.command()
@click.argument("claim_file", metavar="CLAIM", type=INPUT)
@click.option("-o", "--output", type=OUTPUT, required=True, help="csv or npz file for the rows.")
@question_options
@judge_options
@click.option(
    "--judge-seed", metavar="TEXT", help="For a line-up: repeats a judge's choices.  [default: a new one]"
)
@click.option(
    "--ids", is_flag=True, help="Number the rows in a first column id, so that answers may come in any order."
)
@level_option("Significance level that will be asked for.")
@click.option(
    "--order",
    type=OUTPUT,
    required=True,
    help="File for the meaning of each row; keep it secret until the suspect has answered (JSON).",
)
@json_option
@click.pass_context
def queries(
    context: click.Context,
    /,
    claim_file: Path,
    output: Path,
    order: Path,
    level: float,
    ids: bool,
    json: bool,
    **options: Any,
) -> None:
    """Write rows of a CLAIM to ask a suspect model.

    CLAIM may be an opening. Trigger rows are hidden among controls, rows of the same kind; the rows of a
    line-up are no secret. Give the answers, a line for each row, to wm verify --votes, --probabilities or
    --labels, with --order. Answers with a column id may come in any order, and missing ones are named.
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
    questions: Questions[Any]
    if isinstance(claim, LineupClaim | OpenedLineup):
        questions = lineup_questions(claim, options)
    else:
        refuse_foreign(context, OF_JUDGE, "is for claims of scheme lineup")
        questions = questions_of(sample_of(claim), options, level)
    names = questions.names
    if ids and ID in names:
        raise click.UsageError(f"--ids: a feature is named {ID} already")
    if output.suffix == ".csv":
        content = _csv(questions, [ID, *names] if ids else names).encode()
    elif questions.cells is not None:
        raise click.UsageError(f"{output}: raw rows have columns of text: the ending must be .csv")
    else:
        named = {ID: np.arange(1, len(questions.X) + 1)} if ids else {}
        content = npz.pack({"X": questions.X, "feature_names": np.array(names), **named})
    write_new(order, questions.order.to_line().encode(), mode=SECRET)
    write_new(output, content, mode=SECRET)
    if json:
        files = {"output": str(output), "order": str(order)}
        print_json({"rows": len(questions.X), "features": len(names), **files})
    else:
        click.echo(f"{len(questions.X)} rows of {len(names)} features: {output}")


def _csv(questions: Questions[Any], columns: Sequence[str]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    rows = questions.X.tolist() if questions.cells is None else questions.cells
    for number, row in enumerate(rows, start=1):
        # 9 digits give every float32 back.
        cells = [cell if isinstance(cell, str) else f"{cell:.9g}" for cell in row]
        writer.writerow(cells if len(cells) == len(columns) else [str(number), *cells])
    return text.getvalue()
