"""`wm scrub`: a model without what its file gives away."""

from __future__ import annotations

from pathlib import Path

import click

from orchestrator.cli.common import INPUT, OUTPUT, json_option, print_either
from orchestrator.cli.model_files import trust_options
from orchestrator.errors import OutputError
from orchestrator.files import write_new, write_whole


@click.command()
@click.argument("model", type=INPUT)
@click.option("-o", "--output", type=OUTPUT, required=True, help="npz file for the scrubbed model.")
@trust_options
@click.option("--force", is_flag=True, help="Replace an existing file.")
@json_option
def scrub(
    model: Path, output: Path, trusted: tuple[str, ...], trust_pickle: bool, force: bool, json: bool
) -> None:
    """Write a MODEL without what wm audit finds.

    Class shares, sample counts, seeds and the order of nodes give a watermark away. The vote of each tree
    stays; probabilities become shares of votes, so that the class of a few rows may change.
    """
    from wm.formats.export import load_model
    from wm.formats.scrubbing import scrubbed
    from wm.interface import model_bytes, read_interface

    if output.suffix != ".npz":
        raise OutputError(f"{output}: the ending must be .npz; wm export writes other formats")
    forest = load_model(model, trusted=trusted, trust_pickle=trust_pickle)
    content = model_bytes(scrubbed(forest), read_interface(model, forest))
    (write_whole if force else write_new)(output, content)
    print_either({"output": str(output), "trees": forest.n_trees}, json)
