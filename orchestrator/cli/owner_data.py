"""An owner's training rows: read and split as the options, or an earlier claim, say."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from orchestrator.cli.common import INPUT, option_group
from orchestrator.cli.model_files import column, data_options
from wm.errors import ClaimError

if TYPE_CHECKING:
    from wm.claims.pooled import MinMax, PooledClaim
    from wm.datasets import Split

_FIELDS = ("dataset", "path", "label", "positive", "test_share", "scaling")

source_options = option_group(
    click.option("--dataset", help="breast-cancer, mnist2-6, ijcnn1 or openml:<id>."),
    click.option("--path", type=INPUT, help="Training data instead: csv, npz or svmlight file."),
    data_options,
)
"""Options that say where the rows are and how they are split."""

claim_options = option_group(
    click.option("--trees", type=click.IntRange(2, 10_000), default=70, help="Number of trees, m."),
    click.option(
        "--trigger-rows", type=click.IntRange(min=1), help="Number of trigger rows, instead of a share."
    ),
    click.option(
        "--pool", "pool_size", type=click.IntRange(min=2), help="Rows to commit to.  [default: up to 2000]"
    ),
    click.option(
        "--level", type=float, default=1e-6, help="p-value that a judge will ask for.", show_default=True
    ),
    click.option("--model-id", default="model", help="Your name for this model; in the claim."),
    click.option("--seed", type=click.IntRange(min=0), help="For rehearsals: makes all secrets guessable."),
)
"""Options that a claim fixes before the draw."""


@dataclass(frozen=True, eq=False)
class OwnerData:
    """The rows of an owner.

    Attributes
    ----------
    split
        Training and test rows, as model input.
    preparation
        How raw rows become model input; None: they are.
    source
        Options that give the same split again, for the claim.
    """

    split: Split
    preparation: MinMax | None
    source: dict[str, Any]


def read_owner_data(options: dict[str, Any], split_seed: int | None = None) -> OwnerData:
    """Read and split the rows that the options name.

    Parameters
    ----------
    options
        Those of `source_options`.
    split_seed
        Of the split; None draws one.
    """
    from wm.datasets import Source, load, split

    if not options["model_id"].isprintable() or not options["model_id"]:
        # Bytes that are no text in the terminal's encoding would make an unreadable claim.
        raise click.BadParameter(f"{options['model_id']!r} is not printable text", param_hint="'--model-id'")
    seed = secrets.randbits(32) if split_seed is None else split_seed
    table = load(
        Source(
            name=options["dataset"],
            path=options["path"],
            label=column(options["label"]),
            positive=options["positive"],
        )
    )
    rows = split(table, test_share=options["test_share"], seed=seed, scaling=options["scaling"])
    source = {name: options[name] if name != "path" else _text(options[name]) for name in _FIELDS}
    return OwnerData(rows, _preparation(table, rows), source | {"split_seed": seed})


def data_of_claim(claim: PooledClaim, path: Path | None) -> OwnerData:
    """Read the rows of a claim again; `path` replaces that of its file, which may have moved.

    Raises
    ------
    ClaimError
        The claim does not say how its rows were read.
    """
    source = claim.source
    if source is None or not {*_FIELDS, "split_seed"} <= source.keys():
        raise ClaimError("the claim does not say how its rows were read: it was not made by wm claim new")
    options: dict[str, Any] = {name: source[name] for name in _FIELDS}
    options["path"] = path if path is not None else options["path"] and Path(options["path"])
    options["model_id"] = claim.header.model_id
    return read_owner_data(options, split_seed=int(source["split_seed"] or 0))


def _text(path: Path | None) -> str | None:
    return None if path is None else str(path)


def _preparation(table: Any, rows: Split) -> MinMax | None:
    """Return the min-max scaling that the split applied."""
    import numpy as np

    from wm.claims.pooled import MinMax

    if rows.scaling == "none":
        return None
    whole = rows.scaling == "paper" and table.test_mask is None
    fitted = table.X if whole else table.X[rows.train_rows]
    low, span = fitted.min(axis=0), np.ptp(fitted, axis=0)
    return MinMax(low=tuple(low.tolist()), span=tuple(span.tolist()))
