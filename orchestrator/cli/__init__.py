"""The command line: thin click commands that call the library and print.

Commands are imported on use, so that `wm --help` answers at once. Data goes to stdout, progress
and messages to stderr. Exit codes: 0 done or verified, 1 a negative verdict, 2 the user's mistake,
3 incomplete, 4 infrastructure, 5 open (an indication, or a claim that cannot be judged), 130 interrupted.
"""

from __future__ import annotations

import os
import signal
import sys
import traceback
from enum import IntEnum
from types import FrameType

import click
from click.core import ParameterSource

import wm
from orchestrator.cli import streams
from orchestrator.cli.groups import LazyGroup
from orchestrator.cli.memory import memory_fault
from orchestrator.errors import BrokerError, OrchestratorError, StoreError
from wm.errors import EndpointUnavailableError, WmError
from wm.isolation import ChildError
from workers.errors import MessagingError, WorkerError


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
    "audit": "audit:audit",
    "beacon": "beacon:beacon",
    "campaign": "campaign:campaign",
    "claim": "claim:claim",
    "completion": "completion:completion",
    "db": "database:database",
    "doctor": "doctor:doctor",
    "demo": "demo:demo",
    "embed": "embed:embed",
    "export": "export:export",
    "forge": "forge:forge",
    "key": "key:key",
    "notary": "notary:notary",
    "predict": "predict:predict",
    "scrub": "scrub:scrub",
    "open": "open:open_claim",
    "orchestrate": "services:orchestrate",
    "queries": "queries:queries",
    "report": "report:report",
    "results": "results:results",
    "retro": "retro:retro",
    "trace": "trace:trace",
    "verify": "verify:verify",
    "web": "web:web",
    "worker": "services:worker",
}


@click.group(
    cls=LazyGroup,
    package=__name__,
    places=_COMMANDS,
    context_settings={
        "auto_envvar_prefix": "WM",
        "help_option_names": ["-h", "--help"],
        "show_default": True,
    },
)
# Not from the environment: WM_VERSION may be set for another purpose.
@click.version_option(wm.__version__, prog_name="wm", allow_from_autoenv=False)
def cli() -> None:
    """Watermark decision-tree ensembles, judge claims of ownership, and measure attacks.

    Every option can also be given as an environment variable: WM_STORE_URL for --store of any command, else
    the names of command and option, as in WM_EMBED_TREES for wm embed --trees.
    """


def _terminate(_signal: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def main() -> None:
    """Run the command line; every expected error is one line on stderr and an exit code."""
    signal.signal(signal.SIGTERM, _terminate)
    streams.prepare()
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
        _name_variable(mistake)
        mistake.show()
        return mistake.exit_code
    except KeyboardInterrupt:
        return Exit.INTERRUPTED
    except SystemExit:
        # click exits so when the reader of our data has gone, as in `wm results ... | head`: no error.
        # `streams` sees to it that a reader of messages cannot cause it.
        return Exit.DONE
    except (StoreError, BrokerError, ChildError, EndpointUnavailableError, MessagingError, OSError) as fault:
        return _complain(fault, Exit.INFRASTRUCTURE)
    except (WmError, WorkerError, OrchestratorError) as mistake:
        return _complain(mistake, Exit.USER_MISTAKE)
    except Exception as fault:
        if memory_fault(fault):
            return _complain(fault, Exit.INFRASTRUCTURE)
        # Python's own exit code for a crash is 1, which would say "not verified".
        traceback.print_exc()
        return _complain(RuntimeError("this is a bug in treeproof: please report it"), Exit.INFRASTRUCTURE)


def _name_variable(mistake: click.ClickException) -> None:
    """Let an error about a value that came from the environment name the variable.

    The user may not know of it: Kubernetes sets WM_ORCHESTRATE_METRICS_PORT for a service of that name.
    """
    if not isinstance(mistake, click.BadParameter) or mistake.ctx is None or mistake.param is None:
        return
    context, option = mistake.ctx, mistake.param
    if context.get_parameter_source(f"{option.name}") is ParameterSource.ENVIRONMENT:
        variable = option.envvar or f"{context.auto_envvar_prefix}_{option.name}".upper()
        mistake.param_hint = f"{option.get_error_hint(context)}, from the variable {variable}"


def _complain(error: Exception, status: Exit) -> Exit:
    from orchestrator.cli.tables import as_text

    if lack := memory_fault(error):
        error = MemoryError(lack)
    for line in str(error).splitlines() or [type(error).__name__]:
        click.echo(f"wm: {as_text(line)}", err=True)  # part of it may be of a hostile file
    return status
