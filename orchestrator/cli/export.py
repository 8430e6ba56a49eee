"""`wm export`: a model as a file of another library."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import click

from orchestrator.cli.common import INPUT, OUTPUT, json_option, print_either, say
from orchestrator.cli.model_files import say_what_to_trust, trust_options
from orchestrator.errors import OutputError
from orchestrator.files import write_new, write_whole
from wm.exporting import TARGETS
from wm.verification.questions import Units


@click.command()
@click.argument("model", type=INPUT)
@click.option(
    "--to",
    "target",
    type=click.Choice(list(TARGETS)),
    required=True,
    help="scikit-learn (skops file), ONNX, or XGBoost's json.",
)
@click.option("-o", "--output", type=OUTPUT, required=True, help="File for the exported model.")
@click.option(
    "--units",
    type=click.Choice(get_args(Units)),
    help="Whether the model takes raw rows or model input.  [default: raw for sklearn, else model]",
)
@trust_options
@click.option("--force", is_flag=True, help="Replace an existing file.")
@json_option
def export(
    model: Path,
    target: str,
    output: Path,
    units: Units | None,
    trusted: tuple[str, ...],
    trust_pickle: bool,
    force: bool,
    json: bool,
) -> None:
    """Write a MODEL as a file of another library.

    Each tree keeps its vote, and nothing of training is written. A model for scikit-learn takes frames of raw
    rows; those for ONNX and XGBoost take model input.
    """
    from wm.exporting import exported
    from wm.formats.export import load_model
    from wm.formats.reading import ENDINGS, read_model
    from wm.interface import read_interface

    chosen = TARGETS[target]
    if output.suffix != chosen.ending:
        raise OutputError(f"{output}: the ending must be {chosen.ending} for {target}")
    if model.suffix in ENDINGS:
        forest = read_model(model).voting_forest(str(model), "a model of votes is exported")
    else:
        forest = load_model(model, trusted=trusted, trust_pickle=trust_pickle)
    interface = read_interface(model, forest)
    if units == "raw" and (interface is None or not chosen.takes_raw):
        raise click.UsageError(
            f"{target} has no place for the preparation of raw rows"
            if interface is not None
            else f"{model}: does not say what raw rows are"
        )
    if interface is not None and units == "model":
        interface = interface.of_model_input()
    (write_whole if force else write_new)(output, exported(forest, interface, target))
    say_what_to_trust(output)
    if interface is not None and units is None and not chosen.takes_raw:
        preparation = interface.preparation
        if not preparation.is_plain or preparation.scaling is not None:
            say(
                f"{output}: takes {forest.n_features} features, not raw rows: --to sklearn keeps their "
                "preparation"
            )
    print_either({"output": str(output), "format": target, "trees": forest.n_trees}, json)
