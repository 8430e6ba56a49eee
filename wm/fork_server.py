"""The template process of `wm.isolation`: imports and prepares a service once, then forks a child on request.

No process outlives its parent, however that ends: when the connection to the parent closes, the template
kills its child and exits, even while it prepares, and on Linux the kernel kills the child when the template
dies.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import importlib
import os
import select
import signal
import socket
import sys
import threading
import time
import traceback
from collections.abc import Iterator
from multiprocessing.connection import Connection
from typing import Any, Protocol

FORK = b"f"
"""The parent's request for a child."""

_WATCH_EVERY_MS = 20

_EXIT_PAUSES_S = [0.001 * 2**step for step in range(9)]
"""Pauses between checks whether a child has exited, half a second in all."""


class ChildService(Protocol):
    """A module that can run in a child."""

    def prepare(self, *arguments: Any) -> Any:
        """Run once in the template; every child starts with the result."""

    def serve(self, connection: Connection, prepared: Any) -> None:
        """Run in the child: answer messages until the connection closes."""


def requests(connection: Connection) -> Iterator[Any]:
    """Yield messages until the other side closes; for `ChildService.serve`."""
    while True:
        try:
            message = connection.recv()
        except (EOFError, ConnectionError):
            return
        yield message


def _fork_requested(control: socket.socket) -> bool:
    """Wait until the parent requests a child (true) or has closed the connection (false)."""
    try:
        return control.recv(1) == FORK
    except ConnectionError:  # it closed without receiving its last child
        return False


def _die_with(parent: int) -> None:
    """Ask the Linux kernel to kill this process when its parent dies; elsewhere the template does it."""
    if sys.platform == "linux":
        parent_death_signal = 1
        ctypes.CDLL(None, use_errno=True).prctl(parent_death_signal, signal.SIGKILL)
        if os.getppid() != parent:  # it died before the request
            os._exit(1)


def _main(descriptor: int, module: str) -> None:
    control = socket.socket(fileno=descriptor)
    with Connection(os.dup(descriptor)) as setup:
        try:
            arguments = setup.recv()
        except (EOFError, OSError):
            return  # the parent ended before it could send them, and nobody needs this process
    try:
        with _exiting_with_parent(control):
            gc.disable()  # imports make no garbage, and looking for some takes a third of their time
            service: Any = importlib.import_module(module)
            gc.enable()
            prepared = service.prepare(*arguments)
            gc.freeze()  # children must not copy pages only to look for garbage
    except Exception:
        control.sendall(traceback.format_exc(limit=-3).encode()[-60_000:])
        raise
    child: int | None = None
    while _fork_requested(control):
        previous_exit = _reap(child)
        ours, theirs = socket.socketpair()
        template = os.getpid()
        child = os.fork()
        if child == 0:
            _die_with(template)
            _child_main(service, prepared, control, ours, theirs)
        ours.close()
        with theirs, contextlib.suppress(ConnectionError):
            socket.send_fds(control, [f"{child} {previous_exit}".encode()], [theirs.fileno()])
    _reap(child)


@contextlib.contextmanager
def _exiting_with_parent(control: socket.socket) -> Iterator[None]:
    """Exit this process if the parent ends within the block.

    A thread watches for that. It ends with the block, because a process with threads must not fork.
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
        pass  # the parent is gone, and nobody needs the answer
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(status)


def _reap(child: int | None) -> int:
    """Wait for a child to exit and return its exit code, -n if signal n killed it; 0 without a child.

    An idle child exits when its connection closes; a busy one is killed.
    """
    if child is None:
        return 0
    for pause_s in _EXIT_PAUSES_S:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(pause_s)
    os.kill(child, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


if __name__ == "__main__":
    # Imported by name, so that classes are the same objects as everywhere else.
    from wm import fork_server

    fork_server._main(int(sys.argv[1]), sys.argv[2])
