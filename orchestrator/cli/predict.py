"""`wm predict`: a model's answers to raw rows."""

from __future__ import annotations

import csv
import sys
from pathlib import Path
from typing import Literal, get_args

import click

from orchestrator.cli.common import INPUT, OUTPUT, json_option, print_json
from orchestrator.cli.model_files import table_options, trust_options
from orchestrator.cli.model_rows import read_model_rows
from orchestrator.files import writing
from orchestrator.frames import records, write_frame
from wm.verification.questions import Units

Answer = Literal["labels", "probabilities", "votes"]


@click.command()
@click.argument("model", type=INPUT)
@click.argument("rows", type=INPUT)
@click.option(
    "--answer",
    type=click.Choice(get_args(Answer)),
    default="labels",
    help="The class of each row, the probability of each class, or the vote of each tree (0, 1, ...).",
)
@click.option(
    "--units",
    type=click.Choice(get_args(Units)),
    help="What the rows are: model input, or raw.  [default: raw in tables, model input in npz, svmlight]",
)
@table_options
@trust_options
@click.option("-o", "--output", type=OUTPUT, help="Write to a file instead: .csv, .json or .parquet.")
@json_option
def predict(
    model: Path,
    rows: Path,
    answer: Answer,
    units: Units | None,
    header: bool | None,
    sep: str | None,
    drop: tuple[str, ...],
    trusted: tuple[str, ...],
    trust_pickle: bool,
    output: Path | None,
    json: bool,
) -> None:
    """Print the answers of a MODEL to ROWS, as csv.

    The rows may be raw: a model of wm embed knows its columns by name, their categories, and what stands for
    missing values. Other columns, such as the label, are not used.
    """
    import numpy as np
    import pandas as pd

    from wm.formats.export import load_model
    from wm.interface import read_interface

    forest = load_model(model, trusted=trusted, trust_pickle=trust_pickle)
    interface = read_interface(model, forest)
    X = read_model_rows(forest, interface, rows, units=units, header=header, sep=sep, drop=drop)
    names = list(map(str, forest.classes.tolist())) if interface is None else list(interface.class_names)
    if answer == "votes":
        found = pd.DataFrame(forest.vote_codes(X), columns=[f"tree_{tree}" for tree in range(forest.n_trees)])
    elif answer == "probabilities":
        found = pd.DataFrame(forest.predict_proba(X), columns=names)
    else:
        codes = np.searchsorted(forest.classes, forest.predict(X))
        found = pd.DataFrame({"label": np.array(names, dtype=object)[codes]})
    if output is not None:
        with writing(output):
            write_frame(found, output)
    elif json:
        print_json(records(found))
    else:
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow(found.columns)
        writer.writerows(found.itertuples(index=False))
