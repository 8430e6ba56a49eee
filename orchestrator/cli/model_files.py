"""Options shared by the commands on one model."""

from __future__ import annotations

import re
from datetime import datetime
from typing import get_args

import click

from orchestrator.cli.common import option_group
from wm.claims.publication import parse_moment
from wm.datasets import Scaling

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
data_options = option_group(
    click.option("--label", help="Label column of a csv file: name, or index from 0."),
    click.option("--positive", help="Class that counts as 1.  [needed for three classes or more]"),
    click.option("--test-share", type=float, default=0.3, help="Share of rows kept for testing."),
    click.option(
        "--scaling", type=click.Choice(get_args(Scaling)), default="train", help="How to scale to [0, 1]."
    ),
)


def moment(_context: click.Context, _option: click.Parameter, text: str | None) -> datetime | None:
    """Read a date, as an option's callback."""
    try:
        return None if text is None else parse_moment(text)
    except ValueError as reason:
        raise click.BadParameter(f"{text!r} is no date, as in 2025-06-30 or 2025-06-30T12:00Z") from reason


def column(text: str | None) -> str | int | None:
    """Return the column of a csv file that a text names: its index if the text is a number, else its name."""
    return int(text) if text is not None and re.fullmatch("-?[0-9]{1,9}", text) else text
