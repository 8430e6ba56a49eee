"""`wm embed`: train a watermarked forest, for a claim made before or for a new one."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from orchestrator.cli.boosted import embed_boosted_claim
from orchestrator.cli.claim import new_claim
from orchestrator.cli.common import (
    FOLDER,
    INPUT,
    OUTPUT,
    jobs_option,
    json_option,
    model_options,
    print_either,
    say,
)
from orchestrator.cli.embedded_model import BOOSTED_MODEL, FOREST, EmbeddedModel, figures, warn_of_harms
from orchestrator.cli.lineup import embed_lineup_claim, new_lineup_claim
from orchestrator.cli.owner_data import (
    OwnerData,
    claim_options,
    data_of_claim,
    read_owner_data,
    source_options,
)
from orchestrator.cli.schemes import LINEUP, refuse_foreign, refuse_of_others, scheme_options
from orchestrator.cli.training_progress import TrainingProgress
from orchestrator.errors import OutputError
from orchestrator.files import SECRET, refuse_unwritable, write_whole, writing
from wm.claims.keys import public_hex, read_key, to_pem
from wm.claims.lineup import LineupClaim
from wm.claims.pooled import PooledClaim
from wm.claims.reading import read_whole_claim
from wm.embedding.options import BoostedOptions, GradientOptions, LineupOptions, PaperOptions

_Made = TypeVar("_Made")

_MANY_ROWS = 20_000
"""Training rows from which on `wm embed` suggests --jobs -1."""

_FIXED = (
    *("dataset", "label", "header", "sep", "drop", "missing", "categorical", "positive", "test_share"),
    *("scaling", "scheme", "trees", "trigger_rows", "trigger_share", "ones_share", "pool_size", "pool_rows"),
    *("level", "model_id", "seed", "key_file"),
)
"""Options that a claim has fixed already."""


@click.command()
@source_options
@claim_options
@scheme_options
@model_options(PaperOptions, only=[name for name in PaperOptions.model_fields if name != "ones_share"])
@model_options(
    GradientOptions, only=[name for name in GradientOptions.model_fields if name != "learning_rate"]
)
@click.option("--claim", "claim_file", type=INPUT, help="Claim made by wm claim new.")
@click.option(
    "--receipt", "receipts", type=INPUT, multiple=True, help="A beacon's receipt for the claim; repeatable."
)
@click.option("--key", "key_file", type=INPUT, help="Your private key.  [default: a new one]")
@click.option("--notary", metavar="URL", help="Have the notary at this address witness a new claim.")
@click.option("--committed", type=INPUT, help="For lineup: the candidates that the claim commits to.")
@click.option(
    "--customer", metavar="NAME", help="For lineup with --committed: whom this copy is for (wm trace)."
)
@jobs_option("Threads for the trees")
@click.option(
    "-o",
    "--output",
    type=FOLDER,
    required=True,
    help="Directory for forest.npz, or model.json of scheme boosted (to release), claim.json and a new "
    "owner.key (to keep secret).",
)
@click.option(
    "--held-out", type=OUTPUT, help="Also write the test rows, as model input, with their labels (npz)."
)
@click.option("--force", is_flag=True, help="Replace existing files, perhaps the only proof of a model.")
@json_option
@click.pass_context
def embed(
    context: click.Context,
    /,
    output: Path,
    json: bool,
    force: bool,
    claim_file: Path | None,
    receipts: tuple[Path, ...],
    key_file: Path | None,
    notary: str | None,
    held_out: Path | None,
    **options: Any,
) -> None:
    """Train a watermarked forest and write it with its claim.

    With --claim and --receipt, train what the beacon drew. Without, a claim is made at once; its draw is
    witnessed by --notary, or by nobody: then no verdict is better than an indication.
    """
    import numpy as np

    from wm.claims.beacons.base import read_receipt
    from wm.embedding.claimed import own_receipt, owner_key
    from wm.formats import npz

    if held_out is not None and held_out.suffix != ".npz":
        raise OutputError(f"{held_out}: --held-out writes arrays: the ending must be .npz")
    files = {name: output / name for name in (FOREST, BOOSTED_MODEL, "claim.json", "owner.key")}
    makes_key = claim_file is None and key_file is None
    kept = [file for name, file in files.items() if name != "owner.key" or makes_key]
    for file in kept if held_out is None else [*kept, held_out]:
        if file.exists() and not force:
            raise OutputError(f"{file}: already exists: choose another place, or overwrite it with --force")
    claim: PooledClaim | LineupClaim
    if claim_file is not None:
        refuse_foreign(context, _FIXED, "is fixed by the claim", "leave it out with --claim")
        if notary is not None:
            raise click.UsageError("--notary is for a new claim: give its receipt as --receipt with --claim")
        if not receipts:
            raise click.UsageError("--claim needs --receipt: what a beacon gave for its commitment")
        claim = read_whole_claim(claim_file)
        _refuse_of_other_scheme(context, claim)
        data = data_of_claim(claim, options["path"])
        key, given = None, [read_receipt(file) for file in receipts]
    else:
        if receipts:
            raise click.UsageError(
                "--receipt is for --claim: a receipt is given for a commitment made before"
            )
        if notary is not None and options["seed"] is not None:
            raise click.UsageError(
                "--seed makes the secret guessable: it is for rehearsals, without --notary"
            )
        _refuse_of_other_scheme(context, None)
        data = read_owner_data(options)
        key = owner_key(options["seed"]) if key_file is None else read_key(key_file)
        make = new_lineup_claim if options["scheme"] == LINEUP else new_claim
        claim = make(data, options, public_hex(key))
        given = [own_receipt(options["seed"]) if notary is None else _ask(notary, claim, key)]
        _warn_of_rehearsal(notary, options["seed"])
    with writing(output):
        output.mkdir(parents=True, exist_ok=True)
    if held_out is not None:
        refuse_unwritable(held_out)
    rows = data.split
    if len(rows.X_train) >= _MANY_ROWS and options["jobs"] == 1:
        say(f"{len(rows.X_train)} training rows: --jobs -1 trains on all cores, with the same result")
    if isinstance(claim, LineupClaim):
        made = _or_say_nothing_written(embed_lineup_claim, claim, given, data, options)
    else:
        made = _or_say_nothing_written(_embedded, claim, given, data, options)
    write_whole(files["claim.json"], made.claim.to_json().encode(), mode=SECRET)
    model = files[made.file]
    write_whole(model, made.content)
    if key is not None and makes_key:
        write_whole(files["owner.key"], to_pem(key), mode=SECRET)
    if held_out is not None:
        write_whole(held_out, npz.pack({"X": rows.X_test, "y": np.array(rows.class_names)[rows.y_test]}))
    print_either(
        {
            "forest" if made.file == FOREST else "model": str(model),
            "claim": str(files["claim.json"]),
            "commitment": claim.commitment,
            **made.facts,
        },
        json,
    )


def _embedded(
    claim: PooledClaim, receipts: list[Any], data: OwnerData, options: dict[str, Any]
) -> EmbeddedModel:
    """Train the forest of a claim with trigger rows, and compare it with an honest one."""
    from wm.embedding import SCHEMES
    from wm.embedding.claimed import embed_claim, weak_answers
    from wm.embedding.quality import quality
    from wm.embedding.tuning import Hyperparameters
    from wm.interface import model_bytes

    rows, ones = data.split, claim.header.ones
    if weak := weak_answers(claim, receipts):
        click.echo(f"Warning: {weak}", err=True)
    fields = SCHEMES[claim.header.scheme].options
    chosen = fields.of(**{name: options[name] for name in fields.model_fields if options[name] is not None})
    if isinstance(chosen, BoostedOptions):
        return embed_boosted_claim(claim, receipts, data, chosen, options)
    made = embed_claim(
        claim,
        receipts,
        rows.X_train,
        rows.y_train,
        hyperparameters=Hyperparameters(claim.header.trees, options["max_depth"]),
        options=chosen,
        seed=secrets.randbits(62) if options["seed"] is None else options["seed"],
        n_jobs=options["jobs"],
        on_round=TrainingProgress(
            {"right": claim.header.trees - ones, "wrong": ones}, by_tree=chosen.training == "per-tree"
        ),
    )
    before, after = (quality(forest, rows.X_test, rows.y_test) for forest in (made.standard, made.forest))
    warnings = warn_of_harms(before, after, claim.header.class_names)
    facts = {
        "pool": claim.header.pool_size,
        "trigger_size": made.evidence.trigger_size,
        "rounds": made.embedded.rounds_right + made.embedded.rounds_wrong,
        **figures(made.standard.accuracy(rows.X_test, rows.y_test), before, "standard"),
        **figures(made.forest.accuracy(rows.X_test, rows.y_test), after, "watermarked"),
        "matched_bits": made.evidence.matched_bits,
        "total_bits": made.evidence.total_bits,
        "log10_p": made.evidence.log10_p,
        "warnings": warnings,
    }
    return EmbeddedModel(model_bytes(made.forest, data.interface), made.claim, facts)


def _or_say_nothing_written(train: Callable[..., _Made], *arguments: Any, **options: Any) -> _Made:
    try:
        return train(*arguments, **options)
    except KeyboardInterrupt:
        say("interrupted: no file was written")
        raise


def _refuse_of_other_scheme(context: click.Context, claim: PooledClaim | LineupClaim | None) -> None:
    """Refuse options that the scheme of a claim, or of the command if there is none yet, does not have."""
    scheme = context.params["scheme"] if claim is None else claim.header.scheme
    committed = claim is not None and scheme == LINEUP
    refuse_of_others(context, scheme, fixed=("max_depth", *LineupOptions.model_fields) if committed else ())
    for name in ("committed", "customer"):
        if claim is None and context.params[name] is not None:
            raise click.UsageError(f"--{name} needs --claim: candidates are made by wm claim new")


def _warn_of_rehearsal(notary: str | None, seed: int | None) -> None:
    if notary is None:
        click.echo(
            "No beacon witnessed this claim: no verdict on it is better than an indication. For a claim that "
            "stands: wm claim new.",
            err=True,
        )
    if seed is not None:
        click.echo(f"A rehearsal: whoever guesses the seed {seed} knows this claim's secrets.", err=True)


def _ask(url: str, claim: Any, key: Any) -> Any:
    from wm.claims.beacons.asking import notary_receipt
    from wm.claims.beacons.request import sign_request

    return notary_receipt(url, sign_request(claim.commitment, key))
