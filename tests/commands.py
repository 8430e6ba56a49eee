"""Hold command lines that stand in files against the commands that there are."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from orchestrator.cli import cli

ROOT = Path(__file__).resolve().parent.parent


def command_of(arguments: Sequence[str]) -> tuple[click.Command, list[str]]:
    """Walk down from `wm` to the command that arguments name; return it and what is left."""
    command: click.Command = cli
    left = list(arguments)
    while isinstance(command, click.Group):
        name = left.pop(0)
        found = command.get_command(click.Context(command), name)
        assert found is not None, name
        command = found
    return command, left


def assert_exists(arguments: Sequence[str]) -> None:
    """Check that there are the command and all options, and that they take these values."""
    command, left = command_of(arguments)
    options = {
        name: option for option in command.params if isinstance(option, click.Option) for name in option.opts
    }
    while left:
        option = options[left.pop(0)]
        if not option.is_flag:
            option.type.convert(left.pop(0), option, None)


def assert_is_read(variable: str) -> None:
    """Check that the code reads an environment variable."""
    code = "\n".join(
        path.read_text()
        for layer in ("wm", "workers", "orchestrator")
        for path in (ROOT / layer).rglob("*.py")
    )
    sister = variable.replace("_PASSWORD_FILE", "_URL")
    assert f'"{variable}"' in code or f'envvar="{sister}"' in code, variable
