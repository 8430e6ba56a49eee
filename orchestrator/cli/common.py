"""Options and output that several commands share."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
import rich.box
import rich.console
import rich.table
import rich.text

from orchestrator.cli.urls import with_password
from orchestrator.files import writing
from orchestrator.frames import records, write_frame
from orchestrator.store.database import Store

if TYPE_CHECKING:
    import pandas as pd

_MOST_FOLDED = 500
"""Rows of a table that is fitted to the terminal's width: that takes a millisecond for each."""

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
    """Print a table to stdout; columns in which every cell is empty are left out."""
    shown = [
        index
        for index in range(len(columns))
        if not rows or any(row[index] not in (None, "") for row in rows)
    ]
    if len(rows) > _MOST_FOLDED:
        _print_long([columns[index] for index in shown], [[row[index] for index in shown] for row in rows])
        return
    table = rich.table.Table(box=rich.box.SIMPLE_HEAD, pad_edge=False)
    for index in shown:
        numeric = all(isinstance(row[index], int | float | None) for row in rows)
        table.add_column(columns[index], justify="right" if numeric else "left", overflow="fold")
    for row in rows:
        table.add_row(*(rich.text.Text(_cell(row[index])) for index in shown))
    # Piped output must not be cut to the width of a terminal that is not there.
    width = None if sys.stdout.isatty() else 400
    rich.console.Console(width=width).print(table)


def _print_long(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    cells = [columns, *([_cell(value) for value in row] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    numeric = [
        all(isinstance(value, int | float | None) for value in column) for column in zip(*rows, strict=True)
    ]
    lines = [
        "   ".join(
            text.rjust(width) if right else text.ljust(width)
            for text, width, right in zip(row, widths, numeric, strict=True)
        ).rstrip()
        for row in cells
    ]
    lines.insert(1, "─" * (sum(widths) + 3 * (len(widths) - 1)))
    click.echo("\n".join(lines))


def print_facts(facts: Mapping[str, Any]) -> None:
    """Print names and values, one pair a line; a list has a line for each of its items."""
    longest = max(map(len, facts))
    for name, value in facts.items():
        for each in value if isinstance(value, list) else [value]:
            click.echo(f"{name.ljust(longest)}  {_cell(each)}")


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.4g}"
    return str(value).splitlines()[0] if str(value) else ""
