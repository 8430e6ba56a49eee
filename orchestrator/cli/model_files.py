"""Options and output of the commands on one model, its owner and its judge."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

import click

from orchestrator.cli.common import print_facts, print_json
from wm.claims.publication import parse_moment

INPUT = click.Path(exists=True, dir_okay=False, path_type=Path)
OUTPUT = click.Path(dir_okay=False, path_type=Path)

_Command = TypeVar("_Command", bound=Callable[..., Any])


def trust_options(command: _Command) -> _Command:
    """Add ``--trust-pickle`` and ``--trust-type``."""
    pickle = click.option(
        "--trust-pickle", is_flag=True, help="Load a joblib or pkl file: it may run whatever code it holds."
    )
    types = click.option(
        "--trust-type",
        "trusted",
        multiple=True,
        metavar="NAME",
        help="Full name of a type that a skops file may restore, as in sklearn.tree._tree.Tree; repeatable.",
    )
    return pickle(types(command))


def moment(_context: click.Context, _option: click.Parameter, text: str | None) -> datetime | None:
    """Read a date, as an option's callback."""
    try:
        return None if text is None else parse_moment(text)
    except ValueError as reason:
        raise click.BadParameter(f"{text!r} is no date such as 2025-06-30 or 2025-06-30T12:00Z") from reason


def column(text: str | None) -> str | int | None:
    """Return which column of a csv file is meant: its index where the text is one, else its name."""
    return int(text) if text is not None and re.fullmatch("-?[0-9]{1,9}", text) else text


def print_either(facts: Mapping[str, Any], json: bool) -> None:
    """Print facts as one JSON document, or one a line."""
    if json:
        print_json(facts)
    else:
        print_facts(facts)
