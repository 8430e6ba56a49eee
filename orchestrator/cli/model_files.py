"""Options shared by the commands on one model."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, get_args

import click

from orchestrator.cli.common import option_group, say
from wm.datasets import AnyScaling, Categorical, Dataset, Missing, Source, load
from wm.datasets.dialect import SEPARATORS
from wm.datasets.wording import as_flag
from wm.verification.evidence import DEFAULT_LEVEL

_Command = Callable[..., Any]

trust_options = option_group(
    click.option("--trust-pickle", is_flag=True, help="Load a joblib or pkl file, which may run any code."),
    click.option(
        "--trust-type",
        "trusted",
        multiple=True,
        metavar="NAME",
        help="Full name of a type that a skops file may restore, as in sklearn.tree._tree.Tree; repeatable.",
    ),
)
table_options = option_group(
    click.option(
        "--header/--no-header",
        default=None,
        help="Whether the first row of a csv file holds column names.  [default: detected]",
    ),
    click.option(
        "--sep",
        type=click.Choice(list(SEPARATORS)),
        help="Separator of the cells of a csv file.  [default: detected]",
    ),
    click.option(
        "--drop", multiple=True, metavar="COLUMN", help="Column to leave out: name, or index from 0."
    ),
)
"""Options that say how the cells of a table are found."""

data_options = option_group(
    click.option("--label", help="Label column of a table: name, or index from 0."),
    table_options,
    click.option(
        "--missing",
        type=click.Choice(get_args(Missing)),
        default="refuse",
        help="Refuse missing values, drop their rows, or put in the training rows' median.",
    ),
    click.option(
        "--categorical",
        type=click.Choice(get_args(Categorical)),
        default="refuse",
        help="Refuse columns of text, one feature for each value, or sorted values numbered.",
    ),
    click.option(
        "--positive", help="Class that counts as 1, against all others.  [default: each class by itself]"
    ),
)

test_share_option = click.option(
    "--test-share", type=float, default=0.3, help="Share of rows kept for testing."
)


def scaling_option(text: str, default: str | None = None) -> Callable[[_Command], _Command]:
    """Return the option of how rows are scaled; `text` is its help."""
    return click.option("--scaling", type=click.Choice(get_args(AnyScaling)), default=default, help=text)


def level_option(text: str) -> Callable[[_Command], _Command]:
    """Return the option of the largest p-value that counts as proof, in (0, 1); `text` is its help."""
    return click.option("--level", type=float, default=DEFAULT_LEVEL, callback=_level, help=text)


def _level(_context: click.Context, _option: click.Parameter, value: float) -> float:
    if not 0 < value < 1:  # also a NaN, which click's ranges let pass
        raise click.BadParameter(f"{value} is not a level: a number between 0 and 1")
    return value


def moment(_context: click.Context, _option: click.Parameter, text: str | None) -> datetime | None:
    """Read a date or time, by default in UTC, as an option's callback."""
    try:
        found = None if text is None else datetime.fromisoformat(text)
    except ValueError as reason:
        raise click.BadParameter(f"{text!r} is no date, as in 2025-06-30 or 2025-06-30T12:00Z") from reason
    return found if found is None or found.tzinfo is not None else found.replace(tzinfo=UTC)


def column(text: str) -> str | int:
    """Return the column of a csv file that a text names: its index if the text is a number, else its name."""
    return int(text) if re.fullmatch("-?[0-9]{1,9}", text) else text


def say_what_to_trust(file: Path) -> None:
    """Print the options that reading a skops file needs, if it is one."""
    from wm.formats.export import as_trust_options, types_to_trust

    if file.suffix == ".skops" and (types := types_to_trust(file)):
        say(f"{file}: wm verify, wm audit and others read it with {as_trust_options(types)}")


def load_rows(options: dict[str, Any], *, name: str | None = None, path: Path | None = None) -> Dataset:
    """Load the rows of a named set or a file, read as `data_options` say, and print how they were read."""
    found = load(source_of(options, name=name, path=path))
    for note in found.notes:
        say(note)
    return found


def source_of(options: dict[str, Any], *, name: str | None = None, path: Path | None = None) -> Source:
    """Return the source that `data_options` describe."""
    return Source(
        name=name,
        path=path,
        label=None if options["label"] is None else column(options["label"]),
        header=options["header"],
        sep=options["sep"],
        positive=options["positive"],
        missing=options["missing"],
        categorical=options["categorical"],
        drop=tuple(column(each) for each in options["drop"]),
        naming=as_flag,
    )
