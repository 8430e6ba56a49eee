"""Child processes that can be killed at any moment and are back at once.

A solver inside C code hears no signal handler and no timer of Python, so a limit holds only if it is
enforced from outside: by killing the process. A fresh interpreter takes about a second to import what it
needs; hence two steps. A *template* process imports and prepares once, then forks a *child* whenever one is
asked for; a killed child is replaced within milliseconds.

Nothing outlives its parent, whatever kills it: the template ends, and kills its child, when the connection
to the parent closes, and on Linux the kernel kills the child when the template dies.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import os
import select
import signal
import socket
import subprocess
import sys
import time
import traceback
from collections.abc import Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Protocol

from wm.errors import WmError

START_LIMIT_S = 120.0
"""Longest that a template may take to import and prepare: a loaded machine can be slow, not this slow."""

CLOSE_LIMIT_S = 2.0
"""How long a template may take to leave by itself; one that still imports is not waited for any longer."""

_ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
_FORK = b"f"


class ChildError(WmError):
    """The template could not start, or the child ended without an answer."""


class Service(Protocol):
    """What a module must offer to run in a child."""

    def prepare(self, *arguments: Any) -> Any:
        """Run once in the template; what it returns is what every child starts with."""

    def serve(self, connection: Connection, prepared: Any) -> None:
        """Run in the child: answer messages until the connection closes."""


class Sandbox:
    """One child process at a time, forked from a prepared template.

    Parameters
    ----------
    module
        Name of a module that is a `Service`.
    *arguments
        Passed to its `prepare`; must be picklable.

    The template starts in the background at once. Use as a context manager, or call `close`.
    """

    def __init__(self, module: str, *arguments: Any) -> None:
        self._control, theirs = socket.socketpair()
        environment = os.environ | _ONE_THREAD
        # The child must find this very package, however the parent found it.
        root = str(Path(__file__).resolve().parent.parent)
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, [root, environment.get("PYTHONPATH")]))
        with theirs:
            self._template = subprocess.Popen(  # noqa: S603 - our own interpreter, our own module
                [sys.executable, "-m", "wm.isolation", str(theirs.fileno()), module],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=2,  # stdout carries the command's data
                env=environment,
                start_new_session=True,  # a terminal's Ctrl-C reaches the parent only, which decides
            )
        self._connection: Connection | None = None
        self.child_pid: int | None = None
        self._asked = False
        setup = Connection(os.dup(self._control.fileno()))
        with setup, contextlib.suppress(ConnectionError):
            setup.send(arguments)
        self._ask()

    def __enter__(self) -> Sandbox:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _ask(self) -> None:
        # A dead template is noticed, with its reason, when the child is waited for.
        with contextlib.suppress(ConnectionError):
            self._control.sendall(_FORK)
        self._asked = True

    def ready(self, timeout_s: float = START_LIMIT_S) -> Connection:
        """Return the connection to a live child, waiting for the template if need be.

        Raises
        ------
        ChildError
            The template failed (with its traceback), died, or took longer than `timeout_s`.
        """
        if self._connection is not None:
            return self._connection
        if not self._asked:
            self._ask()
        self._control.settimeout(timeout_s)
        try:
            message, descriptors, _, _ = socket.recv_fds(self._control, 1 << 16, 1)
        except TimeoutError as reason:
            raise ChildError(f"the child process was not ready after {timeout_s:g} s") from reason
        except ConnectionError:  # as an end without a message, where it left something unread
            message, descriptors = b"", []
        except OSError as reason:
            raise ChildError(f"the child process could not be started ({reason})") from reason
        if not descriptors:
            raise ChildError(f"the child process could not be started: {message.decode() or 'it died'}")
        self._asked = False
        self.child_pid = int(message)
        self._connection = Connection(descriptors[0])
        return self._connection

    def is_ready(self, timeout_s: float) -> bool:
        """Return whether `ready` would answer at once, after waiting up to `timeout_s` for it."""
        if self._connection is not None:
            return True
        if not self._asked:
            self._ask()
        return bool(select.select([self._control], [], [], timeout_s)[0])

    def ask(self, message: object, *, timeout_s: float, memory_bytes: int | None = None) -> Any:
        """Send one message and return the answer.

        Raises
        ------
        TimeoutError
            No answer within `timeout_s`; the child has been killed.
        MemoryError
            The child held more than `memory_bytes`; it has been killed.
        ChildError
            The child ended without an answer, or could not be started.
        """
        connection = self.ready()
        try:
            connection.send(message)
            started = time.monotonic()
            while not connection.poll(min(0.05, max(0.0, started + timeout_s - time.monotonic()))):
                if time.monotonic() - started >= timeout_s:
                    raise TimeoutError
                if memory_bytes is not None and self.memory() > memory_bytes:
                    raise MemoryError
            return connection.recv()
        except (EOFError, ConnectionError) as reason:
            self.kill()
            raise ChildError("the child process ended without an answer") from reason
        except BaseException:
            # An interrupted wait leaves an answer to come, which the next question would take for its own.
            self.kill()
            raise

    def memory(self) -> int:
        """Return the resident memory of the child in bytes, 0 where it cannot be read."""
        try:
            pages = int(Path(f"/proc/{self.child_pid}/statm").read_text().split()[1])
        except (OSError, IndexError, ValueError):
            return 0
        return pages * os.sysconf("SC_PAGE_SIZE")

    def kill(self) -> None:
        """Kill the child, whatever it does, and have the template fork the next one."""
        if self._connection is None:
            return
        assert self.child_pid is not None  # noqa: S101 - set together with the connection
        # The template reaps a dead child only when asked for the next, so the pid cannot be another's.
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.child_pid, signal.SIGKILL)
        self._connection.close()
        self._connection = None
        self._ask()

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


def requests(connection: Connection) -> Iterator[Any]:
    """Yield messages until the other side closes; for a `Service`'s `serve`."""
    while True:
        try:
            message = connection.recv()
        except (EOFError, ConnectionError):
            return
        yield message


