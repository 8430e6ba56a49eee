"""The command line: thin click commands that call the library and print.

Commands are imported on use, so that `wm --help` answers at once. Data goes to stdout, progress
and messages to stderr. Exit codes: 0 done or verified, 1 a negative verdict, 2 the user's mistake,
3 incomplete, 4 infrastructure, 5 open (an indication, or a claim that cannot be judged), 130 interrupted.
"""

from __future__ import annotations

import importlib
import io
import os
import signal
import sys
import traceback
from enum import IntEnum
from pathlib import Path
from types import FrameType

import click

import wm
from orchestrator.errors import BrokerError, OrchestratorError, StoreError
from wm.errors import EndpointUnavailableError, WmError
from wm.isolation import ChildError
from workers.errors import WorkerError


class Exit(IntEnum):
    """Exit codes."""

    DONE = 0
    NEGATIVE = 1
    USER_MISTAKE = 2
    INCOMPLETE = 3
    INFRASTRUCTURE = 4
    OPEN = 5
    INTERRUPTED = 130


_COMMANDS = {
    "audit": "orchestrator.cli.audit:audit",
    "campaign": "orchestrator.cli.campaign:campaign",
    "claim": "orchestrator.cli.claim:claim",
    "db": "orchestrator.cli.database:database",
    "doctor": "orchestrator.cli.doctor:doctor",
    "demo": "orchestrator.cli.demo:demo",
    "embed": "orchestrator.cli.embed:embed",
    "forge": "orchestrator.cli.forge:forge",
    "key": "orchestrator.cli.key:key",
    "notary": "orchestrator.cli.notary:notary",
    "open": "orchestrator.cli.open:open_claim",
    "orchestrate": "orchestrator.cli.services:orchestrate",
    "queries": "orchestrator.cli.queries:queries",
    "report": "orchestrator.cli.report:report",
    "results": "orchestrator.cli.results:results",
    "verify": "orchestrator.cli.verify:verify",
    "worker": "orchestrator.cli.services:worker",
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
    cls=_LazyGroup,
    context_settings={
        "auto_envvar_prefix": "WM",
        "help_option_names": ["-h", "--help"],
        "show_default": True,
    },
)
# Not from the environment: WM_VERSION may be set for another purpose.
@click.version_option(wm.__version__, prog_name="wm", allow_from_autoenv=False)
def cli() -> None:
    """Watermark decision-tree ensembles, prove ownership, and attack the watermark honestly.

    Every option can also be given as an environment variable: WM_STORE_URL for --store of any command, else
    the names of command and option, as in WM_EMBED_TREES for wm embed --trees.
    """


def _terminate(_signal: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def main() -> None:
    """Run the command line; every expected error is one line on stderr and an exit code."""
    signal.signal(signal.SIGTERM, _terminate)
    if sys.stdout is None:  # closed by the caller, as with >&-
        sys.stdout = Path(os.devnull).open("w")  # noqa: SIM115 - open until the end of the program
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A file name may hold bytes that are no text: they are escaped.
        sys.stdout.reconfigure(errors="backslashreplace")
    status = _run()
    try:
        sys.stdout.flush()
    except OSError as fault:
        # Python must not try to write it again, and fail again, at shutdown.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if status == Exit.DONE and not isinstance(fault, BrokenPipeError):
            status = _complain(fault, Exit.INFRASTRUCTURE)
    sys.exit(status)


def _run() -> int:
    try:
        return int(cli.main(prog_name="wm", standalone_mode=False) or Exit.DONE)
    except click.Abort:
        return Exit.INTERRUPTED
    except click.ClickException as mistake:
        mistake.show()
        return mistake.exit_code
    except KeyboardInterrupt:
        return Exit.INTERRUPTED
    except SystemExit:
        # click exits so when the reader of our output has gone, as in `wm results ... | head`: no error.
        return Exit.DONE
    except (StoreError, BrokerError, ChildError, EndpointUnavailableError, OSError) as fault:
        return _complain(fault, Exit.INFRASTRUCTURE)
    except (WmError, WorkerError, OrchestratorError) as mistake:
        return _complain(mistake, Exit.USER_MISTAKE)
    except Exception:
        # Python's own exit code for a crash is 1, which would say "not verified".
        traceback.print_exc()
        return _complain(RuntimeError("this is a bug in treeproof: please report it"), Exit.INFRASTRUCTURE)


def _complain(error: Exception, status: Exit) -> Exit:
    for line in str(error).splitlines() or [type(error).__name__]:
        click.echo(f"wm: {line}", err=True)
    return status
