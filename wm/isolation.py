"""Child processes that can be killed at any moment and are replaced at once.

A solver in C code runs no signal handler or timer of Python, so a limit can only be enforced from outside, by
killing the process. As a fresh interpreter takes about a second for its imports, a *template* process imports
and prepares once, then forks a *child* on request; a killed child is replaced within milliseconds.

This is the parent's side; the template is `wm.fork_server`. No process outlives its parent.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import subprocess
import sys
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Self

from wm.errors import WmError
from wm.fork_server import FORK
from wm.running_time import RunningTime

START_LIMIT_S = 120.0
"""Limit on the time for import and preparation; generous, for a loaded machine."""

CLOSE_LIMIT_S = 2.0
"""Time for a template to exit before it is killed."""

_ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
_FORK_SERVER = "wm.fork_server"

_LOOK_EVERY_S = 0.05
"""Period of the checks of limits."""


class ChildError(WmError):
    """The template could not start, or the child ended without an answer."""


class ChildKilledError(ChildError):
    """A signal that this process did not send killed the child; the next child may well answer."""


class SuspendedError(TimeoutError):
    """A limit was reached, but all processes were suspended meanwhile: another try may well be in time."""


class Closing:
    """A context manager that closes itself at the end."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Free what is held; nothing can be asked afterwards."""
        raise NotImplementedError


class Sandbox(Closing):
    """One child process at a time, forked from a prepared template.

    Parameters
    ----------
    module
        Name of a module that is a `ChildService`.
    *arguments
        Passed to its `prepare`; must be picklable.

    The template starts in the background. Use as a context manager, or call `close`.
    """

    def __init__(self, module: str, *arguments: Any) -> None:
        self._control, theirs = socket.socketpair()
        environment = os.environ | _ONE_THREAD
        # The child must find this package, however the parent found it.
        root = str(Path(__file__).resolve().parent.parent)
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, [root, environment.get("PYTHONPATH")]))
        with theirs:
            self._template = subprocess.Popen(  # noqa: S603 - our own interpreter, our own module
                [sys.executable, "-P", "-m", _FORK_SERVER, str(theirs.fileno()), module],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=2,  # stdout carries the command's data
                env=environment,
                start_new_session=True,  # a terminal's Ctrl-C reaches the parent only, which decides
            )
        self._connection: Connection | None = None
        self.child_pid: int | None = None
        self.suspended_s = 0.0
        """Time for which this process was suspended, as a whole, while it waited for answers."""
        self._previous_exit = 0
        self._requested = False
        setup = Connection(os.dup(self._control.fileno()))
        with setup, contextlib.suppress(ConnectionError):
            setup.send(arguments)
        self._request()

    def _request(self) -> None:
        """Request a child, unless one is requested already."""
        if self._requested:
            return
        # `ready` notices a dead template and reports the reason.
        with contextlib.suppress(ConnectionError):
            self._control.sendall(FORK)
        self._requested = True

    def _replace(self) -> None:
        """Close the connection to the child, if there is one, and request the next child."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None
            self._request()

    def ready(self, timeout_s: float = START_LIMIT_S) -> Connection:
        """Return the connection to a live child, after waiting for the template if necessary.

        Raises
        ------
        ChildError
            The template failed (with its traceback), died, or took longer than `timeout_s`.
        """
        if self._connection is not None:
            return self._connection
        clock = RunningTime()
        while not self.is_ready(min(_LOOK_EVERY_S, max(0.0, timeout_s - clock.look()))):
            if clock.look() >= timeout_s:
                raise ChildError(f"the child process was not ready after {timeout_s:g} s")
        try:
            message, descriptors, _, _ = socket.recv_fds(self._control, 1 << 16, 1)
        except ConnectionError:  # it ended with unread data, otherwise like an end without a message
            message, descriptors = b"", []
        except OSError as reason:
            raise ChildError(f"the child process could not be started ({reason})") from reason
        if not descriptors:
            raise ChildError(f"the child process could not be started: {message.decode() or 'it died'}")
        self._requested = False
        self.child_pid, self._previous_exit = map(int, message.split())
        self._connection = Connection(descriptors[0])
        return self._connection

    def is_ready(self, timeout_s: float) -> bool:
        """Return whether `ready` would return at once, after waiting up to `timeout_s` for that."""
        if self._connection is not None:
            return True
        self._request()
        return bool(select.select([self._control], [], [], timeout_s)[0])

    def ask(self, message: object, *, timeout_s: float, memory_bytes: int | None = None) -> Any:
        """Send one message and return the answer.

        Limits count time in which this process could run, see `wm.running_time`.

        Raises
        ------
        TimeoutError
            No answer within `timeout_s`; the child has been killed. It is a `SuspendedError` if this process
            was suspended meanwhile.
        MemoryError
            The child held more than `memory_bytes`; it has been killed.
        ChildKilledError
            A signal killed the child before it answered, not because of a limit.
        ChildError
            The child exited without an answer, or could not be started.
        """
        connection = self.ready()
        clock = RunningTime()
        try:
            connection.send(message)
            answers = select.poll()  # the connection's own poll takes longer than many answers
            answers.register(connection, select.POLLIN)
            while not answers.poll(1000 * min(_LOOK_EVERY_S, max(0.0, timeout_s - clock.look()))):
                if clock.look() >= timeout_s:
                    raise SuspendedError if clock.suspended_s else TimeoutError
                if memory_bytes is not None and self.memory() > memory_bytes:
                    raise MemoryError
            return connection.recv()
        except (EOFError, ConnectionError) as reason:
            raise self.exit_error() from reason
        except BaseException:
            # Otherwise the late answer would be taken for the answer to the next message.
            self.kill()
            raise
        finally:
            clock.look()
            self.suspended_s += clock.suspended_s

    def exit_error(self) -> ChildError:
        """Return the error that says how the child ended, after its connection closed; fork the next one."""
        text = "the child process ended without an answer"
        self._replace()
        try:
            self.ready()
        except ChildError as reason:  # the template is dead, and the child with it
            return ChildKilledError(f"{text} ({reason})")
        if self._previous_exit < 0:
            return ChildKilledError(f"{text} (killed by {signal.Signals(-self._previous_exit).name})")
        return ChildError(f"{text} (exit code {self._previous_exit})")

    def memory(self) -> int:
        """Return the resident memory of the child in bytes, 0 if it cannot be read."""
        try:
            pages = int(Path(f"/proc/{self.child_pid}/statm").read_text().split()[1])
        except (OSError, IndexError, ValueError):
            return 0
        return pages * os.sysconf("SC_PAGE_SIZE")

    def kill(self) -> None:
        """Kill the child and have the template fork the next one."""
        if self._connection is None:
            return
        assert self.child_pid is not None  # noqa: S101 - set together with the connection
        # The template reaps a dead child only at the next request, so the pid cannot be reused yet.
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.child_pid, signal.SIGKILL)
        self._replace()

    def close(self) -> None:
        """End child and template."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        self._control.close()
        try:
            self._template.wait(timeout=CLOSE_LIMIT_S)
        except subprocess.TimeoutExpired:
            self._template.kill()
            self._template.wait()