def _wanted(control: socket.socket) -> bool:
    """Wait until the parent asks for a child (true) or is gone (false)."""
    try:
        return control.recv(1) == _FORK
    except ConnectionError:  # it left without taking its last child
        return False


def _die_with(parent: int) -> None:
    """Ask the Linux kernel to kill this process when its parent dies; elsewhere the template sees to it."""
    if sys.platform == "linux":
        parent_death_signal = 1
        ctypes.CDLL(None, use_errno=True).prctl(parent_death_signal, signal.SIGKILL)
        if os.getppid() != parent:  # it died before it could be asked
            os._exit(1)


def _template_main(descriptor: int, module: str) -> None:
    control = socket.socket(fileno=descriptor)
    with Connection(os.dup(descriptor)) as setup:
        arguments = setup.recv()
    try:
        service: Any = importlib.import_module(module)
        prepared = service.prepare(*arguments)
    except Exception:
        control.sendall(traceback.format_exc(limit=-3).encode()[-60_000:])
        raise
    child: int | None = None
    while _wanted(control):
        _reap(child)
        ours, theirs = socket.socketpair()
        template = os.getpid()
        child = os.fork()
        if child == 0:
            _die_with(template)
            _child_main(service, prepared, control, ours, theirs)
        ours.close()
        with theirs, contextlib.suppress(ConnectionError):
            socket.send_fds(control, [str(child).encode()], [theirs.fileno()])
    _end(child)


def _child_main(
    service: Any, prepared: Any, control: socket.socket, ours: socket.socket, theirs: socket.socket
) -> None:
    control.close()
    theirs.close()
    status = 1
    try:
        with Connection(ours.detach()) as connection:
            service.serve(connection, prepared)
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(status)


def _reap(child: int | None) -> None:
    """Kill a former child that may still live, and wait for it."""
    if child is not None:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def _end(child: int | None) -> None:
    """Let an idle child leave by itself (its connection is closed), kill a busy one."""
    if child is None:
        return
    for _ in range(50):
        if os.waitpid(child, os.WNOHANG)[0]:
            return
        time.sleep(0.01)
    _reap(child)


if __name__ == "__main__":
    # Imported by name, so that exceptions and classes are the same objects as everywhere else.
    from wm import isolation

    isolation._template_main(int(sys.argv[1]), sys.argv[2])
