"""`wm predict`: a model's answers to raw rows."""

from __future__ import annotations

import csv
import sys
from pathlib import Path
from typing import Literal, get_args

import click

from orchestrator.cli.common import INPUT, OUTPUT, json_option, print_json, refuse_file_and_json
from orchestrator.cli.model_files import table_options, trust_options
from orchestrator.cli.model_rows import read_model_rows
from orchestrator.files import writing
from orchestrator.frames import records, write_frame
from wm.errors import ModelError
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
    missing values. Other columns, such as the label, are not used. A model of another library
    (docs/formats.md) takes numbers, by name if its file has names, and missing values if its trees say where
    they go.
    """
    import pandas as pd

    from wm.formats.reading import read_model
    from wm.interface import read_interface

    refuse_file_and_json(output, json)
    given = read_model(model, trusted=trusted, trust_pickle=trust_pickle)
    if answer == "votes":
        given.trees_that_vote(str(model))  # refuses margins by name
    classes = None if given.classes is None else len(given.classes)
    interface = read_interface(model, given.forest, classes)
    X = read_model_rows(given, interface, rows, units=units, header=header, sep=sep, drop=drop)
    if answer == "votes":
        trees = [f"tree_{tree}" for tree in range(given.forest.n_trees)]
        found = pd.DataFrame(given.forest.vote_codes(X), columns=trees)
    elif given.classes is None:
        if answer == "probabilities":
            raise ModelError(f"{model}: is a regression, which has no classes: leave --answer out")
        found = pd.DataFrame({"value": given.predict(X)})
    else:
        own = given.classes.tolist()
        names = list(map(str, own)) if interface is None else list(interface.class_names)
        if answer == "probabilities":
            # A header of numbers alone would be read as a row of answers.
            numbered = all(map(str.isdecimal, names)) and not json
            columns = [f"class_{name}" for name in names] if numbered else names
            found = pd.DataFrame(given.predict_proba(X), columns=columns)
        else:
            # The paper's rule is the majority of votes; other libraries have rules of their own.
            predicted = given.forest.predict(X) if given.framework == "treeproof" else given.predict(X)
            name_of = dict(zip(own, names, strict=True))
            found = pd.DataFrame({"label": [name_of[label] for label in predicted.tolist()]})
    if output is not None:
        with writing(output):
            write_frame(found, output)
    elif json:
        print_json(records(found))
    else:
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow(found.columns)
        writer.writerows(found.itertuples(index=False))
