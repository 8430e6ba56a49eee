"""Child processes that can be killed at any moment and are back at once.

A solver inside C code hears no signal handler and no timer of Python, so a limit holds only if it is
enforced from outside: by killing the process. A fresh interpreter takes about a second to import what it
needs; hence two steps. A *template* process imports and prepares once, then forks a *child* whenever one is
asked for; a killed child is replaced within milliseconds.

Nothing outlives its parent, whatever kills it: the template ends, even while it prepares, and kills its
child, when the connection to the parent closes, and on Linux the kernel kills the child when the template
dies.
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
import threading
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

_WATCH_EVERY_MS = 20

_PATIENCE_S = [0.001 * 2**step for step in range(9)]
"""Pauses between looks whether a child has left by itself, half a second in all."""


class ChildError(WmError):
    """The template could not start, or the child ended without an answer."""


class ChildKilledError(ChildError):
    """A signal that this process did not send killed the child: the next child may well answer."""


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
        self._former_exit: int | None = None
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
        self.child_pid, self._former_exit = map(int, message.split())
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
        ChildKilledError
            A signal killed the child before it answered, and none of these limits sent it.
        ChildError
            The child ended by itself without an answer, or could not be started.
        """
        connection = self.ready()
        try:
            connection.send(message)
            started = time.monotonic()
            answers = select.poll()  # the connection's own poll takes longer than many an answer
            answers.register(connection, select.POLLIN)
            while not answers.poll(1000 * min(0.05, max(0.0, started + timeout_s - time.monotonic()))):
                if time.monotonic() - started >= timeout_s:
                    raise TimeoutError
                if memory_bytes is not None and self.memory() > memory_bytes:
                    raise MemoryError
            return connection.recv()
        except (EOFError, ConnectionError) as reason:
            raise self.death() from reason
        except BaseException:
            # An interrupted wait leaves an answer to come, which the next question would take for its own.
            self.kill()
            raise

    def death(self) -> ChildError:
        """Return how the child ended, once its connection is seen to be closed; the next is forked."""
        text = "the child process ended without an answer"
        if self._connection is not None:
            self._connection.close()
            self._connection = None
            self._ask()
        try:
            self.ready()
        except ChildError as reason:  # the template is gone, and has taken the child along
            return ChildKilledError(f"{text} ({reason})")
        former = self._former_exit or 0
        if former < 0:
            return ChildKilledError(f"{text} (killed by {signal.Signals(-former).name})")
        return ChildError(f"{text} (exit code {former})")

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
        with _leaving_with_parent(control):
            service: Any = importlib.import_module(module)
            prepared = service.prepare(*arguments)
    except Exception:
        control.sendall(traceback.format_exc(limit=-3).encode()[-60_000:])
        raise
    child: int | None = None
    while _wanted(control):
        former = _end(child)
        ours, theirs = socket.socketpair()
        template = os.getpid()
        child = os.fork()
        if child == 0:
            _die_with(template)
            _child_main(service, prepared, control, ours, theirs)
        ours.close()
        with theirs, contextlib.suppress(ConnectionError):
            socket.send_fds(control, [f"{child} {former}".encode()], [theirs.fileno()])
    _end(child)


@contextlib.contextmanager
def _leaving_with_parent(control: socket.socket) -> Iterator[None]:
    """End the process if the parent does within the block, however long that takes.

    By a thread, which is gone when the block ends: a process with threads must not fork.
    """
    is_over = threading.Event()

    def watch() -> None:
        hangups = select.poll()
        hangups.register(control, 0)
        while not is_over.is_set():
            if hangups.poll(_WATCH_EVERY_MS):
                os._exit(1)

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        is_over.set()
        watcher.join()


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
    except ConnectionError:
        pass  # whoever asked is gone, and with it all that an answer would serve
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(status)


def _end(child: int | None) -> int:
    """See a child out and return its exit code, -n if signal n killed it.

    A killed one, or an idle one whose connection is closed, leaves by itself; a busy one is killed.
    """
    if child is None:
        return 0
    for pause_s in _PATIENCE_S:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(pause_s)
    os.kill(child, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


if __name__ == "__main__":
    # Imported by name, so that exceptions and classes are the same objects as everywhere else.
    from wm import isolation

    isolation._template_main(int(sys.argv[1]), sys.argv[2])
