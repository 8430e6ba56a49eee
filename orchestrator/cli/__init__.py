"""The command line: one thin click group in each file; they call the library and print.

Commands are imported when they are used, so that `wm --help` answers at once. Data goes to stdout, progress
and messages to stderr. Exit codes: 0 done or verified, 1 a negative verdict, 2 the user's mistake,
3 incomplete, 4 infrastructure, 130 interrupted.
"""

from __future__ import annotations

import importlib
import os
import signal
import sys
from enum import IntEnum
from types import FrameType

import click

import wm
from orchestrator.errors import OrchestratorError, StoreError
from wm.errors import WmError
from wm.isolation import ChildError
from workers.errors import WorkerError


class Exit(IntEnum):
    """What the exit code says."""

    DONE = 0
    NEGATIVE = 1
    USER_MISTAKE = 2
    INCOMPLETE = 3
    INFRASTRUCTURE = 4
    INTERRUPTED = 130


_COMMANDS = {
    "campaign": "orchestrator.cli.campaign:campaign",
    "db": "orchestrator.cli.database:database",
    "demo": "orchestrator.cli.demo:demo",
    "embed": "orchestrator.cli.model:embed",
    "queries": "orchestrator.cli.model:queries",
    "report": "orchestrator.cli.report:report",
    "results": "orchestrator.cli.results:results",
    "verify": "orchestrator.cli.model:verify",
}


class _LazyGroup(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        module, attribute = _COMMANDS[cmd_name].split(":")
        command: click.Command = getattr(importlib.import_module(module), attribute)
        return command


@click.group(
    cls=_LazyGroup, context_settings={"auto_envvar_prefix": "WM", "help_option_names": ["-h", "--help"]}
)
@click.version_option(wm.__version__, prog_name="wm")
def cli() -> None:
    """Watermark decision-tree ensembles, prove ownership, and attack the watermark honestly."""


def _terminate(_signal: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def main() -> None:
    """Run the command line; every foreseen error is one line on stderr and an exit code."""
    signal.signal(signal.SIGTERM, _terminate)
    try:
        status = cli.main(prog_name="wm", standalone_mode=False)
        sys.stdout.flush()
    except click.exceptions.Exit as ended:
        status = ended.exit_code
    except click.Abort:
        status = Exit.INTERRUPTED
    except click.ClickException as mistake:
        mistake.show()
        status = mistake.exit_code
    except (StoreError, ChildError) as fault:
        status = _complain(fault, Exit.INFRASTRUCTURE)
    except (WmError, WorkerError, OrchestratorError) as mistake:
        status = _complain(mistake, Exit.USER_MISTAKE)
    except KeyboardInterrupt:
        status = Exit.INTERRUPTED
    except BrokenPipeError:
        # The reader of our output has left, as in `wm results ... | head`: nothing is wrong.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        status = Exit.DONE
    except OSError as fault:
        status = _complain(fault, Exit.INFRASTRUCTURE)
    sys.exit(int(status or 0))


def _complain(error: Exception, status: Exit) -> Exit:
    for line in str(error).splitlines() or [type(error).__name__]:
        click.echo(f"wm: {line}", err=True)
    return status
