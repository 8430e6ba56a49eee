"""Groups of commands: help that is never cut, and a first level that is imported on use."""

from __future__ import annotations

import ast
import gc
import importlib.util
import pkgutil
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from orchestrator.cli.memory import check_limit
from wm.errors import ClaimError, WmError


class Group(click.Group):
    """A group whose help shows the whole first sentence of each command, however narrow the terminal is."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write each command with its summary, on several lines if need be."""
        rows = [(name, self.summary(ctx, name)) for name in self.list_commands(ctx)]
        if rows:
            with formatter.section("Commands"):
                formatter.write_dl(rows)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Return the commands that begin so, with their summaries."""
        found = [name for name in self.list_commands(ctx) if name.startswith(incomplete)]
        # click.Group would import each command for its summary.
        options = click.Command.shell_complete(self, ctx, incomplete)
        return [CompletionItem(name, help=self.summary(ctx, name)) for name in found] + options

    def invoke(self, ctx: click.Context) -> Any:
        """Run the chosen command; its errors name its options as the command line writes them."""
        try:
            return super().invoke(ctx)
        except WmError as mistake:
            command = self.get_command(ctx, ctx.invoked_subcommand or "")
            of_file = isinstance(mistake, ClaimError)  # names the fields of a claim
            if command is not None and not isinstance(command, click.Group) and not of_file:
                mistake.args = (in_flags(str(mistake), command), *mistake.args[1:])
            raise

    def summary(self, ctx: click.Context, name: str) -> str:
        """Return the first sentence of a command's help."""
        command = self.get_command(ctx, name)
        return "" if command is None else command.get_short_help_str(limit=1000)


def in_flags(text: str, command: click.Command) -> str:
    """Return an error's text with the options of a command as flags: ``max_rounds`` as ``--max-rounds``.

    The library names its parameters as Python does. A word without an underscore may be just a word, so it is
    a flag only where a value is given, as in ``adjust = "artifact"``.
    """
    for option in command.params:
        if isinstance(option, click.Option):
            flag = max(option.opts, key=len)
            name = flag.removeprefix("--").replace("-", "_")
            text = re.sub(rf"\b{name} = \"?([\w.-]+)\"?", rf"{flag} \1", text)
            if "_" in name:
                text = re.sub(rf"(?<![\w.]){name}(?![\w.]*\w)", flag, text)
    return text


class LazyGroup(Group):
    """A group whose commands are imported when they are run; help and completion only read their source.

    Parameters
    ----------
    package
        Of the commands' modules.
    places
        ``module:function`` of each command, by name.
    """

    def __init__(self, package: str, places: Mapping[str, str], **attributes: Any) -> None:
        super().__init__(**attributes)
        self._package = package
        self._places = places

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands, sorted."""
        return sorted(self._places)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command; None if there is none of that name."""
        if cmd_name not in self._places:
            return None
        check_limit()
        command: click.Command = _imported(f"{self._package}.{self._places[cmd_name]}")
        _name_variables(command, f"WM_{cmd_name}")
        return command

    def summary(self, ctx: click.Context, name: str) -> str:
        """Return the first sentence of a command's docstring, without importing the command."""
        module, _, function = self._places[name].partition(":")
        spec = importlib.util.find_spec(f"{self._package}.{module}")
        if spec is None or spec.origin is None:
            return super().summary(ctx, name)
        tree = ast.parse(Path(spec.origin).read_text(encoding="utf-8"))
        for node in tree.body:
            if isinstance(node, ast.FunctionDef) and node.name == function:
                return click.Command(name, help=ast.get_docstring(node)).get_short_help_str(limit=1000)
        return super().summary(ctx, name)


def _imported(place: str) -> Any:
    """Return what a place names; its module is imported without garbage collection: there is none.

    Looking for some would take a third of the time of imports and of Python's end.
    """
    if place.partition(":")[0] in sys.modules:
        return pkgutil.resolve_name(place)
    gc.disable()
    try:
        return pkgutil.resolve_name(place)
    finally:
        gc.freeze()
        gc.enable()


def _name_variables(command: click.Command, prefix: str) -> None:
    """Let each option be given by the variable of its own name, where click takes the parameter's."""
    prefix = prefix.upper().replace("-", "_")
    for name, inner in getattr(command, "commands", {}).items():
        _name_variables(inner, f"{prefix}_{name}")
    for option in command.params:
        if isinstance(option, click.Option) and option.envvar is None and option.allow_from_autoenv:
            name = max(option.opts, key=len).lstrip("-").replace("-", "_")
            option.envvar = None if name == option.name else f"{prefix}_{name.upper()}"
