"""`wm scrub`: a model without what its file gives away."""

from __future__ import annotations

from pathlib import Path

import click

from orchestrator.cli.common import INPUT, OUTPUT, json_option, print_either
from orchestrator.cli.model_files import say_what_to_trust, trust_options
from orchestrator.errors import OutputError
from orchestrator.files import write_new, write_whole


@click.command()
@click.argument("model", type=INPUT)
@click.option(
    "-o", "--output", type=OUTPUT, required=True, help="File for the scrubbed model: npz, or of its library."
)
@trust_options
@click.option("--force", is_flag=True, help="Replace an existing file.")
@json_option
def scrub(
    model: Path, output: Path, trusted: tuple[str, ...], trust_pickle: bool, force: bool, json: bool
) -> None:
    """Write a MODEL without what wm audit finds.

    Class shares, sample counts, seeds and the order of nodes give a watermark away. The vote of each tree
    stays; probabilities become shares of votes, so that the class of a few rows may change. A boosted model
    of XGBoost, LightGBM, CatBoost or scikit-learn keeps its format and every prediction; its counts and sums
    become 0.
    """
    from wm.formats.export import load_model
    from wm.formats.reading import ENDINGS, parse_model, read_file, read_model
    from wm.formats.scrubbing import scrubbed
    from wm.formats.scrubbing_files import scrubbed_endings, scrubbed_file
    from wm.interface import model_bytes, read_interface

    boosted = _boosted_object(model, output, trusted, trust_pickle)
    if boosted is not None:
        trees, content = boosted
        (write_whole if force else write_new)(output, content)
        say_what_to_trust(output)
        print_either({"output": str(output), "trees": trees}, json)
        return
    given = read_model(model) if model.suffix in ENDINGS else None
    endings = (".npz",) if given is None else scrubbed_endings(given)
    if output.suffix not in endings:
        raise OutputError(
            f"{output}: the ending must be {' or '.join(endings)}; wm export writes other formats"
        )
    if given is not None and endings != (".npz",):
        trees = given.forest.n_trees
        content = scrubbed_file(
            given, read_file(model), lambda data: parse_model(data, output.suffix, what=f"{model}, scrubbed")
        )
    else:
        if given is None:
            forest = load_model(model, trusted=trusted, trust_pickle=trust_pickle)
        else:
            forest = given.voting_forest(str(model), "a model of votes is scrubbed")
        trees = forest.n_trees
        content = model_bytes(scrubbed(forest), read_interface(model, forest))
    (write_whole if force else write_new)(output, content)
    print_either({"output": str(output), "trees": trees}, json)


def _boosted_object(
    model: Path, output: Path, trusted: tuple[str, ...], trust_pickle: bool
) -> tuple[int, bytes] | None:
    """Return number of trees and content of a boosted model of scikit-learn; None for another model."""
    from wm.formats.export import load_object
    from wm.formats.objects import model_of
    from wm.formats.reading import OBJECT_ENDINGS
    from wm.formats.scrubbing_sklearn import ENDINGS, packed, scrubbed_boosting

    if model.suffix not in OBJECT_ENDINGS:
        return None
    found = load_object(model, scrubbed_boosting, trusted=trusted, trust_pickle=trust_pickle)
    if found is None:
        return None
    if output.suffix not in ENDINGS:
        raise OutputError(f"{output}: the ending must be one of {', '.join(ENDINGS)}")
    return model_of(found).forest.n_trees, packed(found, output.suffix)
