"""An owner's training rows: read and split as the options, or an earlier claim, say."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from pydantic import Field, ValidationError

from orchestrator.cli.common import INPUT, option_group, say
from orchestrator.cli.model_files import (
    data_options,
    level_option,
    load_rows,
    scaling_option,
    test_share_option,
)
from wm.claims.document import Document, first_error
from wm.datasets import AnyScaling, Categorical, Missing
from wm.datasets.cache import default_data_dir
from wm.datasets.preparation import MinMax, Preparation, fitted
from wm.datasets.source import find_file
from wm.datasets.wording import as_flag
from wm.errors import ClaimError, DataError
from wm.interface import Interface
from wm.owner_rows import OwnerRows

if TYPE_CHECKING:
    from wm.claims.lineup import LineupClaim
    from wm.claims.lineup_opened import OpenedLineup
    from wm.claims.pooled import PooledClaim
    from wm.datasets import Dataset, Split


class _Source(Document):
    """The options that give the same split again, as a claim keeps them; nothing vouches for them."""

    dataset: str | None
    path: str | None
    label: str | None
    positive: str | None
    header: bool | None = None
    sep: str | None = None
    drop: tuple[str, ...] = ()
    missing: Missing = "refuse"
    categorical: Categorical = "refuse"
    test_share: float
    scaling: AnyScaling
    split_seed: int = Field(ge=0, lt=2**32)

    def kept(self) -> dict[str, Any]:
        """Return the options as a claim has them: those of tables only where they are used."""
        unused = {name for name in _OF_TABLES if getattr(self, name) == type(self).model_fields[name].default}
        return self.model_dump(exclude=unused)


_OF_TABLES = ("header", "sep", "drop", "missing", "categorical")


source_options = option_group(
    click.option("--dataset", help="breast-cancer, iris, wine, digits, mnist2-6, ijcnn1 or openml:<id>."),
    click.option("--path", type=INPUT, help="Training data instead: csv, npz or svmlight file."),
    data_options,
    test_share_option,
    scaling_option("Train on raw values, or scaled to [0, 1] as in the paper.", default="raw"),
)
"""Options that say where the rows are and how they are split."""

claim_options = option_group(
    click.option("--trees", type=click.IntRange(2, 10_000), default=70, help="Number of trees, m."),
    click.option(
        "--trigger-rows", type=click.IntRange(min=1), help="Number of trigger rows, instead of a share."
    ),
    click.option(
        "--pool",
        "pool_size",
        type=click.IntRange(min=2),
        help="Number of rows to commit to.  [default: up to 2000]",
    ),
    click.option(
        "--pool-rows",
        type=click.Choice(["any", "divided"]),
        default="any",
        help="Rows to commit to: any, or rows on which honest trees are divided (docs/schemes.md).",
    ),
    level_option("Significance level that a judge will ask for."),
    click.option("--model-id", default="model", help="Your name for this model; in the claim."),
    click.option("--seed", type=click.IntRange(min=0), help="For trials only: makes all secrets guessable."),
)
"""Options that a claim fixes before the draw."""


@dataclass(frozen=True, eq=False)
class OwnerData:
    """The rows of an owner.

    Attributes
    ----------
    split
        Training and test rows, as model input.
    interface
        The raw columns that the model takes, and the names of its classes: to be released with it.
    source
        Options that give the same split again, for the claim.
    """

    split: Split
    interface: Interface
    source: dict[str, Any]

    @property
    def rows(self) -> OwnerRows:
        """The training rows."""
        split, preparation = self.split, self.interface.preparation
        return OwnerRows(split.X_train, split.y_train, split.class_names, split.feature_names, preparation)


def read_owner_data(options: dict[str, Any], split_seed: int | None = None) -> OwnerData:
    """Read and split the rows that the options name.

    Parameters
    ----------
    options
        Those of `source_options` and `claim_options`.
    split_seed
        Of the split; None draws one, or follows from a rehearsal's seed.
    """
    from wm.datasets import split
    from wm.datasets.narrowing import narrowed_columns

    if not options["model_id"].isprintable() or not options["model_id"]:
        # Bytes that are no text in the terminal's encoding would make an unreadable claim.
        raise click.BadParameter(f"{options['model_id']!r} is not printable text", param_hint="'--model-id'")
    seed = _split_seed(options["seed"]) if split_seed is None else split_seed
    if (options["dataset"] is None) == (options["path"] is None):
        raise click.UsageError("give either --dataset or --path: the rows to train on")
    table = load_rows(options, name=options["dataset"], path=options["path"])
    rows = split(table, test_share=options["test_share"], seed=seed, scaling=options["scaling"])
    for line in narrowed_columns(table, rows, as_flag):
        say(f"{options['path'] or table.name}: {line}")
    kept = {name: options[name] for name in _Source.model_fields if name not in ("path", "split_seed")}
    source = _Source(**kept, path=_text(options["path"]), split_seed=seed)
    interface = Interface(class_names=rows.class_names, preparation=_preparation(table, rows, options))
    return OwnerData(rows, interface, source.kept())


def data_of_claim(
    claim: PooledClaim | LineupClaim | OpenedLineup, path: Path | None, *, given_as: str = "path"
) -> OwnerData:
    """Read the rows of a claim again; `path`, of option `given_as`, replaces that of its file.

    Raises
    ------
    ClaimError
        The claim does not say how its rows were read, or where they are.
    """
    if claim.source is None:
        raise ClaimError("the claim does not say how its rows were read: it was not made by wm claim new")
    try:
        source = _Source.model_validate(claim.source)
    except ValidationError as reason:
        raise ClaimError(f"the claim does not say how its rows were read: {first_error(reason)}") from reason
    found = Path(source.path) if path is None and source.path is not None else path
    if found is None and source.dataset is None:
        raise ClaimError(f"the claim does not name the file of its rows: give it as {as_flag(given_as)}")
    if path is not None and source.dataset is not None:
        raise ClaimError(f"the claim's rows are data set {source.dataset}: leave the file {path} out")
    try:
        if found is not None and path is None:
            find_file(found, default_data_dir())
    except DataError as reason:
        raise ClaimError(f"{reason}: give the file of the claim's rows as {as_flag(given_as)}") from reason
    options = source.model_dump() | {"path": found, "model_id": claim.header.model_id}
    return read_owner_data(options, split_seed=source.split_seed)


def _split_seed(seed: int | None) -> int:
    from wm import streams

    return secrets.randbits(32) if seed is None else streams.integer_seed(seed, streams.Role.SPLIT)


def _text(path: Path | None) -> str | None:
    """Return a path; None for a name of bytes that are no text, which would make an unreadable claim."""
    try:
        return None if path is None else str(path).encode().decode()
    except UnicodeEncodeError:
        return None


def _preparation(table: Dataset, rows: Split, options: dict[str, Any]) -> Preparation:
    """Return how raw rows become model input, as learned from the training rows."""
    training = table.X[rows.train_rows]
    fill = options["missing"] == "median"
    return fitted(table.columns, training, fill=fill, scaling=_scaling(table, rows))


def _scaling(table: Dataset, rows: Split) -> MinMax | None:
    """Return the min-max scaling that the split applied."""
    import numpy as np

    if rows.scaling in ("none", "raw"):
        return None
    whole = rows.scaling == "paper" and table.test_mask is None
    scaled = table.X if whole else table.X[rows.train_rows]
    # A missing value becomes a median, which leaves the range as it is.
    low, high = np.nanmin(scaled, axis=0), np.nanmax(scaled, axis=0)
    span = high - low
    return MinMax(low=tuple(low.tolist()), span=tuple(span.tolist()))
