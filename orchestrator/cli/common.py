"""Options and output that several commands share."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from orchestrator.cli.tables import cell, layout
from orchestrator.cli.urls import with_password
from orchestrator.files import writing
from orchestrator.frames import records, write_frame
from orchestrator.store.database import Store

if TYPE_CHECKING:
    import pandas as pd

DEFAULT_STORE = "sqlite:///wm.db"

_Command = TypeVar("_Command", bound=Callable[..., Any])


def store_option(command: _Command) -> _Command:
    """Add ``--store``."""
    return click.option(
        "--store",
        "store_url",
        envvar="WM_STORE_URL",
        default=DEFAULT_STORE,
        show_default=True,
        metavar="URL",
        callback=with_password,
        help="Database of campaigns and outcomes.",
    )(command)


def json_option(command: _Command) -> _Command:
    """Add ``--json``."""
    return click.option("--json", is_flag=True, help="Print one JSON document, nothing else.")(command)


def open_store(url: str) -> Store:
    """Open a store that must exist with the right schema."""
    store = Store(url)
    store.check()
    return store


def print_json(document: Any) -> None:
    """Print one JSON document to stdout."""
    click.echo(json.dumps(document, indent=2, allow_nan=False))


def emit(frame: pd.DataFrame, *, as_json: bool, output: Path | None) -> None:
    """Print a frame as JSON or as a table, or write it to a file by its ending."""
    if output is not None:
        with writing(output):
            write_frame(frame, output)
    elif as_json:
        print_json(records(frame))
    else:
        print_table([str(column) for column in frame.columns], [list(row.values()) for row in records(frame)])


def print_table(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Print a table to stdout, fitted to the terminal if there is one; see `tables.layout`."""
    # Piped output must not be cut to the width of a terminal that is not there.
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    click.echo("\n".join(layout(columns, rows, width)))


def print_facts(facts: Mapping[str, Any]) -> None:
    """Print names and values, one pair a line; a list has a line for each of its items."""
    longest = max(map(len, facts))
    for name, value in facts.items():
        for each in value if isinstance(value, list) else [value]:
            click.echo(f"{name.ljust(longest)}  {cell(each)}")
