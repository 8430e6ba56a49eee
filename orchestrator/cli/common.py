"""Options and output shared by several commands."""

from __future__ import annotations

import functools
import json
import os
import shlex
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar, get_args, get_origin

import click
from click.core import ParameterSource
from click.shell_completion import CompletionItem

from orchestrator.cli.tables import as_text, layout
from orchestrator.cli.urls import with_password
from orchestrator.errors import AmbiguousNameError, OrchestratorError
from orchestrator.frames import records
from orchestrator.store import campaigns
from orchestrator.store.database import Store

if TYPE_CHECKING:
    import pandas as pd
    from pydantic import BaseModel
    from pydantic.fields import FieldInfo

DEFAULT_STORE = "sqlite:///wm.db"

INPUT = click.Path(exists=True, dir_okay=False, path_type=Path)
OUTPUT = click.Path(dir_okay=False, path_type=Path)
FOLDER = click.Path(file_okay=False, path_type=Path)

_Command = TypeVar("_Command", bound=Callable[..., Any])


def option_group(*decorators: Callable[[_Command], _Command]) -> Callable[[_Command], _Command]:
    """Return a decorator that adds several options, in this order."""

    def add(command: _Command) -> _Command:
        for decorate in reversed(decorators):
            command = decorate(command)
        return command

    return add


def say(line: str) -> None:
    """Print a message of the program to stderr."""
    click.echo(f"wm: {line}", err=True)


def model_options(
    model: type[BaseModel], *, only: Sequence[str] | None = None, without: str = ""
) -> Callable[[_Command], _Command]:
    """Return a decorator that adds an option for each field of a model, or for some of them.

    Its name, type, range, default and help are those of the field. A Boolean field becomes a flag, a literal
    a choice, a tuple a repeatable option.

    Parameters
    ----------
    only
        The fields; None: all.
    without
        Start of the fields' help that says nothing in this command, such as "For lineup: "; left out.
    """
    return option_group(
        *(
            _field_option(name, field, without)
            for name, field in model.model_fields.items()
            if only is None or name in only
        )
    )


def _field_option(name: str, field: FieldInfo, without: str) -> Callable[[_Command], _Command]:
    from wm.engines.options import limits_of, plain_type

    kind, limits, flag = plain_type(field), limits_of(field), f"--{name.replace('_', '-')}"
    given: dict[str, Any] = {"help": _help_of(field, without), "required": field.is_required()}
    if not field.is_required():
        given["default"] = field.get_default(call_default_factory=True)
    if get_origin(kind) is tuple:
        kind, given["multiple"] = get_args(kind)[0], True
    if kind is bool:
        return click.option(f"{flag}/--no-{flag[2:]}", **given)
    if get_origin(kind) is Literal:
        return click.option(flag, type=click.Choice(get_args(kind)), **given)
    if kind in (int, float):
        given["type"] = (click.IntRange if kind is int else click.FloatRange)(
            min=limits.get("ge", limits.get("gt")),
            max=limits.get("le", limits.get("lt")),
            min_open="gt" in limits,
            max_open="lt" in limits,
        )
    return click.option(flag, **given)


def _help_of(field: FieldInfo, without: str) -> str | None:
    text = field.description
    if text is None or not without or not text.startswith(without):
        return text
    rest = text.removeprefix(without)
    return rest[:1].upper() + rest[1:]


store_option = click.option(
    "--store",
    "store_url",
    envvar="WM_STORE_URL",
    default=DEFAULT_STORE,
    metavar="URL",
    callback=with_password,
    help="Database of campaigns and outcomes.",
)


def store_words(store: Store) -> str:
    """Return what another command needs to find this one's store: nothing if it does without --store."""
    source = click.get_current_context().get_parameter_source("store_url")
    is_found = source in (ParameterSource.DEFAULT, ParameterSource.ENVIRONMENT)
    return "" if is_found else f" --store {shlex.quote(str(store))}"


def jobs_option(text: str) -> Callable[[_Command], _Command]:
    """Return the option of how many threads to use; `text` is what for."""
    return click.option("--jobs", type=int, default=1, callback=_jobs, help=f"{text}; -1: all cores.")


def _jobs(_context: click.Context, _option: click.Parameter, count: int) -> int:
    if count == 0:
        raise click.BadParameter("0 threads are none: give 1 or more, or -1 for all cores")
    return count


json_option = click.option("--json", is_flag=True, help="Print one JSON document, nothing else.")


def refuse_file_and_json(output: Path | None, json: bool) -> None:
    """Refuse --json for answers that go to a file, whose ending says what it is."""
    if output is not None and json:
        raise click.UsageError("--json and -o exclude each other: the file's ending says how it is written")


def complete_campaign(
    ctx: click.Context, _parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Return the campaigns whose name begins so, of a store in a file: a server may not answer at once."""
    url = ctx.params.get("store_url") or os.environ.get("WM_STORE_URL") or DEFAULT_STORE
    if not url.startswith("sqlite:"):
        return []
    try:
        found = campaigns.list_campaigns(open_store(url))
    except OrchestratorError:  # no such file, another schema: nothing to complete
        return []
    return [
        CompletionItem(record.name, help=f"{record.id} {record.state}")
        for record in found
        if record.name.startswith(incomplete)
    ]


campaign_argument = click.argument("campaign_name", metavar="CAMPAIGN", shell_complete=complete_campaign)


def open_store(url: str) -> Store:
    """Open a store; it must exist and have the schema of this program."""
    store = Store(url)
    store.check()
    return store


def can_ask() -> bool:
    """Return whether a person is there to answer a question."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def named_campaign(store: Store, name_or_id: str) -> campaigns.CampaignRecord:
    """Return a campaign by name or id; at a terminal, ask which one is meant if several have the name.

    Raises
    ------
    NotFoundError
        There is none, or there are several and nobody can be asked.
    """
    try:
        return campaigns.find_campaign(store, name_or_id)
    except AmbiguousNameError as several:
        if not can_ask():
            raise
        click.echo(f"wm: {several}", err=True)
        ids = click.Choice([str(each) for each in several.ids])
        chosen = click.prompt("Which id", type=ids, default=ids.choices[-1], err=True)
        return campaigns.get_campaign(store, int(chosen))


def on_campaign(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the argument CAMPAIGN and --store, and call it with the store and the record of both."""

    @campaign_argument
    @store_option
    @functools.wraps(command)
    def called(campaign_name: str, store_url: str, **options: Any) -> None:
        store = open_store(store_url)
        command(store, named_campaign(store, campaign_name), **options)

    return called


def print_json(document: Any) -> None:
    """Print one JSON document to stdout."""
    click.echo(json.dumps(document, indent=2, allow_nan=False))


def print_frame(frame: pd.DataFrame) -> None:
    """Print a frame as a table."""
    print_table([str(column) for column in frame.columns], [list(row.values()) for row in records(frame)])


def print_table(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Print a table to stdout, fitted to the terminal if there is one; see `tables.layout`."""
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    click.echo("\n".join(layout(columns, rows, width)))


def print_facts(facts: Mapping[str, Any]) -> None:
    """Print names and values, one pair a line; a list has a line for each of its items."""
    longest = max(map(len, facts))
    for name, value in facts.items():
        for each in value if isinstance(value, list) else [value]:
            click.echo(f"{name.ljust(longest)}  {as_text(each)}")


def print_either(facts: Mapping[str, Any], json: bool) -> None:
    """Print facts as one JSON document, or one a line."""
    if json:
        print_json(facts)
    else:
        print_facts(facts)
