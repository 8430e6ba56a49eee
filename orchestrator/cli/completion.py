"""`wm completion`: let the shell complete commands, options and file names."""

from __future__ import annotations

import os
from pathlib import Path

import click
from click.shell_completion import get_completion_class

from orchestrator.files import write_whole, writing

_VARIABLE = "_WM_COMPLETE"
"""click's convention: how the shell's script asks `wm` for completions."""


def _home(variable: str, default: str) -> Path:
    """Return a directory of the XDG base directory specification."""
    return Path(os.environ.get(variable) or Path.home() / default)


def _place(shell: str) -> Path:
    """Return the file from which a shell loads the completion of `wm`."""
    match shell:
        case "bash":
            return _home("XDG_DATA_HOME", ".local/share") / "bash-completion" / "completions" / "wm"
        case "fish":
            return _home("XDG_CONFIG_HOME", ".config") / "fish" / "completions" / "wm.fish"
        case _:
            return _home("XDG_DATA_HOME", ".local/share") / "zsh" / "site-functions" / "_wm"


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.option("--install", is_flag=True, help="Write the script to the file from which the shell loads it.")
@click.pass_context
def completion(context: click.Context, shell: str, install: bool) -> None:
    """Print the script with which a SHELL completes wm.

    Try it with: eval "$(wm completion bash)". With --install every new shell has it.
    """
    completer = get_completion_class(shell)
    assert completer is not None  # noqa: S101 - the choices are click's own
    script = completer(context.find_root().command, {}, "wm", _VARIABLE).source()
    if not install:
        click.echo(script)
        return
    place = _place(shell)
    with writing(place):
        place.parent.mkdir(parents=True, exist_ok=True)
    write_whole(place, script.encode())
    click.echo(place)
    if shell == "zsh":
        click.echo(f"wm: put into ~/.zshrc, before compinit: fpath=({place.parent} $fpath)", err=True)
