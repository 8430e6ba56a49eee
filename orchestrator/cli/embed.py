"""`wm embed`: train a watermarked forest and make its claim."""

from __future__ import annotations

import secrets
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from orchestrator.cli.common import FOLDER, INPUT, OUTPUT, json_option, model_options, print_either
from orchestrator.cli.model_files import column, data_options
from orchestrator.errors import OutputError
from orchestrator.files import SECRET, write_whole, writing
from wm import streams
from wm.embedding import SCHEMES
from wm.embedding.options import PaperOptions
from wm.errors import SignatureError
from wm.signature import Signature, keyed_signature, random_signature
from wm.streams import Role


def _printable(_context: click.Context, _option: click.Parameter, text: str) -> str:
    # Bytes that are no text in the terminal's encoding would make an unreadable claim.
    if not text or not text.isprintable():
        raise click.BadParameter(f"{text!r} is not printable text")
    return text


@click.command()
@click.option("--dataset", help="breast-cancer, mnist2-6, ijcnn1 or openml:<id>.")
@click.option("--path", type=INPUT, help="Training data instead: csv, npz or svmlight file.")
@data_options
@click.option("--trees", type=click.IntRange(2, 10_000), default=70, help="Number of trees, m.")
@click.option(
    "--max-depth", type=click.IntRange(1, 1000), help="Depth of the standard forest.  [default: no limit]"
)
@click.option("--scheme", type=click.Choice(sorted(SCHEMES)), default="paper", help="Watermarking scheme.")
@model_options(PaperOptions)
@click.option("--key-file", type=INPUT, help="Derive the signature from the secret bytes of this file.")
@click.option(
    "--model-id", default="model", callback=_printable, help="Your name for this model; in the claim."
)
@click.option("--seed", type=click.IntRange(min=0), help="Secret seed.  [default: random]")
@click.option(
    "-o",
    "--output",
    type=FOLDER,
    required=True,
    help="Directory for forest.npz (to release) and claim.json (to keep secret).",
)
@click.option(
    "--held-out",
    type=OUTPUT,
    help="Also write the test rows, scaled, with their labels: decoys for a judge (npz).",
)
@click.option("--force", is_flag=True, help="Replace an existing claim, perhaps the only proof of a model.")
@json_option
def embed(
    output: Path,
    json: bool,
    force: bool,
    key_file: Path | None,
    seed: int | None,
    held_out: Path | None,
    **options: Any,
) -> None:
    """Train a watermarked forest and write it with its claim."""
    import numpy as np

    from wm.api import embed_with_standard
    from wm.datasets import Source, load, split
    from wm.embedding.common import trigger_size
    from wm.embedding.tuning import Hyperparameters
    from wm.formats import npz

    # The seed determines the trigger set: it must not be guessed.
    seed = secrets.randbits(62) if seed is None else seed
    # Every mistake that can be found before the training is.
    forest_file, claim_file = output / "forest.npz", output / "claim.json"
    if claim_file.exists() and not force:
        raise OutputError(
            f"{claim_file}: exists: choose another directory, or give --force to lose that claim"
        )
    chosen = PaperOptions.of(**{name: options[name] for name in PaperOptions.model_fields})
    signature = _signature(seed, key_file, **options)
    named = {name: options[name] for name in ("path", "positive")}
    source = Source(name=options["dataset"], label=column(options["label"]), **named)
    rows = split(
        load(source),
        test_share=options["test_share"],
        seed=streams.integer_seed(seed, Role.SPLIT),
        scaling=options["scaling"],
    )
    trigger_size(len(rows.y_train), options["trigger_share"])
    with writing(output):
        output.mkdir(parents=True, exist_ok=True)
    made, standard = embed_with_standard(
        rows.X_train,
        rows.y_train,
        rows.class_names,
        hyperparameters=Hyperparameters(options["trees"], options["max_depth"]),
        options=chosen,
        seed=seed,
        on_round=lambda kind, number, unfit: click.echo(
            f"{kind} trees, round {number}: {unfit} unfit", err=True
        ),
        scheme=options["scheme"],
        signature=signature,
        model_id=options["model_id"],
        created=datetime.now(UTC).isoformat(timespec="seconds"),
    )
    forest = made.forest
    write_whole(claim_file, made.claim.to_json().encode(), mode=SECRET)
    write_whole(forest_file, forest.to_bytes())
    if held_out is not None:
        write_whole(held_out, npz.pack({"X": rows.X_test, "y": np.array(rows.class_names)[rows.y_test]}))
    print_either(
        {
            "forest": str(forest_file),
            "claim": str(claim_file),
            "commitment": made.claim.commitment,
            "trigger_size": made.evidence.trigger_size,
            "rounds": made.embedded.rounds_right + made.embedded.rounds_wrong,
            "accuracy_standard": standard.accuracy(rows.X_test, rows.y_test),
            "accuracy_watermarked": forest.accuracy(rows.X_test, rows.y_test),
            "matched_bits": made.evidence.matched_bits,
            "total_bits": made.evidence.total_bits,
            "log10_p": made.evidence.log10_p,
        },
        json,
    )


def _signature(
    seed: int, key_file: Path | None, *, trees: int, ones_share: float, model_id: str, **_: Any
) -> Signature:
    if key_file is not None:
        signature = keyed_signature(trees, ones_share, key_file.read_bytes(), model_id)
    else:
        signature = random_signature(trees, ones_share, streams.generator(seed, Role.OWNER_SIGNATURE))
    if not 0 < signature.ones < trees:
        raise SignatureError(
            f"ones_share {ones_share} of {trees} trees leaves all bits equal: a signature needs both"
        )
    return signature
